"""The relayouts that are measured, and those who do them: kernels, NumPy, torch and oneDNN."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import morello_layouts as ml
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split, Transpose
from morello_layouts.outputs.kernels.build import compiler, load
from morello_layouts.outputs.kernels.emit_c import c_file
from morello_layouts.outputs.kernels.plan import Kernel, domains_of

Move = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A relayout of bytes: its family and name, layouts, shape, and bytes of an element."""

    family: str
    kind: str
    source: str
    target: str
    shape: tuple[int, ...]
    itemsize: int

    @property
    def name(self) -> str:
        return f"{self.kind} {'x'.join(map(str, self.shape))}"

    @property
    def recipes(self) -> tuple[Recipe, Recipe]:
        maps = (ml.index_map(text, self.shape) for text in (self.source, self.target))
        source, target = (m.recipe for m in maps)
        return source, target


def _cases() -> Iterator[Case]:
    """The cases of the page, family by family; sizes from 4 KiB to 256 MiB."""
    for bits, shapes in (
        (8, ((512, 512), (2048, 2048), (4096, 4096), (8192, 8192))),
        (16, ((256, 512), (1024, 2048), (2048, 4096), (4096, 8192))),
        (32, ((64, 64), (256, 256), (1024, 1024), (2048, 2048), (4096, 4096), (8192, 8192))),
        (64, ((128, 256), (512, 1024), (1024, 2048), (2048, 4096))),
    ):
        for shape in shapes:
            yield Case(EVEN, f"{bits} bits", "[0, 1]", "[1, 0]", shape, bits // 8)
    for bits, shape in (
        (8, (4001, 3999)),
        (16, (2001, 1999)),
        (32, (2001, 1999)),
        (64, (1001, 999)),
        (32, (1000, 1000)),
        (16, (3000, 2000)),
    ):
        yield Case(RAGGED, f"{bits} bits", "[0, 1]", "[1, 0]", shape, bits // 8)
    for bits in (32, 16):
        shape = (64, 128, 128)
        yield Case(BATCHES, f"{bits} bits", "[0, 1, 2]", "[0, 2, 1]", shape, bits // 8)
    heads = (8, 512, 16, 64), (8, 512, 12, 64)
    for order, shape, bits in (
        ("BHSD", *heads[:1], 16),
        ("BHSD", heads[1], 32),
        ("BHDS", heads[0], 16),
    ):
        target = "[0, 2, 1, 3]" if order == "BHSD" else "[0, 2, 3, 1]"
        name = f"{bits} bits BSHD → {order}"
        yield Case(BATCHES, name, "[0, 1, 2, 3]", target, shape, bits // 8)
    for bits in (32, 16):
        for n, c, side in ((8, 3, 224), (16, 17, 64), (16, 255, 28)):
            for pair in (("NCHW", "NHWC"), ("NHWC", "NCHW")):
                name = f"{bits} bits {' → '.join(pair)}"
                yield Case(IMAGES, name, *pair, (n, c, side, side), bits // 8)
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
        yield Case(TILES, name, source, target, shape, size)


EVEN = "transposed, rows of whole lines"
RAGGED = "transposed, ragged rows"
BATCHES = "batches and attention"
IMAGES = "NCHW and NHWC"
TILES = "XLA's layouts"
CASES = tuple(_cases())


def room(size: int, past: int = 0) -> np.ndarray:
    """Bytes that start at a page, or some bytes past it, and are in memory."""
    data = np.ones(size + 3 * 4096, np.uint8)
    start = -data.ctypes.data % 4096 + past
    return data[start : start + size]


def data_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """The source buffer, and what the target is to hold; finite numbers in each type."""
    kind = np.dtype(f"u{case.itemsize}")
    source, _ = case.recipes
    seed = np.random.default_rng(0)
    count = math.prod(case.shape) * case.itemsize
    array = seed.integers(0, 120, count, np.uint8).view(kind).reshape(case.shape)
    given = room(source.size * case.itemsize).view(kind)
    given[...] = ml.pack(case.source, array)
    return given, ml.pack(case.target, array)


def kernel(case: Case, source: np.ndarray, out: np.ndarray, calls: int = 0) -> Move:
    """The kernel in C that ``compile`` builds, without Python's part of a call."""
    of, to = case.recipes
    padding = bytes(case.itemsize) if to.size != math.prod(case.shape) else None
    text = str(c_file(Kernel(of, to, case.itemsize, padding)))
    return repeated(built(text, "relayout", 2), source, out, calls)


def sized(case: Case, source: np.ndarray, out: np.ndarray) -> Move:
    """The kernel for all sizes, which gets these as arguments."""
    names = ("N", "C", "H", "W") if len(case.shape) == 4 else ("M", "N")
    f = ml.relayout(case.source, case.target, names).compile(source.dtype)
    s, t = source.ctypes.data, out.ctypes.data
    run = f.at(**dict(zip(names, case.shape, strict=True))).function
    return lambda: run(t, s)


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


def memcpy(out: np.ndarray, calls: int = 0) -> Move:
    """libc's, called in the same way and with the same arguments as a kernel is."""
    given, run = room(out.nbytes), built(COPY.format(n=out.nbytes), "copy", 2)
    return repeated(run, given, out, calls)


def repeated(run: Callable[..., object], source: np.ndarray, out: np.ndarray, calls: int) -> Move:
    """Return a call of a function in C, or one that calls it several times from C."""
    s, t = source.ctypes.data, out.ctypes.data
    if calls == 0:
        return lambda: run(t, s) if source.size else None  # it holds the arrays
    loop, address = built(REPEAT, "repeat", 4), ctypes.cast(run, ctypes.c_void_p)
    return lambda: loop(address, t, s, calls) if source.size else None


def numpys(case: Case, source: np.ndarray, out: np.ndarray) -> Move:
    """Pad, reshape and transpose make a view if they can; one copy writes the target."""
    a, b = case.recipes
    target = out[: out.size - b.tail_padding].reshape(b.physical_shape)

    def run() -> None:
        view = source.reshape(a.physical_shape)
        for step, before in reversed(list(zip(a.steps, a.shapes, strict=False))):
            match step:
                case Pad():
                    view = view[tuple(slice(n) for n in before)]
                case Transpose(order):
                    view = view.transpose(np.argsort(order))
                case Split() | Merge():
                    view = view.reshape(before)
        for step, before, after in zip(b.steps, b.shapes, b.shapes[1:], strict=False):
            match step:
                case Pad():
                    view = np.pad(view, [(0, m - n) for n, m in zip(before, after, strict=True)])
                case Transpose(order):
                    view = view.transpose(order)
                case Split() | Merge():
                    view = view.reshape(after)
        np.copyto(target, view)

    return run


def torchs(case: Case, source: np.ndarray, out: np.ndarray) -> Move | None:
    """Use permute, and copy_ into an existing tensor, on one thread."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    a, b = case.recipes
    kind = {1: np.int8, 2: np.int16, 4: np.float32, 8: np.float64}[case.itemsize]
    given = torch.from_numpy(source.view(kind)).view(a.physical_shape)
    target = torch.from_numpy(out.view(kind)).view(b.physical_shape)

    def run() -> None:
        view = given
        for step, before in reversed(list(zip(a.steps, a.shapes, strict=False))):
            match step:
                case Pad():
                    view = view[tuple(slice(n) for n in before)]
                case Transpose(order):
                    view = view.permute(*np.argsort(order).tolist())
                case Split() | Merge():
                    view = view.reshape(before)
        for step, before, after in zip(b.steps, b.shapes, b.shapes[1:], strict=False):
            match step:
                case Pad():
                    more = [(0, m - n) for n, m in zip(before, after, strict=True)]
                    flat = [x for pair in reversed(more) for x in pair]
                    view = torch.nn.functional.pad(view, flat)
                case Transpose(order):
                    view = view.permute(*order)
                case Split() | Merge():
                    view = view.reshape(after)
        target.copy_(view)

    return run


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
_built: list[ctypes.CDLL | None] = []


def onednn_library() -> ctypes.CDLL | None:
    if not _built:
        _built.append(None)
        place = Path(tempfile.mkdtemp())
        tags = "".join(f'if (!strcmp(name, "{tag}")) return dnnl_{tag};' for tag in TAGS)
        (place / "reorder.c").write_text(ONEDNN.replace("TAGS", tags))
        words = ["gcc", "-O2", "-shared", "-fPIC", "reorder.c", "-o", "reorder.so", "-ldnnl"]
        if (
            shutil.which("gcc")
            and not subprocess.run(words, cwd=place, capture_output=True, check=False).returncode
        ):
            _built[0] = ctypes.CDLL(str(place / "reorder.so"))
    return _built[0]


def onednn(case: Case, source: np.ndarray, out: np.ndarray) -> Move | None:
    """A reorder between two strided tensors for each domain of elements; padding stays."""
    boxes = []
    for domain in domains_of(*case.recipes).elements or ():
        axes = sorted(domain.axes, key=lambda axis: -axis.target)
        columns = zip(*((a.count, a.source, a.target) for a in axes), strict=True)
        boxes.append((domain.source, domain.target, *columns))
    moves = [
        _reorder(tuple(counts), source[of:], out[to:], case.itemsize, strides=tuple(strides))
        for of, to, counts, *strides in boxes
    ]
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
