"""Loop nests as values: what a user asks for, and its text in a language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from morello_layouts.core.checks import require_type
from morello_layouts.core.expr import OPERATIONS, AffineExpr, Var
from morello_layouts.core.expr.affine import divisions
from morello_layouts.core.expr.assumptions import checked_sizes
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import importing
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.codegen.language import Counter, IterationSpace, LoopAxis, NestPlan
from morello_layouts.outputs.codegen.targets import loop_language
from morello_layouts.outputs.loop_nests.space import Digits, Limit, falling, falls, physical
from morello_layouts.outputs.loop_nests.tree import Builder, Edges, Hoist, PlannedNest, counted

if TYPE_CHECKING:
    from morello_layouts.proof import Proof


@frozen(slots=False)
class Costs:
    """Operations for one element in the innermost loop, and as the plain formulas compute them."""

    inner: int  #: operations of the offsets in the innermost loop; a division counts twice.
    plain: int  #: those of the simplified formulas, one for each array.
    divisions: int  #: divisions and remainders that are left in the innermost loop.
    plain_divisions: int  #: those of the plain formulas.


@frozen(slots=False)
class LoopNest(Displayed):
    """A loop nest that visits each point of an iteration space once.

    >>> import morello_layouts as ml
    >>> nest = ml.loops("f32[16,256]{1,0:T(8,128)}")
    >>> [axis.name for axis in nest.axes], nest.runs["x"]
    (['d0_0', 'd1_0', 'd0_1', 'd1_1'], 4096)
    """

    space: IterationSpace  #: the coordinates and the arrays.
    digits: Digits  #: the coordinates as digits.
    axes: tuple[LoopAxis, ...]  #: the loops, the outermost first.
    edges: Edges = "bounds"  #: how loops over partial tiles end.
    #: the text of the body, or empty for one by default: of two arrays whose coordinates the second
    #: has all, a copy to it.
    body: str = ""

    json_keys: ClassVar[tuple[str, ...]] = (
        "order", "coordinates", "edges", "maps", "runs", "costs", "code=text",
    )  # fmt: skip

    @staticmethod
    def physical(
        space: IterationSpace,
        which: int,
        tiles: Mapping[str, Sequence[Int]] | None = None,
        edges: Edges = "bounds",
        body: str = "",
    ) -> LoopNest:
        """Return the nest in the order of one of the arrays, of tiles if these are given."""
        digits = Digits.of(space, falling(space, which)).tiled(tiles or {}).refined()
        digits = digits.unswizzled(which).named(space.taken)
        return LoopNest(space, digits, physical(digits, digits.forms[which]), edges, body)

    def __hash__(self) -> int:
        return hash((self.axes, self.edges, self.body))

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
        return {name: str(form) for name, form in self._forms.items()}

    @property
    def _forms(self) -> dict[str, AffineExpr]:
        return dict(zip(self.space.arrays, self.digits.forms, strict=True))

    def planned(
        self, *, counts: bool = True, edges: Edges | None = None, vectors: int = 0
    ) -> PlannedNest:
        """Return the nest as it is printed, of its own edges by default."""
        taken, depth = {*self.order, *self.space.names}, len(self.axes)
        hoist, forms = Hoist(self.axes, taken), self.digits.forms
        found = {name: hoist.at(form, depth, name) for name, form in self._forms.items()}
        for name, form in self.digits.coordinates.items():
            if f"{{{name}}}" in self.body:
                found[name] = hoist.whole(form, depth, name)
        counters: tuple[Counter, ...] = ()
        if counts and self.axes:
            found, counters = counted(found, self.axes[-1], taken)
        plan = NestPlan(tuple(map(tuple, hoist.values)), found, counters)
        limits, about = self.digits.limits, self._about
        builder = Builder(self.axes, limits, plan, edges or self.edges, about, vectors)
        statements = builder.statements()
        return PlannedNest(self.space, self.axes, forms, plan, statements, self.body, self.digits)

    @property
    def offsets(self) -> dict[str, AffineExpr]:
        """The offset of each array in the innermost loop, over values of the loops outside."""
        return {name: self.walk.plan.results[name] for name in self.space.arrays}

    @cached_property
    def walk(self) -> PlannedNest:
        """The nest as it is printed, proved and run."""
        return self.planned()

    @cached_property
    def runs(self) -> dict[str, Any]:
        """For each array the elements, one after the other, that inner loops visit in whole tiles.

        A length may be symbolic.
        """
        return {name: self._run(form)[1] for name, form in self._forms.items()}

    def _run(self, form: AffineExpr) -> tuple[str, Int]:
        """Return the outermost loop of the contiguous ones, and the length of the run."""
        linear = {atom.name: c for atom, c in form.terms if isinstance(atom, Var)}
        bound = {v.name for atom, _ in form.terms for x in atom.operands for v in x.variables()}
        length: Int = 1
        first, left = "", list(self.axes)
        while left and linear.get(left[-1].name) == length and left[-1].name not in bound:
            axis = left[-1]
            whole = self._whole_limit(left, linear, length)
            if whole is not None:
                left = left[: -len(whole.weights)]
                first, length = self.axes[len(left)].name, length * whole.size
                continue
            first, length = axis.name, length * axis.size
            if any(axis.name in limit.weights for limit in self.digits.limits):
                break
            left.pop()
        return first, length

    def _whole_limit(
        self, axes: Sequence[LoopAxis], linear: Mapping[str, Int], length: Int
    ) -> Limit | None:
        """Return the limit that the inner loops together fill, one after the other."""
        for limit in sorted(self.digits.limits, key=lambda limit: -len(limit.weights)):
            inner = axes[len(axes) - len(limit.weights) :]
            step: Int = 1
            for axis in reversed(inner):
                if limit.weights.get(axis.name) != step or linear.get(axis.name) != length * step:
                    break
                step = step * axis.size
            else:
                return limit
        return None

    @cached_property
    def _about(self) -> dict[str, str]:
        """For each loop what it walks over."""
        found = {}
        runs = [(*self._run(form), name) for name, form in self._forms.items()]
        for axis in self.axes:
            own = [a for a in self.digits.axes.values() if a.coordinate == axis.coordinate]
            text = _about(axis, own)
            if falls(self.digits.coordinates[axis.coordinate], axis.name):
                text += ", backwards"
            for first, length, name in runs:
                if first == axis.name and length != 1:
                    text += f"; contiguous in {name}: {length} elements"
            found[axis.name] = text
        return found

    @property
    def costs(self) -> Costs:
        """The operations for one element."""
        inner = [*self.offsets.values(), *(v.form for v in self.walk.plan.values[-1])]
        plain = [access.form for access in self.space.accesses]
        return Costs(
            sum(map(OPERATIONS.cost, inner)) + sum(c.cost for c in self.walk.plan.counters),
            sum(map(OPERATIONS.cost, plain)),
            sum(map(divisions, inner)),
            sum(map(divisions, plain)),
        )

    def code(
        self,
        target: str = "c",
        *,
        function: bool = False,
        name: str = "nest",
        arguments: str = "",
        indices: Mapping[str, str] | None = None,
    ) -> str:
        """Return the nest as source text.

        Args:
            target: ``"c"``, ``"cuda"``, ``"rust"``, ``"python"``, ``"mlir"`` (``scf`` loops over
                affine maps) or ``"triton"`` (the two inner loops are blocks of pointers with a
                mask).
            function: write a whole function; symbolic sizes are its last arguments.
            name: the name of the function.
            arguments: the text of its arguments for the arrays; by default arrays of the elements
                that the maps tell, or of 32-bit floats, the last of which is written. A type that
                the target lacks is an integer of its width.
            indices: loops whose index the machine gives, in CUDA and Triton: ``{"i0":
                "blockIdx.x"}``, ``{"i0": "tl.program_id(0)"}``.

        Raises:
            LayoutError: if there is no such target or loop.
            UnsupportedError: if the target lacks something, such as a block of unknown size.

        >>> import morello_layouts as ml
        >>> nest = ml.loops("f32[M,N]{1,0:T(8,128)}", names=("i", "j"))
        >>> print(nest.code("cuda", indices={"i0": "blockIdx.y", "j0": "blockIdx.x"}))
        const uint64_t x_i0 = 1024 * ((N + 127) / 128);
        // i0: tiles of 8 i
        const uint64_t i0 = blockIdx.y;
        if (i0 < ((M + 7) / 8)) {
            const uint64_t x1 = x_i0 * i0;
            // j0: tiles of 128 j
            const uint64_t j0 = blockIdx.x;
            if (j0 < ((N + 127) / 128)) {
                const uint64_t x2 = x1 + 1024 * j0;
                // i1: 8 i in a tile of 8
                const uint32_t i1_end = (M - 8 * i0) < 8 ? (M - 8 * i0) : 8;
                for (uint32_t i1 = 0; i1 < i1_end; ++i1) {
                    const uint64_t x3 = x2 + 128 * i1;
                    // j1: 128 j in a tile of 128; contiguous in x: 128 elements
                    const uint32_t j1_end = (N - 128 * j0) < 128 ? (N - 128 * j0) : 128;
                    for (uint32_t j1 = 0; j1 < j1_end; ++j1) {
                        // x[x3 + j1]
                    }
                }
            }
        }
        """
        language = loop_language(target)()
        require_type(indices or {}, Mapping, "indices", 'give for example {"i0": "blockIdx.x"}')
        given = dict(indices or {})
        for text in (name, arguments, *given.values()):
            require_type(text, str, "code", "name, arguments and indices are texts")
        is_counted = language.counts and not {*self.order[-1:]} & {*given}
        walk = self.walk
        if language.vectors or given or is_counted != bool(walk.plan.counters):
            self._require_indices(given, language.parallel, target)
            edges = "bounds" if language.vectors else self.edges
            walk = self.planned(counts=is_counted, edges=edges, vectors=language.vectors)
        return language.nest_text(walk, given, name if function else None, arguments)

    def _require_indices(self, given: Mapping[str, str], example: str, target: str) -> None:
        for name in given:
            if name not in self.order or not example or self.edges == "peel":
                what = f"loops of {', '.join(self.order)}" if example else "no loops"
                what = 'edges="bounds"' if self.edges == "peel" and example else what
                raise LayoutError(
                    f"indices: expected {what}, got {name!r}",
                    f"a machine gives the index of a loop; {target} is written for "
                    f"{'one that does' if example else 'one thread'}",
                    f"give for example indices={{{self.order[0]!r}: "
                    f"{example or 'blockIdx.x'!r}}} in cuda",
                )

    def verify(self, *, budget: int | None = None) -> Proof:
        """Decide whether the nest visits each element once, at the offsets of the maps.

        What is judged are the loops, conditions and values that languages print.

        >>> import morello_layouts as ml
        >>> print(ml.loops("f32[M,N]{1,0:T(8,128)}", edges="peel").verify())
        verified: the nest visits each element once, at the offsets of the maps. Decided by ISL.
        """
        with importing:
            from morello_layouts.outputs.loop_nests.verify import verified

        return verified(self.walk, budget)

    def __call__(self, /, **sizes: int) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
        """Visit each element: its coordinate, and its offset in each array.

        Args:
            sizes: the numbers of symbolic sizes.

        Raises:
            ShapeError: if a size is missing, unknown or not as assumed.
        """
        given = checked_sizes(sizes, self.space.size_names, self.space.assumptions)
        return self.walk.visits(given)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
        return self()

    @property
    def text(self) -> str:
        """The nest in C."""
        return self.code()

    def __repr__(self) -> str:
        maps = ", ".join(f"{name}[{offset}]" for name, offset in self.maps.items())
        return f"<LoopNest over {', '.join(self.order)}: {maps}>"

    def __str__(self) -> str:
        return self.text


def _about(axis: LoopAxis, all_of: Sequence[LoopAxis]) -> str:
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
