"""Morello's shorthand: ``[1, 0, 1 p(4)]``, ``0, 0 oe(16)``, ``([0, 1], c1)``, ``NHWC``; in words.

Also lists as its book writes them in Rust: ``Layout::new(vec![(0, PhysDim::Dynamic)])``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from morello_layouts.core.description import (
    Description,
    Dimension,
    MemoryAxis,
    Part,
    count,
    dimensions,
    memory_axes,
)
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.limits import MAP_TEXT
from morello_layouts.errors import LayoutError
from morello_layouts.notations.grammar import END, INT, NAME, Syntax, Terminal, integer
from morello_layouts.notations.morello.dims import Dynamic, OddEven, Packed, PhysDim
from morello_layouts.notations.morello.layout import MorelloLayout
from morello_layouts.notations.text import (
    NUMBER,
    choice,
    either,
    field,
    made,
    many,
    row,
    word,
)  # fmt: skip

_SYNTAX: Final = Syntax(
    form="a Morello layout lists physical dimensions, outermost first: d, d p(n) or d oe(n)",
    example="write for example [1, 0, 1 p(4)]",
    hints={
        "PhysDim": "write for example Layout::new(vec![(0, PhysDim::Dynamic)])",
        "Pack": "write Packed(4), as in (0, PhysDim::Packed(4))",
        "P": "packing is written in lower case: 1 p(4)",
        "d": "write dimensions as numbers: [1, 0]",
    },
    longest=MAP_TEXT,
)

_NAME: Final = Terminal("NHWC or NCHW", r"N[A-Z]+")
_CONTIG: Final = Terminal("the number of contiguous dimensions, such as c2", r"c[0-9]+")
_PHYS_DIM: Final = Terminal("'PhysDim::'", r"PhysDim\s*::")
_U32: Final = word(
    Terminal("a number", "[0-9]+(?:u32)?"),
    lambda n, text: integer(n.removesuffix("u32"), text, n.start),
)

_NAMED: Final = {"NHWC": (0, 2, 3, 1), "NCHW": (0, 1, 2, 3)}
_DYNAMIC: Final = Dynamic()


def _named(name: str) -> MorelloLayout:
    if name not in _NAMED:
        raise LayoutError(
            f"a name: expected {' or '.join(_NAMED)}, got {name}",
            f"the names are {' and '.join(_NAMED)}",
            "write the list of physical dimensions: [0, 2, 3, 1]",
        )
    return MorelloLayout([(dim, _DYNAMIC) for dim in _NAMED[name]])


def _dim(dim: int, phys: PhysDim = _DYNAMIC) -> tuple[int, PhysDim]:
    return dim, phys


_SIZE: Final = either((INT, integer), (NAME, lambda name, _: SizeExpr.named(str(name))))
_PHYS: Final = either(
    (Terminal("p(…)", "p"), made(Packed, "(", field("size", _SIZE), ")")),
    (Terminal("oe(…)", "oe"), made(OddEven, "(", field("size", NUMBER), ")")),
    quiet=True,
)
_DIM: Final = made(_dim, field("dim", NUMBER), field("phys", _PHYS, default=_DYNAMIC))
_LIST: Final = field("phys_dims", many(_DIM, ",", "]"))

# As Morello's book writes them: (1, PhysDim::Packed(nz!(4u32))).
_SIZE_IN_RUST: Final = "(", field("size", choice(NUMBER, row("nz!", "(", _U32, ")"))), ")"
_IN_RUST: Final = either(
    ("Dynamic", lambda *_: _DYNAMIC),
    ("Packed", made(Packed, *_SIZE_IN_RUST)),
    ("OddEven", made(OddEven, *_SIZE_IN_RUST)),
)
_DIM_IN_RUST: Final = made(
    _dim,
    *("(", field("dim", NUMBER), ","),
    field("", word(_PHYS_DIM), default=None),
    *(field("phys", _IN_RUST), ")"),
)


_LAYOUT: Final = choice(
    made(_named, field("name", word(_NAME)), END),
    made(
        MorelloLayout,
        *("(", "[", _LIST, ","),
        field("contig", word(_CONTIG, lambda n, text: integer(n[1:], text, n.start))),
        *(")", END),
    ),
    made(
        MorelloLayout,
        *("Layout", "::", "new", "(", "vec!", "["),
        field("phys_dims", many(_DIM_IN_RUST, ",", "]", trailing=True)),
        *(")", END),
    ),
    made(MorelloLayout, "layout!", "[", _LIST, END),
    made(MorelloLayout, "[", _LIST, END),
    made(MorelloLayout, field("phys_dims", many(_DIM, ",", least=1)), END),
)


def parse_morello(text: str) -> MorelloLayout:
    layout: MorelloLayout = _LAYOUT.parse(text, _SYNTAX)
    return layout


# ---- words

_MOST_NAMES = 4  # dimensions up to this rank have names of their own


def _headline(layout: MorelloLayout) -> str:
    if str(layout) == "NHWC":
        return "NHWC: the channels, dimension 1, vary fastest"
    kinds = [type(phys) for _, phys in layout.phys_dims]
    if OddEven in kinds:
        return "even indices before odd ones"
    if any(kind is not Dynamic for kind in kinds):
        return "packed"
    if len(kinds) < 2:
        return "one dimension" if kinds else "scalar"
    if layout.is_row_major:
        return "row-major"
    return "column-major" if layout.is_col_major else "neither row- nor column-major"


def _axes(
    layout: MorelloLayout, dims: Mapping[int, Dimension], shape: Sequence[int] | None
) -> tuple[MemoryAxis, ...]:
    named = list(dims)
    numbered = MorelloLayout([(named.index(dim), phys) for dim, phys in layout.phys_dims])
    sizes = _smallest_sizes(layout, dims) if shape is None else tuple(shape)
    return memory_axes(numbered.recipe(sizes), tuple(dims.values()))


def _smallest_sizes(layout: MorelloLayout, dims: Mapping[int, Dimension]) -> tuple[Int, ...]:
    """Sizes that the layout fits, symbolic along each dimension that has a Dynamic."""
    dynamic = {dim for dim, phys in layout.phys_dims if isinstance(phys, Dynamic)}
    return tuple(
        layout.demand(dim) * (SizeExpr.named(f"d{dim}") if dim in dynamic else 1) for dim in dims
    )


def _parts(
    layout: MorelloLayout, dims: Mapping[int, Dimension], sizes: Sequence[int] | None
) -> list[Part]:
    parts: list[Part] = []
    within = dict.fromkeys(dims, 1)
    last = len(layout.phys_dims) - 1
    for k, (dim, phys) in reversed(list(enumerate(layout.phys_dims))):
        size = sizes[k] if sizes is not None else None if isinstance(phys, Dynamic) else phys.number
        place = "slowest: " if k == 0 < last else "fastest: " if k == last > 0 else ""
        meaning = _meaning(phys, dims[dim].name, size, within[dim])
        parts.insert(0, Part(f"{dim}{phys}", place + meaning))
        within[dim] *= size or 1
    if not layout.is_fully_contiguous:
        parts.append(Part(f"c{layout.contig}", _contiguity(layout.contig)))
    return parts


def _meaning(phys: PhysDim, name: str, size: int | None, unit: int) -> str:
    """A physical dimension in words; one step of it is ``unit`` steps of the logical one."""
    if isinstance(phys, Dynamic):
        if unit == 1:
            return f"all of {name}" + ("" if size is None else f", {size:,}")
        blocks = "blocks" if size is None else count(size, "block")
        return f"what remains of {name}: {blocks} of {unit}"
    asked = phys.number
    size = asked if size is None else size
    short = f" ({asked} asked for, {size} left)" if size < asked else ""
    if isinstance(phys, OddEven):
        steps = "indices" if unit == 1 else f"blocks of {unit}"
        return f"{size} neighbouring {steps} of {name}, even before odd: {_order(size)}{short}"
    if unit == 1:
        return f"{size} neighbours along {name}{short}"
    return f"{count(size, 'block')} of {unit} along {name}{short}"


def _order(size: int) -> str:
    if size <= 8:
        return " ".join(map(str, [*range(0, size, 2), *range(1, size, 2)]))
    return f"0 2 4 … {(size - 1) // 2 * 2}, then 1 3 5 … {size // 2 * 2 - 1}"


def _contiguity(contig: int) -> str:
    if contig == 0:
        return "no physical dimension lies contiguously in memory: gaps may follow each element"
    inner = "innermost physical dimension lies" if contig == 1 else f"innermost {contig} lie"
    return f"only the {inner} contiguously in memory; the offsets here leave the gaps out"


def describe(layout: MorelloLayout, shape: Sequence[int] | None = None) -> Description:
    sizes = None if shape is None else layout.physical_shape(shape)
    own = layout.names(0)
    dims = dict(enumerate(dimensions(shape, names=own))) if shape else _named_dimensions(layout)
    axes = _axes(layout, dims, shape)
    parts = tuple(_parts(layout, dims, sizes))
    headline = _headline(layout)
    return Description(str(layout), "Morello layout", headline, tuple(dims.values()), parts, axes)


def _named_dimensions(layout: MorelloLayout) -> dict[int, Dimension]:
    """Return the dimensions that a layout names; numbers may be as large as users type."""
    named = sorted({dim for dim, _ in layout.phys_dims})
    rank = max(named, default=-1) + 1
    if rank <= _MOST_NAMES:
        return dict(enumerate(dimensions((None,) * rank, names=layout.names(rank))))
    return {dim: Dimension(f"d{dim}", f"d{dim}", None) for dim in named}
