"""The answer to "what layout is this?": the layouts that fit, and what would tell them apart.

If none fits, the answer is the layout that most elements have, and the first element that has not.
A few wrong offsets spoil lines that pass through them. So lines are read through elements drawn at
random: the layout in which most elements lie where the table has them is the nearest that is found.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, reduce
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from morello_layouts import proof
from morello_layouts.core.expr import AffineExpr, coordinate_variables, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps import AffineMap
from morello_layouts.core.maps.subject import Subject, met_formulas
from morello_layouts.core.recipe import delinearize
from morello_layouts.errors import LayoutError
from morello_layouts.notations.coordinates import FormulaLayout, OffsetLayout
from morello_layouts.notations.functions import CalledFunction
from morello_layouts.outputs.recover.functions import common, observed
from morello_layouts.outputs.recover.layouts import (
    Found,
    Known,
    Observed,
    found_in,
    has_offsets,
    map_at,
)
from morello_layouts.outputs.recover.tables import (
    MORE,
    Rule,
    digits_along,
    is_joined,
    joined,
    lines_of,
    offset_of,
)
from morello_layouts.outputs.translate.writers import WRITERS, written

if TYPE_CHECKING:
    from morello_layouts.outputs.recover.tables import Numbers


_DRAWN: Final = 12
"""Elements through which lines are read."""

_LOOKED_AT: Final = 1024
"""Elements at which tables of such lines are compared first."""


class NoLayoutError(LayoutError):
    """Offsets that no layout has; most elements may be those of one."""

    def __init__(
        self, what: str, why: str = "", fix: str = "", *, near: Found | None = None, unlike: int = 0
    ) -> None:
        super().__init__(what, why, fix)
        self.near = near  #: the nearest layout that was found.
        self.unlike = unlike  #: the elements that it has elsewhere.


def no_layout(one: Observed) -> NoLayoutError:
    """Return the error about a table that no layout has."""
    table, count = one.table, one.table.size
    for unlike, near in _nearest(table):
        found = next(found_in([Observed(near)]), None)
        if found is None:
            continue
        at = delinearize(int((table != near).argmax()), table.shape)
        return NoLayoutError(
            f"the element at {at} lies at {table[at]}, where {found.layout} has {near[at]}",
            f"all but {unlike:,} of {count:,} elements fit this layout, the nearest that was found",
            "correct these elements; or give them apart, if they have a layout of their own",
            near=found,
            unlike=unlike,
        )
    at = delinearize(_first(table), table.shape)
    return NoLayoutError(
        f"no layout was found: the element at {at} breaks the pattern of those before it",
        "each layout tried differs in half of the elements or more",
        "give offsets in elements, from the start of the buffer",
    )


@frozen
class Box:
    """A box of coordinates whose offsets are one number for each step along a dimension."""

    json_keys: ClassVar = ("*",)

    start: tuple[int, ...]  #: its first coordinate.
    shape: tuple[int, ...]  #: its sizes.
    offset: int  #: the offset of its first element.
    strides: tuple[int, ...]  #: the step of the offset along each dimension.

    def __str__(self) -> str:
        sides = ", ".join(f"{at}..{at + n - 1}" if n > 1 else str(at)
                          for at, n in zip(self.start, self.shape, strict=True))  # fmt: skip
        steps = [f"{step}*{'d' + str(k)}" for k, step in enumerate(self.strides) if step]
        return f"({sides}) at {' + '.join([str(self.offset), *steps])}"


def boxes_of(table: Numbers, most: int) -> tuple[Box, ...]:
    """Return boxes that a table is cut into, by the best cut each time; none if they are many.

    >>> table = np.array([[0, 1, 8], [2, 3, 9]])
    >>> print(*boxes_of(table, 4), sep="; ")
    (0..1, 0..1) at 0 + 2*d0 + 1*d1; (0..1, 2) at 8 + 1*d0
    """
    found, left = list[Box](), [((0,) * table.ndim, table)]
    if sum(table.shape) > _CUTS:
        return ()
    while left:
        at, part = left.pop()
        if (strides := _steps(part)) is not None:
            found.append(Box(at, part.shape, int(part.flat[0]), strides))
        else:
            _, dim, cut = max(
                (sum((_steps(half) is not None) * half.size for half in np.split(part, [cut], dim)),
                 dim, cut) for dim, n in enumerate(part.shape) for cut in range(1, n)
            )  # fmt: skip
            low, high = np.split(part, [cut], dim)
            left += [((*at[:dim], at[dim] + cut, *at[dim + 1 :]), high), (at, low)]
        if len(found) + len(left) > most:
            return ()
    return tuple(found)


_CUTS: Final = 600
"""Sizes of a table together, up to which it is cut into boxes."""


def _steps(table: Numbers) -> tuple[int, ...] | None:
    """The step of the offset along each dimension; None if it is not the same everywhere."""
    lines = lines_of(table, operator.sub)
    steps = tuple(int(own[1]) if len(own) > 1 else 0 for own in lines)
    straight = [step * np.arange(len(own)) for step, own in zip(steps, lines, strict=True)]
    is_one = all(map(np.array_equal, straight, lines)) and is_joined(table, lines, operator.add)
    return steps if is_one else None


def _nearest(table: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Yield the tables nearest to one, with the number of elements that differ."""
    random = np.random.default_rng(0)
    sample = random.integers(0, table.size, _LOOKED_AT)
    near: list[tuple[int, list[Numbers], int, Rule]] = []
    for shape in dict.fromkeys(_shapes(table.shape)):
        parts = table.reshape(shape)
        at = np.unravel_index(sample, shape)
        for k in (0, *random.integers(0, table.size, _DRAWN)):
            base = np.unravel_index(k, shape)
            for rule, inverse in ((operator.add, operator.sub), (operator.xor, operator.xor)):
                lines = [
                    inverse(parts[(*base[:d], slice(None), *base[d + 1 :])], parts[base])
                    for d in range(len(shape))
                ]
                guess = reduce(rule, (x[i] for x, i in zip(lines, at, strict=True)), parts[base])
                unlike = np.count_nonzero(guess != parts[at])
                near.append((int(unlike), lines, int(parts[base]), rule))
    for few, lines, first, rule in sorted(near, key=lambda each: each[0])[:4]:
        if 2 * few < _LOOKED_AT:
            whole = joined(lines, first, rule).reshape(table.shape)
            count = int(np.count_nonzero(whole != table))
            if 0 < 2 * count < table.size:
                yield count, whole


def _shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the shape, and it with each size cut into primes, the lowest digit last or first."""
    if len(shape) > 1:
        yield shape
    primes = [[*_primes(n)] or [1] for n in shape]
    yield tuple(p for own in primes for p in own)
    yield tuple(p for own in primes for p in reversed(own))


def _primes(n: int) -> Iterator[int]:
    """Yield the prime factors of a number, the least first."""
    p = 2
    while p * p <= n:
        while n % p == 0:
            yield p
            n //= p
        p += 1
    if n > 1:
        yield n


def _first(table: Numbers) -> int:
    """The number of the first element that is not where those before it say."""
    lines, found = lines_of(table, operator.sub), list[int]()
    for dim, numbers in enumerate(lines):
        low, high = 1, len(numbers)  # so many are digits, so many are not
        if digits_along(numbers, dim) is not None:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            is_whole = digits_along(numbers[:middle], dim) is not None
            low, high = (middle, high) if is_whole else (low, middle)
        found.append((high - 1) * prod(table.shape[dim + 1 :]))
    unlike = joined(lines, int(table.flat[0]), operator.add) != table
    return min([*found, *([int(unlike.argmax())] if unlike.any() else [])], default=0)


MOST: Final = 20
"""Layouts that an answer has."""

BOX: Final = 16
"""Elements for each box, at least, where offsets are cut into boxes."""

_ASKED: Final = 3
"""Elements of larger arrays that an answer names."""


@frozen
class Decider:
    """An element that lies elsewhere in each of several layouts."""

    json_keys: ClassVar = ("*",)

    shape: tuple[int, ...]  #: the sizes of its array, which may be larger than those given.
    coordinate: tuple[int, ...]  #: the coordinate of the element.
    offsets: tuple[int | None, ...]  #: where it lies by each layout; None if that has one shape.

    def __str__(self) -> str:
        count = len({*self.offsets} - {None})
        sizes = "x".join(map(str, self.shape))
        first = next(offset for offset in self.offsets if offset is not None)
        return f"the element at {self.coordinate} of {sizes}, {count} offsets, {first} by the best"


class FittingText(NamedTuple):
    """The text of a layout in a notation."""

    notation: str
    text: str


@frozen(slots=False)
class Recovered(Displayed):
    """The layouts that have the offsets of what was given, each compared with all of it."""

    json_keys: ClassVar = (
        "layouts", "texts=by_notation", "left_out", "boxes", "shapes", "deciders", "unknown",
    )  # fmt: skip

    found: tuple[Found, ...]  #: the layouts with their digits, the best first.
    given: tuple[Observed | Known, ...]  #: the tables they were compared with.
    left_out: int = 0  #: how many more layouts fit, of at most two digits more than the shortest.
    #: if no layout has all offsets: boxes of coordinates, each with a number for each step.
    boxes: tuple[Box, ...] = ()

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts, the best first."""
        return tuple(one.layout for one in self.found)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes at which they have the offsets."""
        return tuple(one.shape for one in self.given)

    @cached_property
    def texts(self) -> dict[str, str]:
        """The best layout in every notation that can say it, by the notation's name."""
        found: dict[str, str] = {}
        best, shape = self.layouts[:1], self.shapes[0]
        for to in WRITERS if best else ():
            with suppress(LayoutError):
                layout = written(map_at(best[0], shape), to)
                if all(has_offsets(layout, one) for one in self.given):
                    found[to] = str(layout)
        return found

    @property
    def by_notation(self) -> tuple[FittingText, ...]:
        """The same for tables: each text beside the name of its notation."""
        return tuple(FittingText(*each) for each in self.texts.items())

    @cached_property
    def deciders(self) -> tuple[Decider, ...]:
        """Elements that would tell the layouts apart, the first one the most.

        They are elements of a larger array, if all elements of one were given.
        """
        if isinstance(self.given[0], Known):
            return self._deciding(self.shapes[0])
        largest = [max(sizes) for sizes in zip(*self.shapes, strict=True)]
        for dim, size in enumerate(largest):
            units = (part.unit for one in self.found for part in one.order or () if part.dim == dim)
            largest[dim] = max(size, 0, *units)
        tried = (self._deciding(tuple(n + more for n in largest)) for more in (1, 2, 3, 5))
        return next(filter(None, tried), ())

    def _deciding(self, shape: tuple[int, ...]) -> tuple[Decider, ...]:
        """Elements of an array of a shape that tell the layouts apart."""
        orders = [one.order for one in self.found if one.order is not None]
        rank = range(len(shape))
        units = [{part.unit for order in orders for part in order if part.dim == k} for k in rank]
        places = [tuple(x if j == k else 0 for j in rank)
                  for k in rank for x in sorted({*units[k], shape[k] - 1})
                  if x < shape[k]]  # fmt: skip
        lie = {at: [offset_of(order, shape, at) for order in orders] for at in places}
        seen: list[Any] = [() for _ in orders]
        found = list[Decider]()
        for _ in range(_ASKED if orders else 0):
            best = max(places, key=lambda at: len({*zip(seen, lie[at], strict=True)}))
            more = [*zip(seen, lie[best], strict=True)]
            if len({*more}) == len({*seen}):
                break
            offsets = iter(lie[best])
            own = tuple(None if one.order is None else next(offsets) for one in self.found)
            found.append(Decider(shape, best, own))
            seen = more
        return tuple(found)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What nothing that was given can tell."""
        found = []
        for dim in range(len(self.shapes[0])):
            if all(shape[dim] == 1 for shape in self.shapes):
                found.append(f"dimension {dim} has size 1: its order and its tiles")
        if all(one.size is None for one in self.given):
            found.append("the size of the buffer: the padding at its end")
        return tuple(found)

    @property
    def _held(self) -> str:
        """Where the layouts have the offsets."""
        one = self.given[0]
        shapes = " and ".join("x".join(map(str, shape)) for shape in self.shapes)
        if isinstance(one, Known):
            return f"fits {len(one.values):,} elements of {shapes}, of layouts in common use"
        inner = f", the last dimension is the {one.inner}" if one.inner else ""
        bits = f", in slots of {one.bits} bit{'s' * (one.bits > 1)}" if one.bits else ""
        return f"equal at {shapes}{inner}{bits}"

    def __str__(self) -> str:
        if self.boxes:
            boxes = (f"  {box}" for box in self.boxes)
            return "\n".join([f"{len(self.boxes)} boxes, {self._held}", *boxes])
        best, *others = self.layouts
        lines = [f"{best}    {self._held}"]
        lines += [f"  {to}: {text}" for to, text in self.texts.items()]
        lines += [f"or {layout}" for layout in others]
        lines += [f"or {self.left_out} more"] if self.left_out else []
        lines += [f"would decide: {each}" for each in self.deciders]
        return "\n".join([*lines, *(f"cannot be told: {each}" for each in self.unknown)])


def recovered(given: Sequence[Observed | Known]) -> Recovered:
    """Return the layouts of tables, or of some elements whose places are known.

    Raises:
        NoLayoutError: if none has these offsets.
    """
    tables = [one for one in given if isinstance(one, Observed)]
    found = [*found_in(tables)] if tables else [*common(given[0])]  # type: ignore[arg-type]
    if not tables:
        found = [one for one in found if one.digits <= found[0].digits + MORE]
    if found:
        return Recovered(tuple(found[:MOST]), tuple(given), len(found[MOST:]))
    if len(tables) > 1:
        own = (f"{'x'.join(map(str, one.shape))}: {_in_short(recovered([one]))}" for one in tables)
        raise LayoutError(
            f"no layout fits all {len(given)} shapes", "alone: " + ", ".join(own), "give fewer"
        )
    one = tables[0]
    is_bits = one.inner == "bit"
    error = None if is_bits else no_layout(one)
    if error is None or BOX * error.unlike > one.table.size or error.near is None:
        boxes = boxes_of(one.table, MOST if is_bits else min(MOST, one.table.size // BOX))
        if boxes:
            return Recovered((), tuple(given), boxes=boxes)
    raise error or no_layout(one)


def _in_short(one: Recovered) -> str:
    return str(one.layouts[0]) if one.layouts else f"{len(one.boxes)} boxes"


_LARGEST: Final = 1 << 20
"""Elements of an array at which a function is called before it is asked about."""

_TRIED: Final = 4
"""Layouts that are compared with a formula."""


def decidable(layout: Layout, sizes: Sequence[Int], known: Sequence[Assumption]) -> Layout:
    """Return a layout that has the offsets of a function, and a formula of digits.

    Args:
        layout: the function's layout; others are returned as they are.
        sizes: the sizes of the array.
        known: what is assumed of them.

    Raises:
        LayoutError: if the function has no formula and no layout was found, or what was found at
            some shapes is not proved for all of them.
    """
    if isinstance(layout, CalledFunction):
        why = layout.error
    elif isinstance(layout, FormulaLayout):
        try:
            layout.box(sizes)
        except LayoutError as error:
            why = error
        else:
            return _ending(layout, tuple(sizes), tuple(known))
        if not isinstance(layout, OffsetLayout):
            raise why
    else:
        return layout
    try:
        return _recovered(layout, tuple(sizes), tuple(known))
    except LayoutError as error:
        if any(isinstance(n, SizeExpr) for n in sizes):
            rule = "for named sizes, what was found at two shapes is proved equal to the formula"
            raise LayoutError(error.what, f"{rule}; {why.why}", error.fix) from None
        if isinstance(layout, OffsetLayout):
            raise why from None
        if why.__cause__ is not None:  # symbols are nothing to it: it packs arrays, or looks up
            raise LayoutError(error.what, f"{error.why}; {why.what}", error.fix) from None
        raise LayoutError(why.what, f"{why.why}; {error.what}", why.fix) from None


def _ending(layout: FormulaLayout, sizes: tuple[Int, ...], known: tuple[Assumption, ...]) -> Layout:
    """The layout; or one recovered, if exclusive ors hide where its buffer ends."""
    if isinstance(layout, OffsetLayout) and layout.forms[0].has_xors:
        with suppress(LayoutError):
            shapes = _small_shapes(sizes, known)
            largest = (int(_observed(layout, *each).table.max()) for each in shapes)
            boxes = (layout.box(shape) for shape, _ in shapes)
            if any(n != m + 1 for (n,), m in zip(boxes, largest, strict=True)):
                return _recovered(layout, sizes, known)
    return layout


def _recovered(
    layout: CalledFunction | OffsetLayout, sizes: tuple[Int, ...], known: tuple[Assumption, ...]
) -> Layout:
    shapes = _small_shapes(sizes, known)
    given = [_observed(layout, *each) for each in shapes]
    answer = recovered(given)
    if given[0].inner or not answer.layouts:
        raise LayoutError("no layout of the elements alone has its offsets")
    if len(shapes) == 1 and given[0].size is not None:
        for one in answer.layouts:
            if Subject(one, sizes if one.sizes is None else None).map().size == given[0].size:
                return one
        raise LayoutError("no layout that was found fills its buffer")
    text = f"at {' and '.join('x'.join(map(str, shape)) for shape, _ in shapes)} the function is "
    if len(shapes) > 1 and isinstance(layout, CalledFunction):
        fix = f'ask about "{answer.layouts[0]}", or give numbers as sizes'
        raise LayoutError(f"{text}{answer.layouts[0]}, and nothing says so elsewhere", "", fix)
    verdict = ""
    for one in answer.layouts[:_TRIED]:
        m = Subject(one, sizes if one.sizes is None else None, known).map()
        if len(shapes) > 1:
            own = Subject(AffineMap(sizes, _forms(layout, sizes)), known=known)
            equal = proof.are_equivalent(*met_formulas(Subject(one, sizes, known), own))
            if not equal.holds:
                verdict = verdict or f"{text}{one}; {equal.verdict}"
                continue
        names = _names(layout, len(sizes))
        own_names = {f"d{k}": variable(name) for k, name in enumerate(names)}
        found = OffsetLayout(names, (substitute(m.form, own_names),), title="Python function")
        found.box(sizes)
        return found
    raise LayoutError(verdict, "", "assume what it says of the sizes")


def _names(layout: CalledFunction | OffsetLayout, rank: int) -> tuple[str, ...]:
    found = layout.parameters
    return found if len(found) == rank else tuple(f"d{k}" for k in range(rank))


def _forms(layout: Any, sizes: Sequence[Int]) -> tuple[AffineExpr, ...]:
    return tuple(layout.results(coordinate_variables(sizes), sizes))


def _observed(
    layout: CalledFunction | OffsetLayout, shape: tuple[int, ...], values: dict[str, int]
) -> Observed:
    if prod(shape) > _LARGEST:
        raise LayoutError(f"{prod(shape)} elements: it is called at up to {_LARGEST}")
    if isinstance(layout, CalledFunction):
        return observed(layout.function, shape)
    (form,) = _forms(layout, shape)
    form = map_ints(form, lambda n: evaluated(n, values))
    at = dict(
        zip((f"d{k}" for k in range(len(shape))), np.indices(shape, sparse=True), strict=True)
    )
    return Observed(form.evaluate(at) + np.zeros(shape, np.int64))


def _small_shapes(
    sizes: tuple[Int, ...], known: Sequence[Assumption]
) -> list[tuple[tuple[int, ...], dict[str, int]]]:
    """The shape, or two of numbers for its names, as they are assumed."""
    names = sorted({name for n in sizes if isinstance(n, SizeExpr) for name in n.names()})
    if not names:
        return [(tuple(n for n in sizes if isinstance(n, int)), {})]
    unit = 64 if len(sizes) < 3 else 8
    found = []
    for times in (2, 3):
        values = {}
        for k, name in enumerate(names):
            one = next((x for x in known if x.name == name), Assumption(name))
            n = -(-unit // one.divisor) * one.divisor * (times + k % 2)
            values[name] = max(one.lo, n if one.hi is None else min(n, one.hi))
        found.append((tuple(int(evaluated(n, values)) for n in sizes), values))
    return found
