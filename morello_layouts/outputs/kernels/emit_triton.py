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
from morello_layouts.outputs.kernels.c_loops import expression, python_argument
from morello_layouts.outputs.kernels.domains import CopyAxis, Domain, estimate
from morello_layouts.outputs.kernels.plan import Kernel, domains_of

_BLOCK: Final = 1024  # places of a program
_TILE: Final = 32  # places along each side of a tile
_LEAST_TILED: Final = 5  # steps of both axes: with fewer, most of a tile stays empty
_WIDEST: Final = 8  # bytes of an item
_FAR: Final = 1 << 31  # offsets from here on have 64 bits

_HEAD: Final = "import triton\nimport triton.language as tl\n\n"


class _Scalars:
    """Numbers in the text of a part; those that depend on sizes are its arguments.

    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> part = _Scalars()
    >>> part(3), part(2 * SizeExpr.named("N")), part.values
    ('3', 'v0', {'2 * N': 'v0'})
    """

    def __init__(self) -> None:
        """Begin without arguments."""
        self.values: dict[str, str] = {}  # what the caller computes, and its name in the part

    def __call__(self, number: Int | str) -> str:
        """Return the text of a number, or of a caller's expression."""
        if isinstance(number, int):
            return str(number)
        text = number if isinstance(number, str) else expression(number)
        return self.values.setdefault(text, f"v{len(self.values)}")


def triton_text(kernel: Kernel) -> str:
    """Return the kernels, and ``name(target, source)`` for flat tensors on one device.

    Symbolic sizes are further arguments, in the order of their names.

    Raises:
        UnsupportedError: if an item has more than 8 bytes.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, ("M", "N")).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(triton_text(Kernel(a, b, 4)).splitlines()[-2])
    def relayout(target, source, M, N):
    """
    if kernel.itemsize > _WIDEST:
        raise UnsupportedError(
            f"a kernel of Triton with {kernel.itemsize} bytes",
            f"its items have up to {_WIDEST} bytes",
            "view the buffers as words",
        )
    name, domains = kernel.name, domains_of(kernel.source, kernel.target, fill=bool(kernel.fill))
    places = [prod(m.physical_shape) for m in (kernel.source, kernel.target)]
    wide = bool(kernel.names) or max(known(places)) >= _FAR
    parts = [_each(domain, (), wide, kernel.fill) for domain in domains.padding]
    if domains.elements is None:
        parts.append(_elementwise(kernel, wide))
    for domain in domains.elements or ():
        x = next((a for a in domain.axes if a.source == 1), None)
        y = next((a for a in domain.axes if a.target == 1), None)
        is_tiled = x and y and x is not y and min(map(estimate, (x.count, y.count))) >= _LEAST_TILED
        parts.append(_each(domain, (x, y) if x and y and is_tiled else (), wide, None))
    text, launches = _HEAD, list[str]()
    for k, (body, programs, scalars) in enumerate(part for part in parts if part[1] != "0"):
        own = "".join(f", {v}" for v in scalars.values.values())
        given = "".join(f", {value}" for value in scalars.values)
        text += f"\n@triton.jit\ndef {name}_part{k}(target, source{own}):\n{body}\n"
        launches.append(f"    {name}_part{k}[({programs},)](target, source{given})\n")
    about = "".join(f"    # {line}\n" for line in kernel.about.splitlines())
    sizes = "".join(f", {python_argument(size)}" for size in kernel.names)
    return f"{text}\ndef {name}(target, source{sizes}):\n{about}{''.join(launches) or '    pass'}"


def _program(wide: bool) -> str:
    return "tl.cast(tl.program_id(0), tl.int64)" if wide else "tl.program_id(0)"


def _in_host(number: Int) -> str:
    return str(number) if isinstance(number, int) else f"({expression(number)})"


def _blocks(number: Int, size: int) -> Int | str:
    """Return how many blocks hold a number of places, or the caller's text of that."""
    if isinstance(number, int):
        return -(-number // size)
    text = _in_host(number)
    return f"-(-{text[1:-1] if text[1:-1].isidentifier() else text} // {size})"


def _product(counts: Sequence[Int | str]) -> str:
    """Return the caller's text of a product."""
    whole = prod(n for n in counts if isinstance(n, int))
    rest = [
        f"({n})" if isinstance(n, str) else _in_host(n) for n in counts if not isinstance(n, int)
    ]
    return " * ".join([*rest, *[str(whole)] * (whole != 1 or not rest)]) if whole else "0"


def _places(count: Int, wide: bool, text: _Scalars) -> str:
    """Return lines that give each of a number of places to a program."""
    line = f"    i = {_program(wide)} * {_BLOCK} + tl.arange(0, {_BLOCK})\n"
    return f"{line}    mask = i < {text(count)}\n"


def _each(
    domain: Domain, sides: Sequence[CopyAxis], wide: bool, fill: bytes | None
) -> tuple[str, str, _Scalars]:
    """Return the body that moves a domain, or fills it, how many programs, and its arguments."""
    text = _Scalars()
    axes = [(a.count, a.source, a.target) for a in domain.axes if a not in sides]
    axes.sort(key=lambda axis: -abs(estimate(axis[2])))
    count = prod(n for n, _, _ in axes)
    terms: list[tuple[str, Int, Int]] = [("1", domain.source, domain.target)]
    if sides:
        lines, programs = f"    i = {_program(wide)}\n", list[Int | str]()
        for name, axis, at in zip("xy", sides, ("[None, :]", "[:, None]"), strict=True):
            blocks = _blocks(axis.count, _TILE)
            lines += f"    {name} = i % {text(blocks)} * {_TILE} + tl.arange(0, {_TILE}){at}\n"
            lines += f"    i = i // {text(blocks)}\n"
            programs.append(blocks)
            terms.append((name, axis.source, axis.target))
        lines += f"    mask = (x < {text(sides[0].count)}) & (y < {text(sides[1].count)})\n"
        programs.append(count)
    else:
        lines, programs = _places(count, wide, text), [_blocks(count, _BLOCK)]
    for k, (n, *strides) in reversed(list(enumerate(axes))):
        lines += f"    d{k} = i % {text(n)}\n    i = i // {text(n)}\n" if k else "    d0 = i\n"
        terms.append((f"d{k}", strides[0], strides[1]))

    def place(side: int) -> str:
        used = [(name, strides[side]) for name, *strides in terms if strides[side] != 0]
        return " + ".join(_times(name, n, text) for name, n in used) or "0"

    return lines + _move(place(1), place(0), fill), _product(programs), text


def _times(name: str, stride: Int, text: _Scalars) -> str:
    return name if stride == 1 else text(stride) if name == "1" else f"{name} * {text(stride)}"


def _move(target: str, source: str, fill: bytes | None) -> str:
    if fill is None:
        return f"    tl.store(target + ({target}), tl.load(source + ({source}), mask), mask)\n"
    bits = int.from_bytes(fill, "little", signed=True)
    value = f"tl.full([{_BLOCK}], {bits}, tl.int{8 * len(fill)})"
    value += ".to(target.dtype.element_ty, bitcast=True)" if bits else ""
    return f"    tl.store(target + ({target}), {value}, mask)\n"


def _elementwise(kernel: Kernel, wide: bool) -> tuple[str, str, _Scalars]:
    """Return the same of the body that moves each element, through both formulas."""
    text, shape = _Scalars(), kernel.source.shape
    lines, programs = _places(prod(shape), wide, text), [_blocks(prod(shape), _BLOCK)]
    for k, n in reversed(list(enumerate(shape))):
        lines += f"    d{k} = i % {text(n)}\n    i = i // {text(n)}\n"
    t, s = (elementwise.formula(x, "triton", kernel, lambda n: text(python_argument(n)))
           for x in (kernel.target, kernel.source))  # fmt: skip
    return f"    # {elementwise.PLAIN}\n{lines}{_move(t, s, None)}", _product(programs), text
