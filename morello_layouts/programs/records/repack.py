"""Repacking: the kernel that moves a field of one packed format to one of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from morello_layouts.core.checks import require_type, shown
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.notations.einops import Entry, parse_sides
from morello_layouts.outputs.kernels.narrow import IndexDigit, NarrowRelayout, places_of, refined
from morello_layouts.programs.records.block import Block, Field

Groups = Sequence[Entry]


def repack(
    source: Block, target: Block, pattern: str, fields: tuple[str, str] | None = None
) -> NarrowRelayout:
    """Return the kernel that moves a field of this record to a field of another one.

    Args:
        source: the record that is read.
        target: the record that is written; both are at sizes that are numbers.
        pattern: the dimensions of both fields, blocks first: ``"n b k -> (b k) n"``.
        fields: the names of the fields; by default those with the most bits.

    Raises:
        UnsupportedError: if a field has several pieces, or shares bytes with others.

    >>> from morello_layouts import record
    >>> gguf, awq = record("q4_0[8, 4]"), record("awq").at(K=128, N=8)    # 8 rows of 128
    >>> move = gguf.repack(awq, "n b k -> (b k) n").compile()
    >>> move(bytes(576)).shape    # 1,024 weights of four bits
    (512,)
    """
    names = fields or (_largest(source), _largest(target))
    if not isinstance(names, tuple | list) or len(names) != 2:
        what = f"fields: expected two names, got {shown(fields)}"
        raise LayoutError(what, fix="name one field of each record, such as ('qs', 'qweight')")
    one, other = source[names[0]], target[names[1]]
    if one.bits != other.bits or one.bits not in (1, 2, 4):
        raise UnsupportedError(
            f"repack: expected fields of 1, 2 or 4 bits, got {one.type} and {other.type}",
            "elements move as they are; wider ones are bytes, which a relayout moves",
            "name two fields of one width",
        )
    require_type(pattern, str, "a pattern", "write for example n b l -> (b l) n")
    groups = parse_sides(pattern)
    shapes = [known((*r.blocks, *f.shape)) for r, f in ((source, one), (target, other))]
    sizes = _sizes(groups, shapes, pattern)
    pieces = [
        list(_named(_digits(r, f), side, sizes))
        for (r, f), side in zip(((source, one), (target, other)), groups, strict=True)
    ]
    digits = tuple(d for name, size in sizes.items() for d in refined(name, size, *pieces))
    starts = int(known((one.pieces[0].at,))[0]), int(known((other.pieces[0].at,))[0])
    whole = known((source.byte_size, target.byte_size))
    return NarrowRelayout(one.bits, digits, starts, (whole[0], whole[1]))


def _largest(record: Block) -> str:
    return max(record.fields, key=lambda f: prod(known(f.shape), start=1) * f.bits).name


def _sizes(
    groups: tuple[Groups, Groups], shapes: Sequence[Sequence[int]], text: str
) -> dict[str, int]:
    """Return the size of each name, from dimensions of one name, and then from the others."""
    found: dict[str, int] = {}
    sides = list(zip(groups, shapes, strict=True))
    if any(len(side) != len(shape) for side, shape in sides):
        raise ShapeError(
            f"{text}: expected {len(shapes[0])} and {len(shapes[1])} dimensions",
            f"the fields have the shapes {list(shapes[0])} and {list(shapes[1])}, blocks first",
            "name each dimension, and put names in parentheses that are one dimension there",
        )
    dims = [pair for side, shape in sides for pair in zip(side, shape, strict=True)]
    for group, n in sorted(dims, key=lambda pair: len(pair[0])):
        open_ones = [name for name in group if name not in found]
        rest = prod(found.get(name, 1) for name in group)
        if len(open_ones) == 1 and n % rest == 0:
            found[open_ones[0]], rest = n // rest, n
        if len(open_ones) > 1 or rest != n:
            raise ShapeError(
                f"{text}: ({' '.join(group)}) is a dimension of {n}, got "
                f"{', '.join(f'{name} = {found[name]}' for name in group if name in found)}",
                "the sizes of the names in parentheses have the dimension as product",
                "give the records at sizes that fit each other",
            )
    return found


def _digits(record: Block, one: Field) -> Iterator[IndexDigit]:
    """Yield the digits of blocks and of elements, with their strides in bits."""
    if len(one.pieces) != 1:
        raise UnsupportedError(
            f"repack: {one.name} has {len(one.pieces)} pieces",
            "one kernel moves elements that lie together",
            "unpack the numbers and pack them again",
        )
    stride = known((record.bits,))[0]
    for dim in range(len(record.blocks) - 1, -1, -1):
        n = known((record.blocks[dim],))[0]
        yield IndexDigit(dim, 1, n, stride)
        stride *= n
    m, unit = one.piece_map(one.pieces[0]), known((one.piece_unit(one.pieces[0]),))[0]
    yield from () if m is None else places_of(m.recipe, unit, len(record.blocks))


def _named(
    digits: Iterator[IndexDigit], groups: Groups, sizes: Mapping[str, int]
) -> Iterator[IndexDigit]:
    """Yield digits of dimensions as digits of the names that a dimension is made of."""
    for of, unit, radix, bits in digits:
        at = 1
        for name in reversed(groups[int(of)]):
            low, high = max(unit, at), min(unit * radix, at * sizes[name])
            if low < high:
                yield IndexDigit(name, low // at, high // low, bits * (low // unit))
            at *= sizes[name]
