"""Relayout kernels in CUDA: a kernel for each box, through shared memory where it transposes.

Threads move the widest words that divide every address of their box, at most 16 bytes.
"""

from __future__ import annotations

from math import prod

from morello_layouts.codegen.kernel.boxes import Axis, Box
from morello_layouts.codegen.kernel.moves import Kernel, boxes_of
from morello_layouts.codegen.kernel.text import Text, offset_text
from morello_layouts.errors import UnsupportedError
from morello_layouts.expr.size import Number
from morello_layouts.recipe import Recipe, known

__all__ = ["cuda_text"]

_TYPES = {
    1: "unsigned char",
    2: "unsigned short",
    4: "unsigned int",
    8: "unsigned long long",
    16: "uint4",
}
_TILE = 32
_THREADS = 256

_HEAD = """\
#include <cuda_runtime.h>
#include <string.h>

typedef unsigned long long relayout_index;
"""


def cuda_text(kernel: Kernel) -> str:
    """The kernels, and ``cudaError_t name(void *target, const void *source, cudaStream_t)``.

    Buffers start at multiples of 16 bytes.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (64, 64)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(cuda_text(Kernel(a, b, 4)).count("__global__"))
    1
    """
    source, target, name = kernel.source, kernel.target, kernel.name
    itemsize, fill = kernel.itemsize, kernel.fill
    if kernel.names:
        raise UnsupportedError(
            f"no CUDA is written for symbolic sizes: {', '.join(kernel.names)}",
            "blocks and digits are constants of these kernels",
            "give the sizes, or take the kernel in C or Python",
        )
    elements, padding = boxes_of(source, target)
    kernels: list[tuple[str, str, int, str]] = []  # name, text, blocks, shape of a block
    if fill is not None:
        for k, box in enumerate(padding):
            kernels.append(_fill(f"{name}_fill{k}", box, itemsize, fill))
    if elements is None:
        kernels.append(_apart(f"{name}_moves", source, target, itemsize))
    for k, box in enumerate(elements or ()):
        kernels.append(_move(f"{name}_box{k}", _in_words(box, itemsize)))
    kernels = [found for found in kernels if found[2]]
    comment_lines = "".join(f" * {line}\n" for line in kernel.comment.splitlines()).replace(
        "*/", "* /"
    )
    launches = "".join(
        f"    {called}<<<{blocks}u, {threads}, 0, stream>>>(\n"
        "        (unsigned char *)target, (const unsigned char *)source);\n"
        for called, _, blocks, threads in kernels
    )
    return (
        f"{_HEAD}\n"
        + "\n".join(text for _, text, *_ in kernels)
        + f"\n/*\n{comment_lines} * Both buffers are on the device and start at multiples of 16.\n"
        f' */\nextern "C" cudaError_t {name}(\n'
        "    void *target, const void *source, cudaStream_t stream)\n{\n"
        f"    (void)target, (void)source, (void)stream;\n{launches}"
        "    return cudaGetLastError();\n}\n"
    )


def _in_words(box: Box, itemsize: int) -> tuple[int, Box]:
    """A box in bytes, and the size of the widest words that it can be moved in."""
    axes = [Axis(a.count, a.source * itemsize, a.target * itemsize) for a in box.axes]
    start, end = box.source * itemsize, box.target * itemsize
    run = itemsize
    while axis := next((a for a in axes if a.source == a.target == run), None):
        axes.remove(axis)
        run *= _int(axis.count)
    word = 16
    while any(
        x % word for x in (run, start, end, *(s for a in axes for s in (a.source, a.target)))
    ):
        word //= 2
    if run > word:
        axes.append(Axis(run // word, word, word))
    return word, Box(start, end, tuple(axes))


def _int(number: Number) -> int:
    (found,) = known((number,))
    return found


def _signature(name: str) -> str:
    return (
        f"__global__ void {name}(\n"
        "    unsigned char *__restrict__ t, const unsigned char *__restrict__ s)\n{\n"
    )


def _digits(axes: list[Axis], index: str) -> str:
    """Lines that move ``t`` and ``s`` by the digits of an index, the last axis the fastest."""
    lines = ""
    for k, axis in reversed(list(enumerate(axes))):
        digit = f"{index} % {axis.count}u" if k else index
        lines += f"    t += ({digit}) * {axis.target}u, s += ({digit}) * {axis.source}u;\n"
        if k:
            lines += f"    {index} /= {axis.count}u;\n"
    return lines


def _move(name: str, words: tuple[int, Box]) -> tuple[str, str, int, str]:
    word, box = words
    x = next((a for a in box.axes if a.source == word), None)
    y = next((a for a in box.axes if a.target == word), None)
    if x is not None and y is not None and x is not y and min(_int(x.count), _int(y.count)) > 4:
        return _transpose(name, word, box, x, y)
    count = prod(_int(a.count) for a in box.axes)
    text = (
        _signature(name)
        + f"    relayout_index i = (relayout_index)blockIdx.x * {_THREADS} + threadIdx.x;\n"
        f"    if (i >= {count}u) return;\n"
        f"    t += {box.target}u, s += {box.source}u;\n"
        + _digits(sorted(box.axes, key=lambda a: -_int(a.target)), "i")
        + f"    *({_TYPES[word]} *)t = *(const {_TYPES[word]} *)s;\n}}\n"
    )
    return name, text, -(-count // _THREADS), str(_THREADS)


def _transpose(name: str, word: int, box: Box, x: Axis, y: Axis) -> tuple[str, str, int, str]:
    """Tiles of 32 by 32 words: read along the source, written along the target."""
    rest = sorted((a for a in box.axes if a is not x and a is not y), key=lambda a: -_int(a.target))
    wide, high = (-(-_int(axis.count) // _TILE) for axis in (x, y))
    kind, blocks = _TYPES[word], wide * high * prod(_int(a.count) for a in rest)
    text = (
        _signature(name) + f"    __shared__ {kind} tile[{_TILE}][{_TILE + 1}];\n"
        "    relayout_index i = blockIdx.x;\n"
        f"    t += {box.target}u, s += {box.source}u;\n"
        f"    const relayout_index x0 = i % {wide}u * {_TILE}; i /= {wide}u;\n"
        f"    const relayout_index y0 = i % {high}u * {_TILE}; i /= {high}u;\n"
        + (_digits(rest, "i") if rest else "    (void)i;\n")
        + f"    for (unsigned r = threadIdx.y; r < {_TILE}; r += 8)\n"
        f"        if (x0 + threadIdx.x < {x.count}u && y0 + r < {y.count}u)\n"
        f"            tile[r][threadIdx.x] = *(const {kind} *)(\n"
        f"                s + (x0 + threadIdx.x) * {word}u + (y0 + r) * {y.source}u);\n"
        "    __syncthreads();\n"
        f"    for (unsigned r = threadIdx.y; r < {_TILE}; r += 8)\n"
        f"        if (y0 + threadIdx.x < {y.count}u && x0 + r < {x.count}u)\n"
        f"            *({kind} *)(t + (y0 + threadIdx.x) * {word}u + (x0 + r) * {x.target}u) =\n"
        "                tile[threadIdx.x][r];\n}\n"
    )
    return name, text, blocks, f"dim3({_TILE}, 8)"


def _fill(name: str, box: Box, itemsize: int, fill: bytes) -> tuple[str, str, int, str]:
    values = ", ".join(map(str, fill))
    text = (
        _signature(name) + f"    const unsigned char fill[{itemsize}] = {{{values}}};\n"
        f"    relayout_index i = (relayout_index)blockIdx.x * {_THREADS} + threadIdx.x;\n"
        f"    if (i >= {box.size}u) return;\n"
        f"    t += {box.target * itemsize}u;\n"
        + _digits([Axis(a.count, 0, a.target * itemsize) for a in box.axes], "i")
        + f"    (void)s;\n    for (int k = 0; k < {itemsize}; k++) t[k] = fill[k];\n}}\n"
    )
    return name, text, -(-_int(box.size) // _THREADS), str(_THREADS)


def _apart(name: str, source: Recipe, target: Recipe, itemsize: int) -> tuple[str, str, int, str]:
    shape = known(source.shape)
    at = [Text(f"d{k}") for k in range(len(shape))]
    lines = ""
    for k, n in reversed(list(enumerate(shape))):
        lines += f"    const relayout_index d{k} = i % {n}u; i /= {n}u;\n"
    text = (
        _signature(name)
        + f"    relayout_index i = (relayout_index)blockIdx.x * {_THREADS} + threadIdx.x;\n"
        f"    if (i >= {prod(shape)}u) return;\n{lines}"
        f"    t += {itemsize} * ({offset_text(target, at)});\n"
        f"    s += {itemsize} * ({offset_text(source, at)});\n"
        f"    for (int k = 0; k < {itemsize}; k++) t[k] = s[k];\n}}\n"
    )
    return name, text, -(-prod(shape) // _THREADS), str(_THREADS)
