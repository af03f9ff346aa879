"""Loops of a relayout in C."""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.codegen.kernel import micro_c
from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.extents import upper
from morello_layouts.codegen.kernel.fusion import Shared, Tree, fused
from morello_layouts.codegen.kernel.micro import Copy, Fill, Move, Transposition, Unzip, Zip
from morello_layouts.codegen.kernel.names import Values
from morello_layouts.codegen.kernel.nest import WIDEST, Nest
from morello_layouts.codegen.kernel.staging import Staged
from morello_layouts.codegen.kernel.strips import MOST_STRIPPED
from morello_layouts.expr.size import Number

__all__ = ["INDENT", "divided_head", "looped", "staged_lines", "tree_lines"]

INDENT = "    "
_MOST_UNROLLED = 4


def tree_lines(
    tree: Tree,
    say: Values,
    at: tuple[str, str] = ("t", "s"),
    depth: int = 0,
    divided: int | None = None,
) -> list[str]:
    """The loops of a tree.

    Args:
        tree: the loops.
        say: what names numbers.
        at: the texts of where target and source start.
        depth: how many loops there are around it.
        divided: which loop, from the outermost on, a call does a share of.
    """
    if isinstance(tree, Shared):
        heads, at = _over((tree.axis,), at, depth, say, divided)
        texts = [(_ends(part), tree_lines(part, say, at, depth + 1, divided)) for part in tree.body]
        always = [line for ends, text in texts if not ends for line in text]
        rest = [line for ends, text in texts if ends for line in text]
        ends = [counts for part, _ in texts for counts in part]
        if always and len(ends) > 1:  # one test for all the ends of a row
            rest = looped([f"if ({say.some(ends)}) {{"], rest)
        return looped(heads, always + rest)
    nest = tree
    at = f"{at[0]} + {say(nest.target)}", f"{at[1]} + {say(nest.source)}"
    if nest.strip != 0:
        return _strip_lines(nest, say, at, depth, divided)
    heads, (t, s) = _over(nest.loops, at, depth, say, divided)
    unrolled = _unrolled(nest)
    if unrolled is not None:
        heads[unrolled] = f"RELAYOUT_UNROLL {heads[unrolled]}"
    reads = [] if isinstance(nest.micro, Fill) else [f"const unsigned char *s0 = {s};"]
    body = [*reads, f"unsigned char *t0 = {t};", *_micro_lines(nest, say)]
    return looped(heads, body)


def staged_lines(part: Staged, say: Values, divided: int | None = None) -> list[str]:
    """The loops over blocks, of which a call may do a share, and both ways within."""
    at = f"t + {say(part.target)}", f"s + {say(part.source)}"
    heads, (t, s) = _over(part.loops, at, 0, say, divided)
    depth = len(part.loops)
    body = [f"_Alignas({WIDEST}) unsigned char block[{part.size}];"]
    for ways, buffers in ((part.into, ("block", "from")), (part.out, ("to", "block"))):
        body += [line for tree in fused(ways) for line in tree_lines(tree, say, buffers, depth)]
    return looped(heads, [f"const unsigned char *from = {s};", f"unsigned char *to = {t};", *body])


def _strip_lines(
    nest: Nest, say: Values, at: tuple[str, str], depth: int, divided: int | None
) -> list[str]:
    """Loops in which a strip of the source is copied, and the loops over it."""
    outer = len(nest.loops) - nest.inner
    around, at = _over(nest.loops[:outer], at, depth, say, divided)
    fixed, start = isinstance(nest.strip, int), at[1]
    from_strip = at[0], "strip" if fixed else "from"
    heads, (t, s) = _over(nest.loops[outer:], from_strip, depth + outer, say, divided)
    body = [
        f"const unsigned char *s0 = {s};",
        f"unsigned char *t0 = {t};",
        *_micro_lines(nest, say),
        "RELAYOUT_KEEP();",
    ]
    room = f"_Alignas({WIDEST}) unsigned char strip[{nest.strip if fixed else MOST_STRIPPED}];"
    if fixed:
        copied = [room, f"relayout_strip(strip, {start}, {nest.strip});"]
    else:
        counts = [axis.count for axis in nest.loops[outer:] if not isinstance(axis.count, int)]
        size = say(nest.strip)
        test = " && ".join(
            [*map(say, counts), f"{size} % {WIDEST} == 0 && {size} <= {MOST_STRIPPED}"]
        )
        # The compiler sees that no bytes are left, and so needs no call in this loop.
        copy = f"relayout_strip(strip, from, {size} / {WIDEST} * {WIDEST}), from = strip;"
        copied = [room, f"const unsigned char *from = {start};", f"if ({test}) {copy}"]
    inner = looped([f"RELAYOUT_LOOP {head}" for head in heads], body)
    return looped(around, [*copied, *inner])


def _unrolled(nest: Nest) -> int | None:
    """Which loop the compiler is to unroll: as it would if it knew how many vectors a row has."""
    if not isinstance(nest.micro, Zip | Unzip) or nest.stream or nest.micro.rows > 4:
        return None
    steps = 1
    for k, axis in reversed(list(enumerate(nest.loops))):
        if not isinstance(axis.count, int):
            return k if axis.clamp is None and upper(axis.count) is None else None
        steps *= axis.count
        if steps > _MOST_UNROLLED:
            return None
    return None


def _ends(tree: Tree) -> list[tuple[Number, ...]]:
    """For each part of a tree that is the end of a row, there or not, how often its loops run.

    Empty where some part is always there.
    """
    loops = (tree.axis,) if isinstance(tree, Shared) else tree.loops
    counts = tuple(axis.count for axis in loops)
    if isinstance(tree, Nest) and isinstance(tree.micro, Copy | Fill):
        counts += (tree.micro.size,)
    if any(not isinstance(n, int) and upper(n) is not None for n in counts):
        return [counts]
    inner = [_ends(part) for part in tree.body] if isinstance(tree, Shared) else [[]]
    return [counts for part in inner for counts in part] if all(inner) else []


def _over(
    loops: Sequence[Axis], at: tuple[str, str], first: int, say: Values, divided: int | None
) -> tuple[list[str], tuple[str, str]]:
    """Heads of loops, and the pointers within; of the divided loop a call does its share."""
    heads, (t, s) = [], at
    for k, axis in enumerate(loops, first):
        i, n = f"i{k}", say(axis.count)
        head = f"for (size_t {i} = 0; {i} < {n}; {i}++) {{"
        if k == divided:
            head = divided_head(i, n, clamped=axis.clamp is not None)
        if axis.clamp is not None:
            start, last = say(axis.clamp.first), say(axis.clamp.last)
            step = f"{start} + {i} * {axis.clamp.unit}"
            head += f" const size_t p{k} = {step} < {last} ? {step} : {last};"
            i = f"p{k}"
        heads.append(head)
        t += f" + {i} * {say(axis.target)}" if axis.target != 0 else ""
        s += f" + {i} * {say(axis.source)}" if axis.source != 0 else ""
    return heads, (t, s)


def divided_head(i: str, n: str, *, clamped: bool) -> str:
    """The head of a loop of which a call does its share."""
    start, end = (f"RELAYOUT_SHARE({n}, {part}, parts)" for part in ("part", "part + 1"))
    if clamped:  # the last two steps may write to the same places
        start, end = (x.replace(f"({n},", f"({n} - ({n} > 0),") for x in (start, end))
        end = f"part + 1 < parts ? {end} : {n}"
    return f"for (size_t {i} = {start}, e{i} = {end}; {i} < e{i}; {i}++) {{"


def looped(heads: list[str], body: list[str]) -> list[str]:
    """Lines within loops, or within a block where there is no loop."""
    heads = heads or ["{"]
    lines = [INDENT * k + head for k, head in enumerate(heads)]
    lines += [INDENT * len(heads) + line for line in body]
    return lines + [INDENT * k + "}" for k in reversed(range(len(heads)))]


def _micro_lines(nest: Nest, say: Values) -> list[str]:
    stream = "stream" if nest.stream else "0"
    match nest.micro:
        case Transposition():
            return micro_c.transposition_lines(nest.micro, stream, say)
        case Copy(size):
            copy = "relayout_copy" if isinstance(size, int) else "relayout_copy_row"
            return [f"{copy}(t0, s0, {say(size)}, {stream});"]
        case Move(size):
            return [f"memcpy(t0, s0, {size});"]
        case Fill(size):
            return [f"relayout_fill(t0, {say(size)}, fill_item, sizeof fill_item);"]
        case micro:
            return [micro_c.call(micro, "t0", "s0", stream, say)]
