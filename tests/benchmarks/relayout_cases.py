"""The relayouts that are measured, and who does them: kernels, oneDNN, torch, HPTT and NumPy."""

from __future__ import annotations

import ctypes
import operator
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import morello_layouts as ml
from morello_layouts.core.recipe import Recipe
from morello_layouts.outputs.kernels.build import compiler, load
from morello_layouts.outputs.kernels.domains import CopyAxis
from morello_layouts.outputs.kernels.plan import domains_of
from morello_layouts.outputs.kernels.vectorize import fuse_axes

Move = Callable[[], object]


Pair = tuple[ml.IndexMap, ml.IndexMap]


class Row(NamedTuple):
    """A case: its family and name, the bytes of an element, and both layouts."""

    family: str
    name: str
    itemsize: int
    make: Callable[[], Pair]
    tags: tuple[str, str] | None = None  #: of oneDNN, which reorders its own formats.
    at: tuple[int, int] | None = None  #: sizes at which a transposition for all sizes runs, too.


def pair(source: str, target: str, *shape: int) -> Callable[[], Pair]:
    return lambda: (ml.index_map(source, shape), ml.index_map(target, shape))


def _of(
    family: str, kind: str, texts: tuple[str, str], shape: tuple[int, ...], itemsize: int
) -> Row:
    name = f"{kind} {'x'.join(map(str, shape))}"
    at = (shape[0], shape[1]) if family == EVEN and itemsize > 1 else None
    return Row(family, name, itemsize, pair(*texts, *shape), at=at)


def _cases() -> Iterator[Row]:
    """The cases of the page, family by family; sizes from 4 KiB to 256 MiB."""
    for bits, shapes in (
        (8, ((512, 512), (2048, 2048), (4096, 4096), (8192, 8192))),
        (16, ((256, 512), (1024, 2048), (2048, 4096), (4096, 8192))),
        (32, ((64, 64), (256, 256), (1024, 1024), (2048, 2048), (4096, 4096), (8192, 8192))),
        (64, ((128, 256), (512, 1024), (1024, 2048), (2048, 4096))),
    ):
        for shape in shapes:
            yield _of(EVEN, f"{bits} bits", ("[0, 1]", "[1, 0]"), shape, bits // 8)
    for bits, shape in (
        (8, (4001, 3999)),
        (16, (2001, 1999)),
        (32, (2001, 1999)),
        (64, (1001, 999)),
        (32, (1000, 1000)),
        (16, (3000, 2000)),
    ):
        yield _of(RAGGED, f"{bits} bits", ("[0, 1]", "[1, 0]"), shape, bits // 8)
    for bits in (32, 16):
        shape = (64, 128, 128)
        yield _of(BATCHES, f"{bits} bits", ("[0, 1, 2]", "[0, 2, 1]"), shape, bits // 8)
    heads = (8, 512, 16, 64), (8, 512, 12, 64)
    for order, shape, bits in (
        ("BHSD", *heads[:1], 16),
        ("BHSD", heads[1], 32),
        ("BHDS", heads[0], 16),
    ):
        target = "[0, 2, 1, 3]" if order == "BHSD" else "[0, 2, 3, 1]"
        name = f"{bits} bits BSHD → {order}"
        yield _of(BATCHES, name, ("[0, 1, 2, 3]", target), shape, bits // 8)
    for bits in (32, 16):
        for n, c, side in ((8, 3, 224), (16, 17, 64), (16, 255, 28)):
            for both in (("NCHW", "NHWC"), ("NHWC", "NCHW")):
                name = f"{bits} bits {' → '.join(both)}"
                yield _of(IMAGES, name, both, (n, c, side, side), bits // 8)
    rows, t81, t82, t84 = "{1,0}", "{1,0:T(8,128)}", "{1,0:T(8,128)(2,1)}", "{1,0:T(8,128)(4,1)}"
    t3 = "{2,1,0:T(8,128)(2,1)}"
    for name, source, target, shape, size in (
        ("f32 → T(1,128)", rows, "{1,0:T(1,128)}", (1, 1000), 4),
        ("bf16 → T(8,128)(2,1)", rows, t82, (3999, 4003), 2),
        ("bf16 T(8,128)(2,1) →", t82, rows, (3999, 4003), 2),
        ("f32 T(8,128) → {0,1}T(8,128)", t81, "{0,1:T(8,128)}", (2048, 2048), 4),
        ("f32 → {1,3,2,0}", "{3,2,1,0}", "{1,3,2,0}", (33, 57, 65, 31), 4),
        ("bf16 → {0,2,1:T(8,128)(2,1)}", "{2,1,0}", "{0,2,1:T(8,128)(2,1)}", (512, 513, 17), 2),
        ("s8 → T(8,128)(4,1)", rows, t84, (4096, 11008), 1),
        ("s8 T(8,128)(4,1) →", t84, rows, (4096, 11008), 1),
        ("bf16 → T(8,128)(2,1)", "{2,1,0}", t3, (8, 2048, 4096), 2),
        ("bf16 T(8,128)(2,1) →", t3, "{2,1,0}", (8, 2048, 4096), 2),
        ("bf16 → T(8,128)(2,1)", rows, t82, (32000, 4096), 2),
        ("bf16 T(8,128)(2,1) →", t82, rows, (32000, 4096), 2),
    ):
        yield _of(TILES, name, (source, target), shape, size)


EVEN = "transposed, rows of whole lines"
RAGGED = "transposed, ragged rows"
BATCHES = "batches and attention"
IMAGES = "NCHW and NHWC"
TILES = "XLA's layouts"
CASES = tuple(_cases())


def room(size: int) -> np.ndarray:
    """Bytes that start at a page, and are in memory."""
    data = np.ones(size + 3 * 4096, np.uint8)
    start = -data.ctypes.data % 4096
    return data[start : start + size]


COPY = """
#include <string.h>
void copy(void *restrict target, const void *restrict source) {{ memcpy(target, source, {n}); }}
"""
REPEAT = """
#include <stddef.h>
void repeat(void (*move)(void *, const void *), void *target, const void *source, size_t n)
{
    for (size_t i = 0; i < n; i++) move(target, source);
}
"""


def built(text: str, name: str, count: int) -> Callable[..., object]:
    """Return a function of some words, built as kernels are."""
    command = compiler()
    if command is None:
        raise SystemExit("no C compiler")
    run = load(text, name, command)
    run.argtypes, run.restype = (ctypes.c_void_p,) * count, None
    return run


def memcpy(out: np.ndarray, calls: int) -> Move:
    """libc's, called in the same way and with the same arguments as a kernel is."""
    return repeated(built(COPY.format(n=out.nbytes), "copy", 2), room(out.nbytes), out, calls)


def repeated(run: Callable[..., object], source: np.ndarray, out: np.ndarray, calls: int) -> Move:
    """Return calls of a function, from C."""
    s, t = source.ctypes.data, out.ctypes.data
    loop, address = built(REPEAT, "repeat", 4), ctypes.cast(run, ctypes.c_void_p)
    return lambda: loop(address, t, s, calls) if source.size else None  # it holds the arrays


@dataclass(frozen=True)
class Box:
    """Elements on which both offsets are linear: where they start, counts and strides in items."""

    source: int
    target: int
    counts: tuple[int, ...]
    sources: tuple[int, ...]
    targets: tuple[int, ...]  #: falling.


def boxes_of(source: Recipe, target: Recipe) -> list[Box]:
    """The boxes of all elements, for those who move strided tensors; padding stays as it is."""
    found = []
    for domain in domains_of(source, target, fill=False).elements or ():
        axes = fuse_axes(list(domain.axes))[::-1] or [CopyAxis(1, 1, 1)]
        columns = zip(*((a.count, a.source, a.target) for a in axes), strict=True)
        found.append(Box(domain.source, domain.target, *columns))
    return found


def numpys(boxes: list[Box], source: np.ndarray, out: np.ndarray) -> Move | None:
    """One copy of a strided view for each box."""

    def view(array: np.ndarray, start: int, box: Box, strides: tuple[int, ...]) -> np.ndarray:
        steps = [step * array.itemsize for step in strides]
        return np.lib.stride_tricks.as_strided(array[start:], box.counts, steps)

    pairs = [
        (view(out, box.target, box, box.targets), view(source, box.source, box, box.sources))
        for box in boxes
    ]
    return lambda: [np.copyto(to, of) for to, of in pairs]


def torchs(boxes: list[Box], source: np.ndarray, out: np.ndarray) -> Move | None:
    """``copy_`` of a permuted view into an existing tensor, on one thread."""
    try:
        import torch
    except ImportError:
        return None
    if any(step < 0 for box in boxes for step in box.sources):
        return None
    torch.set_num_threads(1)
    kind = {1: "i1", 2: "i2", 4: "f4", 8: "f8", 16: "c16"}[source.itemsize]
    given, made = (torch.from_numpy(array.view(kind)) for array in (source, out))
    pairs = [
        (
            torch.as_strided(made, box.counts, box.targets, box.target),
            torch.as_strided(given, box.counts, box.sources, box.source),
        )
        for box in boxes
    ]
    return lambda: [to.copy_(of) for to, of in pairs]


HPTT = r"""
#include <hptt.h>
#include <complex>
#include <functional>
#include <vector>
typedef std::function<void()> move;
template <typename T> static move made(int n, const int *order, const int *counts, const int *from,
                                       const int *to, const void *s, void *t) {
    auto plan = hptt::create_plan(order, n, T(1), (const T *)s, counts, from, T(0), (T *)t, to,
                                  hptt::ESTIMATE, 1);
    return [plan] { plan->execute(); };
}
extern "C" void *make(int n, const int *order, const int *counts, const int *from, const int *to,
                      int size, const void *s, void *t) {
    if (size == 4) return new move(made<float>(n, order, counts, from, to, s, t));
    if (size == 8) return new move(made<double>(n, order, counts, from, to, s, t));
    return new move(made<hptt::DoubleComplex>(n, order, counts, from, to, s, t));
}
extern "C" void run(int n, move **moves) { for (int i = 0; i < n; i++) (*moves[i])(); }
"""


@cache
def hptt_library() -> ctypes.CDLL | None:
    """HPTT, built by its own makefile in the folder that ``HPTT`` names."""
    folder = os.environ.get("HPTT")
    if not folder:
        return None
    place = Path(tempfile.mkdtemp())
    (place / "move.cpp").write_text(HPTT)
    words = ["g++", "-O2", "-shared", "-fPIC", "-fopenmp", f"-I{folder}/include", "move.cpp", "-o"]
    words += ["move.so", f"{folder}/lib/libhptt.so", f"-Wl,-rpath,{folder}/lib"]
    subprocess.run(words, cwd=place, check=True)
    library = ctypes.CDLL(str(place / "move.so"))
    library.make.restype = ctypes.c_void_p
    return library


def hptts(boxes: list[Box], source: np.ndarray, out: np.ndarray) -> Move | None:
    """A permutation of a part of a tensor for each box, if strides are products of sizes."""
    library, itemsize, plans = hptt_library(), source.itemsize, list[int]()
    if library is None or itemsize not in (4, 8, 16):
        return None
    for box in boxes:
        by_target = range(len(box.counts))[::-1]
        by_source = sorted(by_target, key=lambda k: box.sources[k])
        counts = [box.counts[k] for k in by_source]
        outer = (
            _outer_sizes([strides[k] for k in order], [box.counts[k] for k in order])
            for strides, order in ((box.sources, by_source), (box.targets, by_target))
        )
        from_to = [sizes for sizes in outer if sizes]
        if len(from_to) < 2:
            return None
        order = [by_source.index(k) for k in by_target]
        rows = [(ctypes.c_int * len(counts))(*row) for row in (order, counts, *from_to)]
        at = source.ctypes.data + box.source * itemsize, out.ctypes.data + box.target * itemsize
        plans.append(library.make(len(counts), *rows, itemsize, *map(ctypes.c_void_p, at)))
    handles = (ctypes.c_void_p * len(plans))(*plans)
    return lambda: library.run(len(plans), handles)


def _outer_sizes(strides: list[int], counts: list[int]) -> list[int] | None:
    """The sizes of a whole tensor of which a box is a part; None if there is none."""
    if strides[0] != 1 or any(b <= 0 or b % a for a, b in pairwise(strides)):
        return None
    sizes = [b // a for a, b in pairwise(strides)] + counts[-1:]
    return sizes if all(map(operator.ge, sizes, counts)) else None


# Formats of oneDNN whose tags are measured, by name; all others are strided boxes.
TAGS = (
    *("ab", "abcd", "acdb", "abcde", "aBcd8b", "aBcd16b", "aBcd32b", "aBcde16b", "AB16b16a"),
    *("AB16b16a4b", "ABcd16b16a", "ABcd2b8a4b", "ABcd4b16a4b", "ABcd8b16a2b"),
)
ONEDNN = r"""
#include <dnnl.h>
#include <stdlib.h>
#include <string.h>
#if DNNL_VERSION_MAJOR < 3
#define DESC(x) &x
#define dnnl_memory_desc_create_with_strides dnnl_memory_desc_init_by_strides
#define dnnl_memory_desc_create_with_tag dnnl_memory_desc_init_by_tag
#else
#define DESC(x) x
#endif
typedef struct { dnnl_primitive_t reorder; dnnl_stream_t stream; dnnl_exec_arg_t args[2]; } move;
#define TRY(x) do { if ((x) != dnnl_success) return 0; } while (0)
static dnnl_format_tag_t tag_of(const char *name) {
    TAGS
    return dnnl_format_tag_undef;
}
/* A format is a text, or strides as numbers if it is null. */
static int describe(dnnl_memory_desc_t *made, int n, const int64_t *dims, const int64_t *strides,
                    const char *format, int type) {
    dnnl_data_type_t kind = (dnnl_data_type_t)type;
    if (format) TRY(dnnl_memory_desc_create_with_tag(made, n, dims, kind, tag_of(format)));
    else TRY(dnnl_memory_desc_create_with_strides(made, n, dims, kind, strides));
    return 1;
}
void *make(int n, const int64_t *dims, const int64_t *from, const int64_t *to, int type,
           void *s, void *t, const char *source, const char *target) {
    static dnnl_engine_t engine;
    dnnl_memory_desc_t a, b; dnnl_memory_t x, y; dnnl_primitive_desc_t desc;
    move *made = malloc(sizeof *made);
    if (!engine) TRY(dnnl_engine_create(&engine, dnnl_cpu, 0));
    if (!describe(&a, n, dims, from, source, type)) return 0;
    if (!describe(&b, n, dims, to, target, type)) return 0;
    TRY(dnnl_reorder_primitive_desc_create(&desc, DESC(a), engine, DESC(b), engine, 0));
    TRY(dnnl_primitive_create(&made->reorder, desc));
    TRY(dnnl_stream_create(&made->stream, engine, dnnl_stream_default_flags));
    TRY(dnnl_memory_create(&x, DESC(a), engine, s));
    TRY(dnnl_memory_create(&y, DESC(b), engine, t));
    made->args[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, x};
    made->args[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, y};
    return made;
}
void run(int n, move **moves) {
    for (int i = 0; i < n; i++) {
        dnnl_primitive_execute(moves[i]->reorder, moves[i]->stream, 2, moves[i]->args);
        dnnl_stream_wait(moves[i]->stream);
    }
}
int types[3] = {dnnl_s8, dnnl_bf16, dnnl_f32};
"""


@cache
def onednn_library() -> ctypes.CDLL | None:
    place = Path(tempfile.mkdtemp())
    tags = "".join(f'if (!strcmp(name, "{tag}")) return dnnl_{tag};' for tag in TAGS)
    (place / "reorder.c").write_text(ONEDNN.replace("TAGS", tags))
    words = ["gcc", "-O2", "-shared", "-fPIC", "reorder.c", "-o", "reorder.so", "-ldnnl"]
    if (
        not shutil.which("gcc")
        or subprocess.run(words, cwd=place, capture_output=True, check=False).returncode
    ):
        return None
    return ctypes.CDLL(str(place / "reorder.so"))


def onednn(boxes: list[Box], source: np.ndarray, out: np.ndarray) -> Move | None:
    """A reorder between two strided tensors for each box."""
    moves = [
        _reorder(box.counts, source[box.source :], out[box.target :], source.itemsize,
                 strides=(box.sources, box.targets))
        for box in boxes
    ]  # fmt: skip
    return _together(moves)


def onednn_by_tags(
    tags: tuple[str, str],
    shape: tuple[int, ...],
    itemsize: int,
    source: np.ndarray,
    out: np.ndarray,
) -> Move | None:
    """A reorder between two of oneDNN's own formats; it writes the padding, too."""
    return _together([_reorder(shape, source, out, itemsize, tags=tags)])


def _reorder(
    shape: tuple[int, ...],
    source: np.ndarray,
    out: np.ndarray,
    itemsize: int,
    *,
    tags: tuple[str, str] | None = None,
    strides: tuple[tuple[int, ...], ...] = (),
) -> int | None:
    library = onednn_library()
    if library is None or itemsize > 4:
        return None
    library.make.restype = ctypes.c_void_p
    kind = (ctypes.c_int * 3).in_dll(library, "types")[{1: 0, 2: 1, 4: 2}[itemsize]]
    arrays = [(ctypes.c_int64 * len(shape))(*row) for row in (shape, *(strides or (shape, shape)))]
    places = (ctypes.c_void_p(array.ctypes.data) for array in (source, out))
    names = (tag.encode() for tag in tags) if tags else (None, None)
    made: int | None = library.make(len(shape), *arrays, kind, *places, *names)
    return made


def _together(moves: list[int | None]) -> Move | None:
    library = onednn_library()
    if library is None or None in moves:
        return None
    handles = (ctypes.c_void_p * len(moves))(*moves)
    return lambda: library.run(len(moves), handles)


PEERS = {"oneDNN": onednn, "torch": torchs, "HPTT": hptts, "NumPy": numpys}
"""Who else moves boxes; None where one is not installed, or does not know the item or strides."""
