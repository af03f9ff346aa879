"""Emit a relayout kernel for Triton: a function that launches one program for each domain.

Where source and target have different fastest axes, a program moves a tile of both: Triton's
compiler then reads along the source and writes along the target, through shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.recipe import known
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.kernels import elementwise
from morello_layouts.outputs.kernels.domains import CopyAxis, Domain
from morello_layouts.outputs.kernels.plan import Kernel, domains_of

_BLOCK: Final = 1024  # places of a program
_TILE: Final = 32  # places along each side of a tile
_LEAST_TILED: Final = 5  # steps of both axes: with fewer, most of a tile stays empty
_WIDEST: Final = 8  # bytes of an item
_FAR: Final = 1 << 31  # offsets from here on have 64 bits

_HEAD: Final = "import triton\nimport triton.language as tl\n\n"


def triton_text(kernel: Kernel) -> str:
    """Return the kernels, and ``name(target, source)`` for flat tensors on one device.

    Raises:
        UnsupportedError: if a size has a name, or an item more than 8 bytes.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (64, 64)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(triton_text(Kernel(a, b, 4)).count("@triton.jit"))
    1
    """
    if kernel.names or kernel.itemsize > _WIDEST:
        raise UnsupportedError(
            f"a kernel of Triton with {', '.join(kernel.names) or f'{kernel.itemsize} bytes'}",
            f"its sizes are numbers here, and its items have up to {_WIDEST} bytes",
            "give the sizes, or target='cuda'" if kernel.names else "view the buffers as words",
        )
    name, domains = kernel.name, domains_of(kernel.source, kernel.target, fill=bool(kernel.fill))
    places = max(int(prod(known(m.physical_shape))) for m in (kernel.source, kernel.target))
    wide = places >= _FAR
    parts = list[tuple[str, int]]()
    parts += (_each(domain, (), wide, kernel.fill) for domain in domains.padding)
    if domains.elements is None:
        parts.append(_elementwise(kernel, wide))
    for domain in domains.elements or ():
        x = next((a for a in domain.axes if a.source == 1), None)
        y = next((a for a in domain.axes if a.target == 1), None)
        is_tiled = x and y and x is not y and min(known((x.count, y.count))) >= _LEAST_TILED
        parts.append(_each(domain, (x, y) if x and y and is_tiled else (), wide, None))
    text, launches = _HEAD, list[str]()
    for k, (body, programs) in enumerate((body, n) for body, n in parts if n):
        text += f"\n@triton.jit\ndef {name}_part{k}(target, source):\n{body}\n"
        launches.append(f"    {name}_part{k}[({programs},)](target, source)\n")
    about = "".join(f"    # {line}\n" for line in kernel.about.splitlines())
    return f"{text}\ndef {name}(target, source):\n{about}{''.join(launches) or '    pass'}"


def _program(wide: bool) -> str:
    return "tl.cast(tl.program_id(0), tl.int64)" if wide else "tl.program_id(0)"


def _places(count: int, wide: bool) -> tuple[str, int]:
    """Return lines that give each of a number of places to a program, and how many these are."""
    line = f"    i = {_program(wide)} * {_BLOCK} + tl.arange(0, {_BLOCK})\n"
    return f"{line}    mask = i < {count}\n", -(-count // _BLOCK)


def _each(
    domain: Domain, sides: Sequence[CopyAxis], wide: bool, fill: bytes | None
) -> tuple[str, int]:
    """Return the body that moves a domain, or fills it, and how many programs it takes."""
    axes = [(a.count, a.source, a.target) for a in domain.axes if a not in sides]
    axes.sort(key=lambda axis: -abs(known(axis)[2]))
    count = prod(known([n for n, _, _ in axes]))
    terms = [("1", domain.source, domain.target)]
    if sides:
        lines, programs = f"    i = {_program(wide)}\n", count
        for name, axis, at in zip("xy", sides, ("[None, :]", "[:, None]"), strict=True):
            blocks = -(-known((axis.count,))[0] // _TILE)
            lines += f"    {name} = i % {blocks} * {_TILE} + tl.arange(0, {_TILE}){at}\n"
            lines += f"    i = i // {blocks}\n"
            programs *= blocks
            terms.append((name, axis.source, axis.target))
        lines += f"    mask = (x < {sides[0].count}) & (y < {sides[1].count})\n"
    else:
        lines, programs = _places(count, wide)
    for k, (n, *strides) in reversed(list(enumerate(axes))):
        lines += f"    d{k} = i % {n}\n    i = i // {n}\n" if k else "    d0 = i\n"
        terms.append((f"d{k}", strides[0], strides[1]))
    target, source = (
        " + ".join(_times(name, strides[side]) for name, *strides in terms if strides[side]) or "0"
        for side in (1, 0)
    )
    return lines + _move(target, source, fill), programs


def _times(name: str, stride: Int) -> str:
    return name if stride == 1 else str(stride) if name == "1" else f"{name} * {stride}"


def _move(target: str, source: str, fill: bytes | None) -> str:
    if fill is None:
        return f"    tl.store(target + ({target}), tl.load(source + ({source}), mask), mask)\n"
    bits = int.from_bytes(fill, "little", signed=True)
    value = f"tl.full([{_BLOCK}], {bits}, tl.int{8 * len(fill)})"
    value += ".to(target.dtype.element_ty, bitcast=True)" if bits else ""
    return f"    tl.store(target + ({target}), {value}, mask)\n"


def _elementwise(kernel: Kernel, wide: bool) -> tuple[str, int]:
    """Return the body that moves each element, through both formulas, and its programs."""
    shape = known(kernel.source.shape)
    lines, programs = _places(prod(shape), wide)
    for k, n in reversed(list(enumerate(shape))):
        lines += f"    d{k} = i % {n}\n    i = i // {n}\n"
    t, s = (elementwise.formula(x, "triton", kernel) for x in (kernel.target, kernel.source))
    return f"    # {elementwise.PLAIN}\n{lines}{_move(t, s, None)}", programs
