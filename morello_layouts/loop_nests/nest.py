"""Loop nests as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from morello_layouts.errors import ShapeError
from morello_layouts.expr import OPERATIONS, AffineExpr, Digit
from morello_layouts.expr.sizes import Int, evaluated
from morello_layouts.loop_nests.axes import Axis, Digits
from morello_layouts.loop_nests.hoist import Hoist, Value
from morello_layouts.loop_nests.space import Space
from morello_layouts.loop_nests.text import Source, nest_text
from morello_layouts.loop_nests.tree import Builder, Edges, Guard, Loop, Statement, Visit
from morello_layouts.plain import Displayed


@dataclass(frozen=True)
class Costs:
    """Operations for one element in the innermost loop, and as the plain formulas compute them.

    Attributes:
        inner: operations of the offsets in the innermost loop; a division counts twice.
        plain: those of the simplified formulas, one for each array.
        divisions: divisions and remainders that are left in the innermost loop.
        plain_divisions: those of the plain formulas.
    """

    inner: int
    plain: int
    divisions: int
    plain_divisions: int


@dataclass(frozen=True, repr=False)
class LoopNest(Displayed):
    """A loop nest that visits each point of an iteration space once.

    Attributes:
        space: the coordinates and the arrays.
        digits: the coordinates as digits.
        axes: the loops, the outermost first.
        edges: what partial tiles have.
        body: the text of the body, or empty for one by default.

    >>> import morello_layouts as ml
    >>> nest = ml.loops("f32[16,256]{1,0:T(8,128)}")
    >>> [axis.name for axis in nest.axes], nest.runs["x"]
    (['d0_0', 'd1_0', 'd0_1', 'd1_1'], 4096)
    """

    space: Space
    digits: Digits
    axes: tuple[Axis, ...]
    edges: Edges = "bounds"
    body: str = ""

    json_keys: ClassVar[tuple[str, ...]] = (
        "order", "coordinates", "edges", "maps", "runs", "costs", "code",
    )  # fmt: skip

    @property
    def order(self) -> tuple[str, ...]:
        """The names of the loops, the outermost first."""
        return tuple(axis.name for axis in self.axes)

    @property
    def coordinates(self) -> dict[str, str]:
        """Each coordinate as a formula of the loops."""
        return {name: str(form) for name, form in self.digits.coordinates.items()}

    @property
    def maps(self) -> dict[str, str]:
        """The offset of each array as a formula of the loops."""
        return {
            a.name: str(form)
            for a, form in zip(self.space.accesses, self.digits.forms, strict=True)
        }

    @cached_property
    def _hoisted(self) -> tuple[list[list[Value]], dict[str, AffineExpr]]:
        """The values of each level, and the offsets and coordinates in the innermost loop."""
        taken = {
            *self.order,
            *self.space.sizes,
            *self.space.size_names,
            *(a.name for a in self.space.accesses),
        }
        hoist = Hoist(self.axes, taken)
        depth = len(self.axes)
        found = {
            access.name: hoist.at(form, depth, access.name)
            for access, form in zip(self.space.accesses, self.digits.forms, strict=True)
        }
        for name, form in self.digits.coordinates.items():
            if f"{{{name}}}" in self.body:
                found[name] = hoist.whole(form, depth, name)
        return hoist.values, found

    @property
    def values(self) -> list[list[Value]]:
        """The values that are computed before the loops, and inside of each."""
        return self._hoisted[0]

    @property
    def results(self) -> dict[str, AffineExpr]:
        """What the body may use: offsets and coordinates, over values of the loops outside."""
        return self._hoisted[1]

    @property
    def offsets(self) -> dict[str, AffineExpr]:
        """The offset of each array in the innermost loop, over values of the loops outside."""
        return {access.name: self.results[access.name] for access in self.space.accesses}

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The loops, values and conditions as a tree."""
        return self._statements(self.edges)

    def _statements(self, edges: Edges) -> tuple[Statement, ...]:
        limits = self.digits.limits
        return Builder(self.axes, limits, self.values, edges, self._about).statements()

    @cached_property
    def runs(self) -> dict[str, Any]:
        """For each array the elements, one after the other, that inner loops visit in whole tiles.

        A length may be symbolic.
        """
        return {
            a.name: self._run(form)[1]
            for a, form in zip(self.space.accesses, self.digits.forms, strict=True)
        }

    def _run(self, form: AffineExpr) -> tuple[str, Int]:
        """Return the outermost loop of the contiguous ones, and the length of the run."""
        linear = {atom.name: c for atom, c in form.terms if hasattr(atom, "name")}
        bound = {
            v.name
            for atom, _ in form.terms
            if isinstance(atom, Digit)
            for v in atom.operand.variables()
        }
        length: Int = 1
        first = ""
        for axis in reversed(self.axes):
            if linear.get(axis.name) != length or axis.name in bound:
                break
            first, length = axis.name, length * axis.size
            if any(axis.name in limit.weights for limit in self.digits.limits):
                break
        return first, length

    @cached_property
    def _about(self) -> dict[str, str]:
        """For each loop what it walks over."""
        found = {}
        runs = {
            self._run(f): a.name
            for a, f in zip(self.space.accesses, self.digits.forms, strict=True)
        }
        for axis in self.axes:
            text = _walk(
                axis, [a for a in self.digits.axes.values() if a.coordinate == axis.coordinate]
            )
            for (first, length), name in runs.items():
                if first == axis.name:
                    text += f"; contiguous in {name}: {length} elements"
            found[axis.name] = text
        return found

    @property
    def costs(self) -> Costs:
        """The operations for one element."""
        inner = [*self.offsets.values(), *(v.form for v in self.values[-1])]
        plain = [access.form for access in self.space.accesses]
        return Costs(
            sum(map(OPERATIONS.cost, inner)),
            sum(map(OPERATIONS.cost, plain)),
            sum(map(divisions, inner)),
            sum(map(divisions, plain)),
        )

    def code(
        self,
        language: str = "c",
        *,
        function: bool = False,
        name: str = "nest",
        arguments: str = "",
    ) -> str:
        """Return the nest as source text.

        Args:
            language: ``"c"``, ``"cuda"``, ``"rust"`` or ``"python"``.
            function: write a whole function; symbolic sizes are its last arguments.
            name: the name of the function.
            arguments: the text of its other arguments, such as those for the arrays.

        Raises:
            LayoutError: if there is no such language.
        """
        bases = {value.name for level in self.values for value in level}
        about = "\n".join(f"{a.name}: {a.source}" for a in self.space.accesses if a.source)
        source = Source(self.space, self.statements, bases, self.results, self.body, about)
        return nest_text(source, language, function=function, name=name, arguments=arguments)

    def __call__(self, **sizes: int) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
        """Visit each element: its coordinate, and its offset in each array.

        Args:
            sizes: the numbers of symbolic sizes.

        Raises:
            ShapeError: if a size is missing or unknown.
        """
        if set(sizes) != set(self.space.size_names):
            raise ShapeError(
                f"sizes: expected {_listed(self.space.size_names)}, got {_listed(sizes)}",
                "a visit needs numbers for all symbolic sizes",
                "give each as an argument, such as nest(M=8)",
            )
        return self._visits(self.statements, dict(sizes))

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
        return self()

    def _visits(
        self, statements: Sequence[Statement], at: dict[str, int]
    ) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
        for one in statements:
            match one:
                case Value():
                    at[one.name] = one.form.evaluate(at)
                case Loop():
                    stop = min(form.evaluate(at) for form in one.stops)
                    for turn in range(one.start.evaluate(at), stop):
                        at[one.axis.name] = turn
                        yield from self._visits(one.body, at)
                case Guard():
                    if all(form.evaluate(at) < evaluated(n, at) for form, n in one.conditions):
                        yield from self._visits(one.body, at)
                case Visit():
                    element = tuple(form.evaluate(at) for form in self.digits.coordinates.values())
                    yield element, {name: form.evaluate(at) for name, form in self.offsets.items()}

    def __str__(self) -> str:
        return self.code()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def divisions(form: AffineExpr) -> int:
    """Return the divisions and remainders of a form."""
    found = 0
    for atom in form.atoms():
        if isinstance(atom, Digit):
            found += (atom.divisor != 1) + (atom.modulus is not None)
    return found


def _walk(axis: Axis, all_of: Sequence[Axis]) -> str:
    """Return in words what a loop walks over."""
    k = all_of.index(axis)
    size = f"{axis.size} " if isinstance(axis.size, int) else ""
    if len(all_of) == 1:
        return f"all {size}{axis.coordinate}"
    if k == 0:
        return f"tiles of {axis.unit} {axis.coordinate}"
    within = f"in a tile of {all_of[k - 1].unit}"
    what = axis.coordinate if axis.unit == 1 else f"tiles of {axis.unit} {axis.coordinate}"
    return f"{size}{what} {within}"
