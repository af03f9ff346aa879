"""Views: a part of an array, or its elements in another order, as steps before the array's own.

Each operation takes the shape of the array that it looks at, and gives the shape of the view and
the steps from the view to the array. A new operation is one function and one row of ``OPERATIONS``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from operator import add, mul, sub
from typing import Any, Final, TypeAlias

from morello_layouts.core.checks import (
    LARGEST,
    as_int,
    as_permutation,
    as_tuple,
    require_type,
    shown,
    whole,
)
from morello_layouts.core.expr import AffineExpr, coordinate_variables, standard
from morello_layouts.core.expr.affine import names_in
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.conversions import number_from_sympy
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, is_nonnegative
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import later
from morello_layouts.core.limits import VIEW_TEXT
from morello_layouts.core.maps.map import AffineMap
from morello_layouts.core.maps.modes import require_dim
from morello_layouts.core.maps.names import kept_names
from morello_layouts.core.recipe import (
    Merge,
    Recipe,
    Scatter,
    Step,
    Transpose,
    Window,
    physical_coordinates,
    recipe_of_coordinates,
)
from morello_layouts.core.recipe.steps import brackets
from morello_layouts.core.recipe.views import reshape_steps
from morello_layouts.errors import LayoutError, ShapeError

Shape: TypeAlias = tuple[Int, ...]
Seen: TypeAlias = tuple[Shape, tuple[Step, ...]]
"""The shape of a view, and the steps from it to the array that it looks at."""


def indexed(shape: Shape, index: Any) -> Seen:
    """Return the view of an index as NumPy's: integers, slices, ``None`` and ``...``."""
    parts = list(_parts(shape, index))
    given = zip((part for part in parts if part is not None), shape, strict=True)
    runs = [_run(part, n, k) for k, (part, n) in enumerate(given)]
    inner = tuple(count for *_, count in runs if count is not None)
    axes = iter(runs)
    counts = [1 if part is None else next(axes)[2] for part in parts]
    view = tuple(count for count in counts if count is not None)
    if view != inner and (prod(view) == 0 or not inner):  # no steps reshape what is empty
        return gathered(shape, view, [AffineExpr((), start) for start, *_ in runs])
    steps = list(reshape_steps(view, inner))
    if len(inner) < len(shape):
        steps.append(Merge(tuple(0 if count is None else 1 for *_, count in runs)))
    starts, strides = tuple(run[0] for run in runs), tuple(run[1] for run in runs)
    if inner != shape or any(start != 0 for start in starts):
        steps.append(Window(shape, starts, strides))
    return view, tuple(steps)


def _parts(shape: Shape, index: Any) -> Iterator[Any]:
    """Yield an index for each dimension, and None for each new one."""
    parts = index if isinstance(index, tuple) else (index,)
    rank = sum(part is not None and part is not ... for part in parts)
    if rank > len(shape) or sum(part is ... for part in parts) > 1:
        raise ShapeError(
            f"[{as_text(index)}]: expected at most {len(shape)} indices and one ..., got {rank}",
            "an index has an integer or a slice for each dimension, as NumPy's",
            f"leave out what {brackets(shape)} does not have",
        )
    for part in parts if ... in parts else (*parts, ...):
        if part is ...:
            yield from [slice(None)] * (len(shape) - rank)
        else:
            yield part


def _run(part: Any, n: Int, k: int) -> tuple[Int, Int, Int | None]:
    """Return first place, stride and number of the places of a slice; no number for an integer."""
    what = f"index {k}"
    if not isinstance(part, slice):
        at = _from_start(_number(part, what), n)
        if is_nonnegative(-1 - at) or is_nonnegative(at - n):
            raise ShapeError(
                f"{what}: expected {-n} to {n - 1}, got {part}",
                f"dimension {k} has {n} elements",
                "give an index inside of it",
            )
        return at, 1, None
    step = 1 if part.step is None else as_int(part.step, f"the step of {what}", -LARGEST)
    if step == 0:
        raise ShapeError(
            f"the step of {what}: expected another number than 0, got 0",
            "a slice goes forwards or backwards",
            "give for example 1 or -1",
        )
    given = (None if end is None else _number(end, what) for end in (part.start, part.stop))
    start, stop = given
    if all(end is None or isinstance(end, int) for end in (start, stop, n)) and isinstance(n, int):
        places = range(*slice(start, stop, step).indices(n))
        count = max(0, -((places.start - places.stop) // step))  # len is for numbers below 2^63
        return (places.start if places else 0), step, count
    first: Int = (0 if step > 0 else n - 1) if start is None else _from_start(start, n)
    if stop is None:
        last = n if step > 0 else -1
    else:
        last = _from_start(stop, n)
        last = n if is_nonnegative(last - n) else last
    return first, step, ceil_quotient(last - first if step > 0 else first - last, abs(step))


def _from_start(at: Int, n: Int) -> Int:
    """Return a place counted from the start: a negative one is counted from the end."""
    return at + n if is_nonnegative(-1 - at) else at


def number_of(given: Any) -> Int | None:
    """Return an integer, text such as ``8*i + 1``, or SymPy as a number; None for other values."""
    if isinstance(given, str) and len(given) <= VIEW_TEXT:
        with suppress(SyntaxError, _NoNumberError):
            return _polynomial(ast.parse(given.strip(), mode="eval").body)
    if getattr(given, "free_symbols", None):
        return number_from_sympy(given)
    return given if isinstance(given, SizeExpr) else whole(given)


def _number(given: Any, what: str) -> Int:
    number = number_of(given)
    if number is not None:
        return number
    raise ShapeError(
        f"{what}: expected an integer, a name or a slice of them, got {shown(given)}",
        "an index has an integer or a slice for each dimension, as NumPy's",
        'give for example m[2, 0:4], m["i":"i + 8"], or m.view(gather=…) for other elements',
    )


def _sizes(given: Any, what: str, least: int) -> Shape:
    sizes = tuple(_number(n, what) for n in as_tuple(given, what, "give a size for each axis"))
    for n in sizes:
        if is_nonnegative(least - 1 - n):
            raise ShapeError(
                f"{what}: expected sizes from {least}, got {n}",
                "sizes are numbers of elements",
                f"give sizes from {least}",
            )
    return sizes


class _NoNumberError(Exception):
    """A text is not made of numbers and names by +, - and *."""


def _polynomial(tree: ast.expr) -> Int:
    """Return the value of a text such as ``8*i + 1``, of names that stand for integers."""
    match tree:
        case ast.Constant(int() as number) if not isinstance(number, bool):
            return number
        case ast.Name(name):
            return SizeExpr.named(name)
        case ast.UnaryOp(ast.USub(), operand):
            return -_polynomial(operand)
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            found: Int = _SIGNS[type(sign)](_polynomial(left), _polynomial(right))
            return found
    raise _NoNumberError


_SIGNS: Final = {ast.Add: add, ast.Sub: sub, ast.Mult: mul}


def as_text(index: Any) -> str:
    """Return an index as Python's source text.

    >>> as_text((2, slice(None, 4), None, ...))
    '2, :4, None, ...'
    """

    def text(part: Any) -> str:
        if not isinstance(part, slice):
            return "..." if part is ... else str(part)
        ends = [part.start, part.stop, *([] if part.step is None else [part.step])]
        return ":".join("" if end is None else str(end) for end in ends)

    return ", ".join(map(text, index if isinstance(index, tuple) else (index,)))


def transposed(shape: Shape, order: Any) -> Seen:
    """Return the transpose: dimension k of the view is dimension ``order[k]`` of the array."""
    axes = as_permutation(order, "transpose", len(shape))
    back = tuple(axes.index(k) for k in range(len(axes)))
    return tuple(shape[axis] for axis in axes), (Transpose(back),)


def reshaped(shape: Shape, to: Any) -> Seen:
    """Return the reshape in row-major order; one size may be -1, for what the others leave."""
    given = to if isinstance(to, Sequence) and not isinstance(to, str) else (to,)
    sizes = tuple(_number(n, "reshape") for n in given)
    if sizes.count(-1) == 1:
        free, others = sizes.index(-1), prod(n for n in sizes if n != -1)
        if others != 0 and prod(shape) % others == 0:
            sizes = (*sizes[:free], prod(shape) // others, *sizes[free + 1 :])
    if prod(sizes) != prod(shape) or any(is_nonnegative(-1 - n) for n in sizes):
        raise ShapeError(
            f"reshape: expected a shape of {prod(shape)} elements, got {shown(to)}",
            f"a view has the elements of its array, {brackets(shape)}",
            f"give sizes whose product is {prod(shape)}; one of them may be -1",
        )
    if prod(sizes) == 0 or not sizes or not shape:  # as for an index
        return gathered(shape, sizes, [AffineExpr((), 0)] * len(shape))
    return sizes, reshape_steps(sizes, shape, symbolic=True)


def reversed_along(shape: Shape, axes: Any) -> Seen:
    """Return the array with some dimensions backwards."""
    turned = _axes(shape, axes, "reverse")
    return indexed(shape, tuple(slice(None, None, -1 if k in turned else 1)
                                for k in range(len(shape))))  # fmt: skip


def squeezed(shape: Shape, axes: Any) -> Seen:
    """Return the array without some dimensions of size 1; ``...`` means all of them."""
    ones = [k for k, n in enumerate(shape) if n == 1]
    gone = ones if axes is ... else _axes(shape, axes, "squeeze")
    for k in gone:
        if k not in ones:
            raise ShapeError(
                f"squeeze: expected a dimension of size 1, got {shape[k]} for dimension {k}",
                "a dimension goes if it has one index",
                f"name some of {ones}" if ones else "leave the squeeze out",
            )
    return indexed(shape, tuple(0 if k in gone else slice(None) for k in range(len(shape))))


def broadcasted(shape: Shape, to: Any) -> Seen:
    """Return the array with more dimensions in front, and with dimensions of size 1 repeated."""
    sizes = _sizes(to, "broadcast", 0)
    more = len(sizes) - len(shape)
    pairs = list(zip(shape, sizes[max(more, 0) :], strict=more >= 0))
    if more < 0 or any(n not in (m, 1) for n, m in pairs):
        raise ShapeError(
            f"broadcast: {brackets(shape)} does not fit {brackets(sizes)}",
            "sizes are equal from the last dimension on, or 1 in the array",
            "reshape the array before, with a size of 1 where elements repeat",
        )
    at = coordinate_variables(sizes)[more:]
    zero = AffineExpr((), 0)
    return gathered(
        shape, sizes, [x if n == m else zero for x, (n, m) in zip(at, pairs, strict=True)]
    )


def diagonal(shape: Shape, axes: Any) -> Seen:
    """Return the diagonal of two dimensions as a last one, as NumPy's."""
    a, b = _axes(shape, axes, "diagonal", 2)
    kept = [n for k, n in enumerate(shape) if k not in (a, b)]
    shorter = shape[a] if is_nonnegative(shape[b] - shape[a]) else shape[b]
    if not is_nonnegative(shape[a] - shorter):
        raise ShapeError(
            f"diagonal: expected sizes of which one is the smaller, got {shape[a]} and {shape[b]}",
            "the diagonal ends with the shorter dimension",
            "slice both to one size before",
        )
    at = coordinate_variables((*kept, shorter))
    others = iter(at)
    forms = [at[-1] if k in (a, b) else next(others) for k in range(len(shape))]
    return gathered(shape, (*kept, shorter), forms)


def windows(shape: Shape, by_axis: Any) -> Seen:
    """Return sliding windows: a last dimension for each axis, along one window.

    Args:
        shape: the array.
        by_axis: for each axis the size of a window; or its size, its step and its dilation.
    """
    sizes, inner, steps = list(shape), list[tuple[int, Int, int]](), dict[int, int]()
    require_type(by_axis, Mapping, "windows", "give for example windows={0: 3, 1: (3, 2)}")
    for k, given in zip(_axes(shape, [*by_axis], "windows"), by_axis.values(), strict=True):
        parts = given if isinstance(given, tuple) else (given,)
        size = _number(parts[0], "the size of a window")
        step, dilation = (as_int(n, "the step of windows", 1) for n in (*parts[1:], 1, 1)[:2])
        sizes[k] = ceil_quotient(shape[k] - (size - 1) * dilation, step)
        if is_nonnegative(-sizes[k]) or is_nonnegative(-size):
            raise ShapeError(
                f"windows: expected a size from 1 that fits {shape[k]} elements, got {size}",
                "every window lies inside of the array",
                "give a smaller window or dilation",
            )
        inner.append((k, size, dilation))
        steps[k] = step
    view = (*sizes, *(size for _, size, _ in inner))
    at = coordinate_variables(view)
    found = [x * steps.get(k, 1) for k, x in enumerate(at[: len(shape)])]
    for (k, _, dilation), x in zip(inner, at[len(shape) :], strict=True):
        found[k] = found[k] + x * dilation
    return gathered(shape, view, found)


def tiles(shape: Shape, sizes: Any) -> Seen:
    """Return the array in tiles: first the number of the tile, then the place in the tile."""
    given = _sizes(sizes, "tiles", 1)
    if len(given) != len(shape) or any(n % t for n, t in zip(shape, given, strict=True)):
        raise ShapeError(
            f"tiles: expected sizes that divide {brackets(shape)}, got {brackets(given)}",
            "a view has every element once, so whole tiles only",
            f"give {len(shape)} sizes that divide, or slice the array before; assume of symbolic "
            'sizes that they do: index_map(…, assuming="M % 8 == 0")',
        )
    split = tuple(x for n, t in zip(shape, given, strict=True) for x in (n // t, t))
    order = (*range(0, len(split), 2), *range(1, len(split), 2))
    view, steps = transposed(split, order)
    return view, (*steps, *reshaped(shape, split)[1])


def gather(shape: Shape, by: Any) -> Seen:
    """Return the elements at the coordinates that a map gives."""
    if not isinstance(by, AffineMap) or len(by.given) != len(shape):
        raise ShapeError(
            f"gather: expected a map with {len(shape)} formulas, got {shown(by)}",
            "it gives a coordinate of the array for each place of the view",
            'make it with from_sympy({"shape": (4,)}, ("2*d0", "d0"))',
        )
    return gathered(shape, by.sizes, by.given)


def gathered(shape: Shape, view: Shape, forms: Sequence[AffineExpr]) -> Seen:
    """Return the view whose elements lie at coordinates given by formulas."""
    if prod(view) == 0:
        return view, (Scatter((AffineExpr((), 0),) * len(shape), shape),)
    return view, recipe_of_coordinates(view, forms, shape).steps


def numbered(given: Any, names: Sequence[str]) -> Any:
    """Return dimensions as numbers in place of their names.

    >>> numbered({"x": 3}, ("y", "x")), numbered(("x", "y"), ("y", "x"))
    ({1: 3}, (1, 0))
    """
    if isinstance(given, Mapping):
        return {numbered(k, names): value for k, value in given.items()}
    if isinstance(given, tuple | list):
        return tuple(numbered(k, names) for k in given)
    return require_dim(given, names) if isinstance(given, str) else given


def _axes(shape: Shape, given: Any, what: str, count: int | None = None) -> tuple[int, ...]:
    """Return numbers of dimensions, counted from the end if they are negative."""
    axes = given if isinstance(given, tuple | list) else (given,)
    rank = len(shape)
    found = tuple(as_int(k, what, -rank, rank - 1) % rank for k in axes)
    wrong = len(set(found)) < len(found)
    if wrong or (count is not None and len(found) != count):
        raise ShapeError(
            f"{what}: expected {f'{count} ' if count else ''}different dimensions, got {given}",
            "each dimension is named once",
            f"give for example {tuple(range(count or 1))}",
        )
    return found


OPERATIONS: Final[Mapping[str, Callable[[Shape, Any], Seen]]] = {
    "index": indexed,
    "transpose": transposed,
    "reshape": reshaped,
    "reverse": reversed_along,
    "squeeze": squeezed,
    "broadcast": broadcasted,
    "diagonal": diagonal,
    "windows": windows,
    "tiles": tiles,
    "gather": gather,
}
"""The operations of :meth:`IndexMap.view`, by the name of their argument."""


def not_a_view(name: str) -> LayoutError:
    """Return the error for an operation that does not exist, or that is not a view."""
    moves = {"pad": "target[1:-1, 1:-1]", "concatenate": "target[:3]", "concat": "target[:3]"}
    if name in moves:
        return LayoutError(
            f"view: expected an operation, got {name}",
            "a view shows elements of one buffer, and what this adds has no slot in it",
            f"move the array to a part of a target: ml.relayout(m, {moves[name]}).compile(fill=…)",
        )
    return LayoutError(
        f"view: expected an operation, got {name}",
        f"operations are {', '.join(OPERATIONS)}",
        "give for example transpose=(1, 0)",
    )


def viewed(m: Any, view: Seen, source: str) -> Any:
    """Return the index map of a view of m's array: its shape, and the steps to m's array."""
    shape, steps = view
    recipe = replace(m.recipe, shape=shape, steps=(*steps, *m.recipe.steps))
    found = seen_through(m, recipe, steps, source)
    starts = (n for step in steps if isinstance(step, Window) for n in step.starts)
    names = {*names_in(starts)}
    places = [Assumption(name, lo=0) for name in sorted(names - {*m.recipe.names})]
    part = replace(found, is_part=m.is_part or prod(shape) != prod(m.recipe.shape))
    return part.assume(places) if places else part


def seen_through(m: Any, recipe: Recipe, steps: tuple[Step, ...], source: str) -> Any:
    """Return the index map of a recipe whose first steps lead to m's array."""

    def outer() -> list[AffineExpr]:
        zero, at = AffineExpr((), 0), coordinate_variables(recipe.shape)
        return [zero + x for x in physical_coordinates(Recipe(recipe.shape, steps), at, zero)]

    def form() -> AffineExpr:
        forms = outer()
        # A start with a name lies inside of the array: the simplified formula takes it for granted.
        named = {name for form in forms for name in form.sizes()}
        given = m.form if named and named - m.form.sizes() else m.reference_form
        found: AffineExpr = substitute(given, dict(zip(standard(len(forms)), forms, strict=True)))
        return found

    own = form() if recipe.names else later(form)
    names = kept_names(m.names, len(recipe.shape), outer()) if m.names else ()
    return replace(m, recipe=recipe, reference_form=own, source=source, names=names, origin=None)
