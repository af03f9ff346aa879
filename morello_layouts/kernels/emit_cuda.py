"""Relayout kernels in CUDA: a kernel for each box, through shared memory where it transposes.

Threads move the widest words that divide every address of their box, at most 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.c_loops import Text, Values, argument, offset_text
from morello_layouts.kernels.domains import Axis, Box, estimate, quotient, upper
from morello_layouts.kernels.moves import Kernel, boxes_of
from morello_layouts.recipe import Recipe, known

_TYPES = {
    1: "unsigned char",
    2: "unsigned short",
    4: "unsigned int",
    8: "unsigned long long",
    16: "uint4",
}
_Say: TypeAlias = Callable[[Int], str]
_TILE = 32
_THREADS = 256

_HEAD = """\
#include <cuda_runtime.h>
#include <string.h>

typedef unsigned long long relayout_index;
"""


@dataclass(frozen=True, slots=True)
class _Launch:
    """A kernel: its name and text, how many blocks of threads run it, the shape of a block."""

    name: str
    text: str
    blocks: Int
    threads: str


def cuda_text(kernel: Kernel) -> str:
    """The kernels, and ``cudaError_t name(void *target, const void *source, cudaStream_t)``.

    Symbolic sizes come before the stream, ``size_t`` in the order of their names. Buffers start at
    multiples of 16 bytes.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (64, 64)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(cuda_text(Kernel(a, b, 4)).count("__global__"))
    1
    """
    source, target, name = kernel.source, kernel.target, kernel.name
    itemsize, fill, names = kernel.itemsize, kernel.fill, kernel.names
    elements, padding = boxes_of(source, target)
    launches: list[_Launch] = []
    if fill is not None:
        for k, box in enumerate(padding):
            launches.append(_fill(f"{name}_fill{k}", names, box, fill))
    if elements is None:
        launches.append(_apart(f"{name}_moves", source, target, itemsize))
    for k, box in enumerate(elements or ()):
        launches.append(_move(f"{name}_box{k}", names, _in_words(box, itemsize)))
    launches = [found for found in launches if found.blocks != 0]
    say = Values()
    said = "\n".join([kernel.comment, *map(str, kernel.assumptions)]).strip()
    comment = "".join(f" * {line}\n" for line in said.splitlines()).replace("*/", "* /")
    calls = "".join(_call(launch, names, say) for launch in launches)
    sizes = "".join(f"size_t {argument(size)}, " for size in names)
    unused = ", ".join(f"(void){word}" for word in ["target", "source", *map(argument, names)])
    return (
        f"{_HEAD}\n"
        + "\n".join(launch.text for launch in launches)
        + f"\n/*\n{comment} * Both buffers are on the device and start at multiples of 16.\n"
        f' */\nextern "C" cudaError_t {name}(\n'
        f"    void *target, const void *source, {sizes}cudaStream_t stream)\n{{\n"
        f"    {unused}, (void)stream;\n{_lines(say)}{calls}"
        "    return cudaGetLastError();\n}\n"
    )


def _call(launch: _Launch, names: Sequence[str], say: Values) -> str:
    """The launch of a kernel; where only the call knows how many blocks, there may be none."""
    given = "".join(f", {argument(size)}" for size in names)
    blocks, test, indent = f"{launch.blocks}u", "", "    "
    if not isinstance(launch.blocks, int):
        count = say(launch.blocks)
        blocks, test, indent = f"(unsigned){count}", f"    if ({count})\n", "        "
    return (
        f"{test}{indent}{launch.name}<<<{blocks}, {launch.threads}, 0, stream>>>(\n"
        f"{indent}    (unsigned char *)target, (const unsigned char *)source{given});\n"
    )


def _in_words(box: Box, itemsize: int) -> tuple[int, Box]:
    """A box in bytes, and the size of the widest words that it can be moved in."""
    axes = [Axis(a.count, a.source * itemsize, a.target * itemsize) for a in box.axes]
    start, end = box.source * itemsize, box.target * itemsize
    run: Int = itemsize
    while axis := next((a for a in axes if a.source == a.target == run), None):
        axes.remove(axis)
        run *= axis.count
    word = 16
    numbers = (run, start, end, *(s for a in axes for s in (a.source, a.target)))
    while any(x % word != 0 for x in numbers):
        word //= 2
    if run != word:
        axes.append(Axis(run // word, word, word))
    return word, Box(start, end, tuple(axes))


def _text(name: str, names: Sequence[str], say: Values, body: str) -> str:
    """A kernel of a body, with the numbers that it takes from the sizes."""
    sizes = "".join(f", size_t {argument(size)}" for size in names)
    unused = ", ".join(f"(void){argument(size)}" for size in names)
    return (
        f"__global__ void {name}(\n"
        f"    unsigned char *__restrict__ t, const unsigned char *__restrict__ s{sizes})\n{{\n"
        + (f"    {unused};\n" if names else "")
        + f"{_lines(say)}{body}}}\n"
    )


def _lines(say: Values) -> str:
    return "".join(f"    {line}\n" for line in say.lines)


def _digits(axes: Sequence[Axis], index: str, say: _Say) -> str:
    """Lines that move ``t`` and ``s`` by the digits of an index, the last axis the fastest."""
    lines = ""
    for k, axis in reversed(list(enumerate(axes))):
        digit = f"{index} % {say(axis.count)}" if k else index
        lines += f"    t += ({digit}) * {say(axis.target)}, s += ({digit}) * {say(axis.source)};\n"
        if k:
            lines += f"    {index} /= {say(axis.count)};\n"
    return lines


def _by_target(axis: Axis) -> int:
    return -estimate(axis.target)


def _steps(axis: Axis) -> int:
    """Steps of an axis, as far as is known."""
    most = upper(axis.count)
    return estimate(axis.count) if most is None else most


def _move(name: str, names: Sequence[str], words: tuple[int, Box]) -> _Launch:
    word, box = words
    x = next((a for a in box.axes if a.source == word), None)
    y = next((a for a in box.axes if a.target == word), None)
    if x is not None and y is not None and x is not y and min(_steps(x), _steps(y)) > 4:
        return _transpose(name, names, words, x, y)
    values = Values()
    say = _unsigned(values)
    body = (
        f"    relayout_index i = (relayout_index)blockIdx.x * {_THREADS} + threadIdx.x;\n"
        f"    if (i >= {say(box.size)}) return;\n"
        f"    t += {say(box.target)}, s += {say(box.source)};\n"
        + _digits(sorted(box.axes, key=_by_target), "i", say)
        + f"    *({_TYPES[word]} *)t = *(const {_TYPES[word]} *)s;\n"
    )
    return _Launch(name, _text(name, names, values, body), _blocks(box.size), str(_THREADS))


def _blocks(size: Int) -> Int:
    return quotient(size + (_THREADS - 1), _THREADS)


def _unsigned(values: Values) -> _Say:
    """What says a number as an unsigned one of the kernel."""
    return lambda number: f"{number}u" if isinstance(number, int) else values(number)


def _transpose(
    name: str, names: Sequence[str], words: tuple[int, Box], x: Axis, y: Axis
) -> _Launch:
    """Tiles of 32 by 32 words: read along the source, written along the target."""
    word, box = words
    rest = sorted((a for a in box.axes if a is not x and a is not y), key=_by_target)
    wide, high = (quotient(axis.count + (_TILE - 1), _TILE) for axis in (x, y))
    values = Values()
    say = _unsigned(values)
    kind, blocks = _TYPES[word], wide * high * prod(a.count for a in rest)
    body = (
        f"    __shared__ {kind} tile[{_TILE}][{_TILE + 1}];\n"
        "    relayout_index i = blockIdx.x;\n"
        f"    t += {say(box.target)}, s += {say(box.source)};\n"
        f"    const relayout_index x0 = i % {say(wide)} * {_TILE}; i /= {say(wide)};\n"
        f"    const relayout_index y0 = i % {say(high)} * {_TILE}; i /= {say(high)};\n"
        + (_digits(rest, "i", say) if rest else "    (void)i;\n")
        + f"    for (unsigned r = threadIdx.y; r < {_TILE}; r += 8)\n"
        f"        if (x0 + threadIdx.x < {say(x.count)} && y0 + r < {say(y.count)})\n"
        f"            tile[r][threadIdx.x] = *(const {kind} *)(\n"
        f"                s + (x0 + threadIdx.x) * {word}u + (y0 + r) * {say(y.source)});\n"
        "    __syncthreads();\n"
        f"    for (unsigned r = threadIdx.y; r < {_TILE}; r += 8)\n"
        f"        if (y0 + threadIdx.x < {say(y.count)} && x0 + r < {say(x.count)})\n"
        f"            *({kind} *)(\n"
        f"                t + (y0 + threadIdx.x) * {word}u + (x0 + r) * {say(x.target)}) =\n"
        "                tile[threadIdx.x][r];\n"
    )
    return _Launch(name, _text(name, names, values, body), blocks, f"dim3({_TILE}, 8)")


def _fill(name: str, names: Sequence[str], box: Box, fill: bytes) -> _Launch:
    told, itemsize = ", ".join(map(str, fill)), len(fill)
    values = Values()
    say = _unsigned(values)
    body = (
        f"    const unsigned char fill[{itemsize}] = {{{told}}};\n"
        f"    relayout_index i = (relayout_index)blockIdx.x * {_THREADS} + threadIdx.x;\n"
        f"    if (i >= {say(box.size)}) return;\n"
        f"    t += {say(box.target * itemsize)};\n"
        + _digits([Axis(a.count, 0, a.target * itemsize) for a in box.axes], "i", say)
        + f"    (void)s;\n    for (int k = 0; k < {itemsize}; k++) t[k] = fill[k];\n"
    )
    return _Launch(name, _text(name, names, values, body), _blocks(box.size), str(_THREADS))


def _apart(name: str, source: Recipe, target: Recipe, itemsize: int) -> _Launch:
    shape = known(source.shape)
    at = [Text(f"d{k}") for k in range(len(shape))]
    lines = ""
    for k, n in reversed(list(enumerate(shape))):
        lines += f"    const relayout_index d{k} = i % {n}u; i /= {n}u;\n"
    body = (
        f"    relayout_index i = (relayout_index)blockIdx.x * {_THREADS} + threadIdx.x;\n"
        f"    if (i >= {prod(shape)}u) return;\n{lines}"
        f"    t += {itemsize} * ({offset_text(target, at)});\n"
        f"    s += {itemsize} * ({offset_text(source, at)});\n"
        f"    for (int k = 0; k < {itemsize}; k++) t[k] = s[k];\n"
    )
    return _Launch(name, _text(name, (), Values(), body), _blocks(prod(shape)), str(_THREADS))
