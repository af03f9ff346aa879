"""Emit a relayout kernel as CUDA: one kernel for each domain, transposed through shared memory.

Threads move the widest words that divide every address of their domain, at most 16 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Final

from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.outputs.kernels import elementwise
from morello_layouts.outputs.kernels.c_loops import Hoisted, argument
from morello_layouts.outputs.kernels.c_vectors import Hoist
from morello_layouts.outputs.kernels.domains import (
    CopyAxis,
    Domain,
    estimate,
    floor_quotient,
    upper_bound,
)
from morello_layouts.outputs.kernels.plan import Kernel, domains_of
from morello_layouts.outputs.kernels.vectorize import axes_in_bytes

_TYPES: Final = {
    1: "unsigned char",
    2: "unsigned short",
    4: "unsigned int",
    8: "unsigned long long",
    16: "uint4",
}
_TILE: Final = 32  # words along each side, one for each thread of a warp
_THREADS: Final = 256  # of a block
_LEAST_TRANSPOSED: Final = 5  # steps of both axes: with fewer, most of a tile stays empty

_HEAD = """\
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

typedef unsigned long long relayout_index;
"""


@frozen
class _Launch:
    """A kernel with its name and text, the number of blocks that run it, and a block's shape."""

    name: str
    text: str
    blocks: Int
    threads: str


def cuda_text(kernel: Kernel) -> str:
    """Return the kernels, and ``cudaError_t name(void *target, const void *source, cudaStream_t)``.

    Symbolic sizes come before the stream, ``size_t`` in the order of their names. Buffers start at
    multiples of 16 bytes.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (64, 64)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(cuda_text(Kernel(a, b, 4)).count("__global__"))
    1
    """
    name, names, itemsize = kernel.name, kernel.names, kernel.itemsize
    domains = domains_of(kernel.source, kernel.target, fill=kernel.fill is not None)
    launches: list[_Launch] = []
    for k, domain in enumerate(domains.padding):
        launches.append(_fill(f"{name}_fill{k}", names, domain, kernel.fill or b""))
    if domains.elements is None:
        launches.append(_elementwise(f"{name}_moves", kernel))
    for k, domain in enumerate(domains.elements or ()):
        launches.append(_move(f"{name}_box{k}", names, _in_words(domain, itemsize)))
    launches = [found for found in launches if found.blocks != 0]
    hoist = Hoisted()
    comment = "".join(f" * {line}\n" for line in kernel.about.splitlines()).replace("*/", "* /")
    calls = "".join(_call(launch, names, hoist) for launch in launches)
    sizes = "".join(f"size_t {argument(size)}, " for size in names)
    unused = ", ".join(f"(void){word}" for word in ["target", "source", *map(argument, names)])
    return (
        f"{_HEAD}\n"
        + "\n".join(launch.text for launch in launches)
        + f"\n/*\n{comment} * Both buffers are on the device and start at multiples of 16.\n"
        f' */\nextern "C" cudaError_t {name}(\n'
        f"    void *target, const void *source, {sizes}cudaStream_t stream)\n{{\n"
        f"    {unused}, (void)stream;\n{_lines(hoist)}{calls}"
        "    return cudaGetLastError();\n}\n"
    )


def _call(launch: _Launch, names: Sequence[str], hoist: Hoisted) -> str:
    """Return the launch of a kernel; a number of blocks known only at run time may be 0."""
    sizes = "".join(f", {argument(size)}" for size in names)
    blocks, test, indent = f"{launch.blocks}u", "", "    "
    if not isinstance(launch.blocks, int):
        count = hoist(launch.blocks)
        blocks, test, indent = f"(unsigned){count}", f"    if ({count})\n", "        "
    return (
        f"{test}{indent}{launch.name}<<<{blocks}, {launch.threads}, 0, stream>>>(\n"
        f"{indent}    (unsigned char *)target, (const unsigned char *)source{sizes});\n"
    )


def _in_words(domain: Domain, itemsize: int) -> tuple[int, Domain]:
    """Return the bytes of the widest words that move a domain, and the domain in bytes."""
    axes = axes_in_bytes(domain, itemsize)
    start, end = domain.source * itemsize, domain.target * itemsize
    run: Int = itemsize
    while axis := next((a for a in axes if a.source == a.target == run), None):
        axes.remove(axis)
        run *= axis.count
    word = 16
    numbers = (run, start, end, *(s for a in axes for s in (a.source, a.target)))
    while any(x % word != 0 for x in numbers):
        word //= 2
    if run != word:
        axes.append(CopyAxis(run // word, word, word))
    return word, Domain(start, end, tuple(axes))


def _text(name: str, names: Sequence[str], hoist: Hoisted, body: str) -> str:
    """Return a kernel of a body, with the scalars that depend on sizes."""
    sizes = "".join(f", size_t {argument(size)}" for size in names)
    unused = ", ".join(f"(void){argument(size)}" for size in names)
    return (
        f"__global__ void {name}(\n"
        f"    unsigned char *__restrict__ t, const unsigned char *__restrict__ s{sizes})\n{{\n"
        + (f"    {unused};\n" if names else "")
        + f"{_lines(hoist)}{body}}}\n"
    )


def _lines(hoist: Hoisted) -> str:
    return "".join(f"    {line}\n" for line in hoist.lines)


def _unsigned(hoisted: Hoisted) -> Hoist:
    """Return a function that writes numbers as unsigned ones."""
    return lambda number: f"{number}u" if isinstance(number, int) else hoisted(number)


def _digits(axes: Sequence[CopyAxis], index: str, hoist: Hoist) -> str:
    """Return lines that move ``t`` and ``s`` by the digits of an index, the last axis fastest."""
    lines = ""
    for k, axis in reversed(list(enumerate(axes))):
        digit = f"{index} % {hoist(axis.count)}" if k else index
        backwards = is_nonnegative(-axis.source)
        target, source = hoist(axis.target), hoist(-axis.source if backwards else axis.source)
        lines += f"    t += ({digit}) * {target}, s {'-+'[not backwards]}= ({digit}) * {source};\n"
        if k:
            lines += f"    {index} /= {hoist(axis.count)};\n"
    return lines


def _by_target(axis: CopyAxis) -> int:
    return -estimate(axis.target)


def _blocks(size: Int, per_block: int) -> Int:
    return floor_quotient(size + (per_block - 1), per_block)


def _thread_each(
    name: str, names: Sequence[str], size: Int, write: Callable[[Hoist], str]
) -> _Launch:
    """Return a kernel with a thread for each place ``i`` of a size."""
    hoisted = Hoisted()
    hoist = _unsigned(hoisted)
    body = (
        f"    relayout_index i = (relayout_index)blockIdx.x * {_THREADS} + threadIdx.x;\n"
        f"    if (i >= {hoist(size)}) return;\n{write(hoist)}"
    )
    blocks = _blocks(size, _THREADS)
    return _Launch(name, _text(name, names, hoisted, body), blocks, str(_THREADS))


def _move(name: str, names: Sequence[str], words: tuple[int, Domain]) -> _Launch:
    word, domain = words
    x = next((a for a in domain.axes if a.source == word), None)
    y = next((a for a in domain.axes if a.target == word), None)
    if x is not None and y is not None and x is not y:
        ends = [(upper_bound(a.count), estimate(a.count)) for a in (x, y)]
        if min(guess if most is None else most for most, guess in ends) >= _LEAST_TRANSPOSED:
            return _transpose(name, names, words, x, y)

    def write(hoist: Hoist) -> str:
        return (
            f"    t += {hoist(domain.target)}, s += {hoist(domain.source)};\n"
            + _digits(sorted(domain.axes, key=_by_target), "i", hoist)
            + f"    *({_TYPES[word]} *)t = *(const {_TYPES[word]} *)s;\n"
        )

    return _thread_each(name, names, domain.size, write)


def _transpose(
    name: str, names: Sequence[str], words: tuple[int, Domain], x: CopyAxis, y: CopyAxis
) -> _Launch:
    """Return a kernel that reads tiles of words along the source, and writes along the target."""
    word, domain = words
    rest = sorted((a for a in domain.axes if a is not x and a is not y), key=_by_target)
    wide, high = (_blocks(axis.count, _TILE) for axis in (x, y))
    hoisted = Hoisted()
    hoist = _unsigned(hoisted)
    kind, blocks = _TYPES[word], wide * high * prod(a.count for a in rest)
    body = (
        f"    __shared__ {kind} tile[{_TILE}][{_TILE + 1}];\n"
        "    relayout_index i = blockIdx.x;\n"
        f"    t += {hoist(domain.target)}, s += {hoist(domain.source)};\n"
        f"    const relayout_index x0 = i % {hoist(wide)} * {_TILE}; i /= {hoist(wide)};\n"
        f"    const relayout_index y0 = i % {hoist(high)} * {_TILE}; i /= {hoist(high)};\n"
        + (_digits(rest, "i", hoist) if rest else "    (void)i;\n")
        + f"    for (unsigned r = threadIdx.y; r < {_TILE}; r += 8)\n"
        f"        if (x0 + threadIdx.x < {hoist(x.count)} && y0 + r < {hoist(y.count)})\n"
        f"            tile[r][threadIdx.x] = *(const {kind} *)(\n"
        f"                s + (x0 + threadIdx.x) * {word}u + (y0 + r) * {hoist(y.source)});\n"
        "    __syncthreads();\n"
        f"    for (unsigned r = threadIdx.y; r < {_TILE}; r += 8)\n"
        f"        if (y0 + threadIdx.x < {hoist(y.count)} && x0 + r < {hoist(x.count)})\n"
        f"            *({kind} *)(\n"
        f"                t + (y0 + threadIdx.x) * {word}u + (x0 + r) * {hoist(x.target)}) =\n"
        "                tile[threadIdx.x][r];\n"
    )
    return _Launch(name, _text(name, names, hoisted, body), blocks, f"dim3({_TILE}, 8)")


def _fill(name: str, names: Sequence[str], domain: Domain, fill: bytes) -> _Launch:
    itemsize = len(fill)
    axes = [CopyAxis(a.count, 0, a.target) for a in axes_in_bytes(domain, itemsize)]

    def write(hoist: Hoist) -> str:
        return (
            f"    const unsigned char fill[{itemsize}] = {{{', '.join(map(str, fill))}}};\n"
            f"    t += {hoist(domain.target * itemsize)};\n"
            + _digits(axes, "i", hoist)
            + f"    (void)s;\n    for (int k = 0; k < {itemsize}; k++) t[k] = fill[k];\n"
        )

    return _thread_each(name, names, domain.size, write)


def _elementwise(name: str, kernel: Kernel) -> _Launch:
    """Return a kernel with a thread for each element, which goes through both formulas."""
    shape = kernel.source.shape

    def write(hoist: Hoist) -> str:
        t, s = (elementwise.formula(x, "cuda", kernel) for x in (kernel.target, kernel.source))
        used, lines = set(re.findall(r"\w+", f"{t} {s}")), f"    /* {elementwise.PLAIN} */\n"
        for k, n in reversed(list(enumerate(shape))):
            if f"d{k}" in used:
                lines += f"    const relayout_index d{k} = i % {hoist(n)};\n"
            lines += f"    i /= {hoist(n)};\n"
        return (
            f"{lines}    t += {t};\n    s += {s};\n"
            f"    for (int k = 0; k < {kernel.itemsize}; k++) t[k] = s[k];\n"
        )

    return _thread_each(name, kernel.names, prod(shape), write)
