"""The iteration space of a nest: maps joined by coordinates, these as digits, loops in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from functools import cmp_to_key

from morello_layouts.core.expr import AffineExpr, BitXor, Digit, Var, canonicalize
from morello_layouts.core.expr.affine import xor
from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.expr.calls import magnitude
from morello_layouts.core.expr.sizes import (
    Int,
    absolute,
    ceil_quotient,
    common_divisor,
    is_nonnegative,
)
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import LOOP_AXES, LOOP_SUMS
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.core.maps.names import renamed
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.outputs.codegen.language import ArrayAccess, IterationSpace, LoopAxis, fresh


def joined(
    maps: Mapping[str, AffineMap | IndexMap],
    over: Mapping[str, Sequence[str]],
    more_sizes: frozenset[str] = frozenset(),
) -> IterationSpace:
    """Join maps by the names of their coordinates."""
    sizes: dict[str, Int] = {}
    accesses = []
    known = meet_all(one for m in maps.values() for one in m.assumptions)
    for name, given in maps.items():
        m, names = given.affine_map.assume(known), tuple(over[name])
        for at, n in zip(names, m.sizes, strict=True):
            if sizes.setdefault(at, n) != n:
                raise ShapeError(
                    f"{at} of {name}: expected {sizes[at]} values, got {n}",
                    "maps are joined by the names of their coordinates",
                    "rename the coordinate, or take a part of the larger array, such as m[:4]",
                )
        form = renamed(m.form, names)
        accesses.append(ArrayAccess(name, names, form, given.source, given.element_type))
    found = IterationSpace(sizes, tuple(accesses), known, more_sizes)
    _require_different(found.names)
    return found


def _require_different(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ShapeError(
                f"{name!r} names two things",
                "coordinates, symbolic sizes and arrays have names of their own",
                "rename coordinates by the argument names, or arrays by their keys",
            )


@frozen
class Limit:
    """A condition on loops of which a tile may be partial: ``Σ weight · axis < size``."""

    weights: Mapping[str, Int]
    size: Int

    def split(self, name: str, unit: Int, outer: str, inner: str) -> Limit:
        """Return the condition with two axes in place of one."""
        weight = self.weights.get(name)
        if weight is None:
            return self
        others = {key: w for key, w in self.weights.items() if key != name}
        return Limit({**others, outer: weight * unit, inner: weight}, self.size)


@frozen(slots=False)
class Digits:
    """Coordinates as sums of axes."""

    axes: Mapping[str, LoopAxis]  #: by name; those of a coordinate from the highest unit down.
    forms: tuple[AffineExpr, ...]  #: the offset of each array over the axes, simplified.
    coordinates: Mapping[str, AffineExpr]  #: each coordinate over the axes.
    limits: tuple[Limit, ...] = ()  #: the conditions of partial tiles.
    #: the axes over the tiles that a user asked for, the outer tiles first.
    tiles: tuple[frozenset[str], ...] = ()

    @staticmethod
    def of(space: IterationSpace, turned: AbstractSet[str] = frozenset()) -> Digits:
        """Return each coordinate as one axis; some of them backwards, from the last value on."""
        axes = {name: LoopAxis(name, name, 1, n) for name, n in space.sizes.items() if n != 1}
        zero = AffineExpr((), 0)
        values = {name: axes[name].variable if name in axes else zero for name in space.sizes}
        for name in turned & {*axes}:
            values[name] = (space.sizes[name] - 1) - values[name]
        forms = tuple(canonicalize(substitute(a.form, values)) for a in space.accesses)
        return Digits(axes, forms, values)

    def split(self, name: str, unit: Int) -> Digits:
        """Return the digits with an axis in tiles of ``unit`` turns."""
        if len(self.axes) >= LOOP_AXES:
            raise UnsupportedError(
                f"loops: expected up to {LOOP_AXES}, got more",
                "each unit at which a formula divides a coordinate takes a loop",
                "give a layout with fewer levels of tiles",
            )
        old = self.axes[name]
        outer = LoopAxis(f"{name}'", old.coordinate, old.unit * unit, ceil_quotient(old.size, unit))
        inner = replace(old, name=f"{name},", size=unit)
        axes = dict(_replaced(self.axes.items(), name, (outer, inner)))
        value = {name: outer.variable * unit + inner.variable}
        limits = [limit.split(name, unit, outer.name, inner.name) for limit in self.limits]
        if old.size % unit != 0:
            limits.append(Limit({outer.name: unit, inner.name: 1}, old.size))
        return replace(
            self.substituted(value),
            axes=axes,
            limits=tuple(limits),
            tiles=tuple(
                level - {name} | {outer.name, inner.name} if name in level else level
                for level in self.tiles
            ),
        )

    def tiled(self, tiles: Mapping[str, Sequence[Int]]) -> Digits:
        """Return the digits with coordinates in tiles of some sizes, the outer tiles first."""
        found, levels = self, dict[int, set[str]]()
        for coordinate, units in tiles.items():
            inner = coordinate
            for k, unit in enumerate(units):
                size = found.axes[inner].size if inner in found.axes else 1
                if _is_proper(unit, size):
                    found = found.split(inner, unit)
                    levels.setdefault(k, set()).add(f"{inner}'")
                    inner = f"{inner},"
        return replace(found, tiles=tuple(frozenset(levels[k]) for k in sorted(levels)))

    def refined(self) -> Digits:
        """Return the digits split at all units at which a formula divides an axis."""
        found = self
        while (at := _best(found._units(sums=False), found.axes)) is not None:
            found = found.split(*at)
        tried = found
        while 0 < tried.remainders <= LOOP_SUMS and len(tried.axes) < LOOP_AXES:
            at = _best(tried._units(sums=True), tried.axes)
            if at is None:
                break
            tried = tried.split(*at)
        return tried if tried.remainders < found.remainders else found

    def unswizzled(self, which: int) -> Digits:
        """Iterate over physical positions: where ``i ^ j`` is a digit, replace j by j' = i ^ j."""
        found = self
        for atom in self.forms[which].atoms():
            part = found._place(atom, which) if isinstance(atom, BitXor) else None
            if isinstance(atom, BitXor) and part is not None:
                (var,) = part.variables()
                found = found.substituted({var.name: xor(*atom.parts)})
        return found

    def _place(self, atom: BitXor, which: int) -> AffineExpr | None:
        """Return the part of an exclusive or that is an axis of its own, used nowhere else."""
        form = self.forms[which]
        limited = {name for limit in self.limits for name in limit.weights}
        for part in atom.parts:
            var = part.as_atom()
            if not isinstance(var, Var) or var.name in limited:
                continue
            size = self.axes[var.name].size
            others = [other for other in atom.parts if other is not part]
            uses = [
                a for a in form.atoms() if a == var or any(var in x.variables() for x in a.operands)
            ]
            is_free = all(a in (var, atom) for a in uses) and var not in dict(form.terms)
            is_full = isinstance(size, int) and size.bit_count() == 1
            if is_free and is_full and all(x.interval.within(0, size - 1) for x in others):
                return part
        return None

    def substituted(self, values: Mapping[str, AffineExpr]) -> Digits:
        coordinates = {k: canonicalize(substitute(x, values)) for k, x in self.coordinates.items()}
        forms = tuple(canonicalize(substitute(form, values)) for form in self.forms)
        return replace(self, forms=forms, coordinates=coordinates)

    @property
    def remainders(self) -> int:
        """The number of divisions and remainders that are left."""
        return sum(isinstance(atom, Digit) for form in self.forms for atom in form.atoms())

    def _units(self, *, sums: bool) -> dict[str, set[Int]]:
        """Return the units at which digits divide each axis: those of an axis alone, or in sums."""
        found: dict[str, set[Int]] = {}
        for form in self.forms:
            for atom in form.atoms():
                if not isinstance(atom, Digit):
                    continue
                units = [atom.divisor] if atom.divisor != 1 else []
                units += [] if atom.modulus is None else [atom.divisor * atom.modulus]
                terms = [(a, c) for a, c in atom.operand.terms if isinstance(a, Var)]
                alone = len(terms) == len(atom.operand.terms) == 1 and atom.operand.const == 0
                if alone and terms[0][1] == 1:
                    found.setdefault(terms[0][0].name, set()).update(units)
                elif sums:
                    for name, unit in _in_sum(terms, units):
                        found.setdefault(name, set()).add(unit)
        return found

    def named(self, taken: Iterable[str]) -> Digits:
        """Return the digits with names for readers: ``i``, or ``i0, i1, …`` from the outside."""
        used, names = {*taken}, dict[str, str]()
        for coordinate in self.coordinates:
            own = [axis for axis in self.axes.values() if axis.coordinate == coordinate]
            if len(own) == 1:
                is_same = self.coordinates[coordinate].as_atom() is not None
                names[own[0].name] = coordinate if is_same else fresh(f"{coordinate}_", used)
            for k, axis in enumerate(own if len(own) > 1 else ()):
                stem = f"{coordinate}_" if coordinate[-1:].isdigit() else coordinate
                names[axis.name] = fresh(f"{stem}{k}", used | set(self.coordinates))
        axes = {names[key]: replace(axis, name=names[key]) for key, axis in self.axes.items()}
        values = {key: axes[name].variable for key, name in names.items()}
        return Digits(
            axes,
            tuple(substitute(form, values) for form in self.forms),
            {key: substitute(form, values) for key, form in self.coordinates.items()},
            tuple(
                Limit({names[key]: w for key, w in limit.weights.items()}, limit.size)
                for limit in self.limits
            ),
            tuple(frozenset(names[key] for key in level) for level in self.tiles),
        )


def _replaced(
    items: Iterable[tuple[str, LoopAxis]], name: str, axes: Sequence[LoopAxis]
) -> Iterator[tuple[str, LoopAxis]]:
    for key, axis in items:
        yield from ((one.name, one) for one in axes) if key == name else [(key, axis)]


def _in_sum(terms: Sequence[tuple[Var, Int]], units: Sequence[Int]) -> Iterator[tuple[str, Int]]:
    """Yield the units at which the variables of a sum would have to be split."""
    for var, c in terms:
        others: Int = 0
        for other, k in terms:
            others = common_divisor(others, k) if other is not var else others
        for unit in units:
            yield var.name, _over(unit, common_divisor(unit, c))
            yield var.name, _over(common_divisor(unit, others), common_divisor(others, c))


def _over(a: Int, b: Int) -> Int:
    return 1 if b == 0 or a % b != 0 else a // b


def _best(units: Mapping[str, set[Int]], axes: Mapping[str, LoopAxis]) -> tuple[str, Int] | None:
    """Return the largest unit of an axis that divides no other of its units."""
    for name, axis in axes.items():
        proper = [u for u in units.get(name, ()) if _is_proper(u, axis.size)]
        largest = [u for u in proper if not any(v != u and v % u == 0 for v in proper)]
        if largest:
            return name, max(largest, key=lambda u: (*magnitude(u), str(u)))
    return None


def _is_proper(unit: Int, size: Int) -> bool:
    """Whether tiles of a unit are a split: more than one turn in a tile, more than one tile."""
    return unit not in (1, size) and is_nonnegative(unit - 1) and not is_nonnegative(unit - size)


def physical(digits: Digits, form: AffineExpr) -> tuple[LoopAxis, ...]:
    """Return the axes by their strides in a buffer, the largest first.

    Axes along which the offset does not change come last: the nest stays at a place until all that
    needs it is done. Tiles that a user asked for come first, each level by itself.
    """

    def later(a: LoopAxis, b: LoopAxis) -> int:
        return _compare(stride_in(form, b.name), stride_in(form, a.name))

    by_stride = sorted(digits.axes.values(), key=cmp_to_key(later))
    return _by_tiles(digits, by_stride)


def falling(space: IterationSpace, which: int) -> frozenset[str]:
    """Return the coordinates along which the offset in an array falls."""
    form = space.accesses[which].form
    return frozenset(name for name in space.sizes if falls(form, name))


def falls(form: AffineExpr, name: str) -> bool:
    """Whether a form falls along an axis."""
    return is_nonnegative(-1 - stride_in(form, name))


def named(digits: Digits, order: Sequence[str]) -> tuple[LoopAxis, ...]:
    """Return the axes in the order of names; a coordinate's name stands for its other axes."""
    axes = digits.axes
    known = [*axes, *(name for name in digits.coordinates if name not in axes)]
    for name in order:
        if name not in known or order.count(name) > 1:
            raise LayoutError(
                f"order: expected each of {', '.join(known)} at most once, got {name!r}",
                "an order names coordinates or loops; physical is the order of a buffer",
                f"give for example {','.join(digits.coordinates)}, or physical",
            )
    found: list[LoopAxis] = []
    for name in order:
        if name in axes:
            found.append(axes[name])
        else:
            found += [a for a in axes.values() if a.coordinate == name and a.name not in order]
    left = [axis.name for axis in axes.values() if axis not in found]
    if left:
        raise LayoutError(
            f"order: expected all loops, got none of {', '.join(left)}",
            "a nest visits each element",
            f"name {', '.join(dict.fromkeys(axes[name].coordinate for name in left))} too",
        )
    is_split = any(name in axes and axes[name].coordinate != name for name in order)
    return tuple(found) if is_split else _by_tiles(digits, found)


def _by_tiles(digits: Digits, axes: Sequence[LoopAxis]) -> tuple[LoopAxis, ...]:
    """Return the axes over outer tiles first, then those over inner tiles, then the others."""
    found: list[LoopAxis] = []
    for level in digits.tiles:
        found += [axis for axis in axes if axis.name in level]
    return (*found, *(axis for axis in axes if axis not in found))


def stride_in(form: AffineExpr, name: str) -> Int:
    """Return the factor of an axis in a form; inside of digits, a bound of it."""
    total: Int = 0
    for atom, c in form.terms:
        if isinstance(atom, Var):
            total = total + c if atom.name == name else total
            continue
        inner = [stride_in(operand, name) for operand in atom.operands]
        total = total + next((c * k for k in inner if k != 0), 0)
    return total


def _compare(a: Int, b: Int) -> int:
    """Compare strides without their signs; a stride of 0 is the smallest."""
    a, b = absolute(a), absolute(b)
    if a == b:
        return 0
    if is_nonnegative(a - b):
        return 1
    if is_nonnegative(b - a):
        return -1
    return 1 if magnitude(a) > magnitude(b) else -1
