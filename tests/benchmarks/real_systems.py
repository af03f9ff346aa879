"""Fresh random questions for real systems, whose answers judge ours.

    python tests/benchmarks/real_systems.py --seed 1 --count 1000

Each system that is installed (the group ``systems`` of ``pyproject.toml``, and g++ for CuTe's C++)
is asked where the elements of random layouts lie; the others are left out with their reason. Prints
how many answers of each were ours, and a line for each that differs: its seed and number repeat it.
Returns 1 if one differs.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import subprocess
import sys
import traceback
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=12")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np  # noqa: E402
from convert_peers import READERS  # noqa: E402

import morello_layouts as ml  # noqa: E402
from morello_layouts.notations.triton.text import encoding_of  # noqa: E402
from tests.fuzz import layouts  # noqa: E402
from tests.fuzz.layouts import Drawn  # noqa: E402

Shape = tuple[int, ...]
Question = tuple[str, Shape]


def offsets_of(text: str, shape: Shape) -> Any:
    """Return our offset of each element."""
    return np.broadcast_to(ml.index_map(text, shape)(*np.indices(shape, sparse=True)), shape)


def texts(family: Any, wanted: Callable[[str], bool], random: Random, count: int) -> list[Question]:
    """Return random layouts of a family that a system can read."""
    found: list[Question] = []
    while len(found) < count:
        drawn: Drawn = family(random, False)[0]
        if isinstance(drawn.source, str) and wanted(drawn.source) and prod(drawn.shape) <= 2000:
            found.append((drawn.source, drawn.shape))
    return found


def asked_one_by_one(reader: str, family: Any, wanted: Callable[[str], bool]) -> Any:
    """Return a system that says of one text after the other whether its offsets are ours."""

    def ask(random: Random, count: int) -> Iterator[tuple[str, bool]]:
        package, reads = READERS[reader]
        __import__({"apache-tvm": "tvm", "iree-base-compiler": "iree.compiler",
                    "iree-base-runtime": "iree.runtime"}.get(package, package))  # fmt: skip
        for text, shape in texts(family, wanted, random, count):
            yield f"{text} at {shape}", reads(text, shape, offsets_of(text, shape))

    return ask


def cute(random: Random, count: int) -> Iterator[tuple[str, bool]]:
    """CuTe's C++: all offsets of nested layouts, swizzled too, compiled as one program."""
    import cutlass_library

    packages = Path(cutlass_library.__file__).parents[1]
    include = [f"-I{packages / 'cutlass_library' / 'source' / 'include'}"]
    for header in ("crt/host_defines.h", "cuda/std/utility"):
        found = next(packages.glob(f"*/**/include/{header}"), None)
        if found is None:
            raise ImportError(f"no CUDA header {header}: pip install triton nvidia-cuda-cccl-cu12")
        include.append(f"-I{str(found).removesuffix(header)}")
    asked = texts(layouts.nested, lambda _: True, random, count)
    lines = []
    for text, _ in asked:
        swizzle, _, plain = text.rpartition(" o 0 o ")
        sizes, strides = (x.replace("(", "make_tuple(") for x in plain.split(":"))
        made = f"make_layout({sizes}, {strides})"
        if swizzle:
            name = swizzle.replace("Sw", "Swizzle")
            made = f"composition({name}{{}}, Int<0>{{}}, {made})"
        lines.append(f"show({made});")
    source = "\n".join([
        "#include <cute/layout.hpp>", "#include <cute/swizzle_layout.hpp>", "#include <cstdio>",
        "using namespace cute;",
        "template <class L> void show(L const& l) {",
        '  for (int i = 0; i < size(l); ++i) printf("%d ", int(l(i)));', '  printf("\\n"); }',
        *(f"void f{k}() {{ {' '.join(lines[k:k + 50])} }}" for k in range(0, count, 50)),
        f"int main() {{ {' '.join(f'f{k}();' for k in range(0, count, 50))} }}",
    ])  # fmt: skip
    with TemporaryDirectory() as folder:
        file = Path(folder, "ask.cpp")
        file.write_text(source, "utf-8")
        command = [
            "g++",
            "-std=c++17",
            "-O0",
            "-w",
            *include,
            str(file),
            "-o",
            f"{folder}/ask",
        ]
        subprocess.run(command, check=True, capture_output=True)
        shown = subprocess.run([f"{folder}/ask"], check=True, capture_output=True, text=True).stdout
    for (text, shape), line in zip(asked, shown.splitlines(), strict=True):
        found = np.array(line.split(), np.int64).reshape(shape, order="F")
        yield f"{text} at {shape}", bool((found == offsets_of(text, shape)).all())


@cache
def onednn_library() -> tuple[Any, dict[str, int]]:
    """Return oneDNN's C library and its tags by name."""
    folder, needed = Path(sys.prefix, "lib"), ("intlc", "imf", "svml", "tbb", "ur_loader", "sycl")
    for file in [x for name in needed for x in sorted(folder.glob(f"lib{name}.so*"))]:
        with contextlib.suppress(OSError):  # what it needs is loaded, or named below
            ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
    try:
        library = ctypes.CDLL(str(folder / "libdnnl.so.3"))
    except OSError as error:
        raise ImportError(str(error)) from None
    library.dnnl_fmt_tag2str.restype = ctypes.c_char_p
    return library, {library.dnnl_fmt_tag2str(k).decode(): k for k in range(1500)}


def onednn(random: Random, count: int) -> Iterator[tuple[str, bool]]:
    """oneDNN: padded dimensions, strides and inner blocks of its memory descriptors."""
    library, tags = onednn_library()
    numbers = ctypes.c_int64 * 12
    asked = texts(layouts.blocked, lambda text: text.isalnum() and text in tags, random, count)
    for text, shape in asked:
        handle = ctypes.c_void_p()
        sizes = numbers(*shape)
        made = library.dnnl_memory_desc_create_with_tag(
            ctypes.byref(handle),
            len(shape),
            sizes,
            3,
            tags[text],  # 3 is f32
        )
        if made:
            continue

        def query(what: int, handle: Any = handle) -> list[int]:
            found = ctypes.POINTER(ctypes.c_int64)()
            library.dnnl_memory_desc_query(handle, what, ctypes.byref(found))
            return found[:12] if found else [0] * 12

        strides, one = query(STRIDES), ctypes.c_int()
        library.dnnl_memory_desc_query(handle, INNER_BLOCKS_COUNT, ctypes.byref(one))
        blocks, dims = query(INNER_BLOCKS)[: one.value], query(INNER_DIMS)[: one.value]
        library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        size = library.dnnl_memory_desc_get_size(handle) // 4
        library.dnnl_memory_desc_destroy(handle)
        rest, found, step = [*np.indices(shape)], 0, 1
        for n, dim in zip(reversed(blocks), reversed(dims), strict=True):
            found, rest[dim], step = found + rest[dim] % n * step, rest[dim] // n, step * n
        found = found + sum(x * s for x, s in zip(rest, strides, strict=False))
        m = ml.index_map(text, shape)
        yield (
            f"{text} at {shape}",
            bool((found == offsets_of(text, shape)).all()) and m.size == size,
        )


STRIDES, INNER_BLOCKS_COUNT, INNER_BLOCKS, INNER_DIMS = 14, 263, 264, 265
"""``dnnl_query_strides``, ``_inner_nblks_s32``, ``_inner_blks`` and ``_inner_idxs``: the numbers of
``dnnl_query_t`` in oneDNN 3.13."""


def power(random: Random, most: int) -> int:
    return 1 << random.randint(0, most)


@cache
def gluon() -> tuple[Any, ...]:
    """Return Triton's builder, which builds for Hopper, and what must outlive it."""
    from triton._C.libtriton import gluon_ir, ir

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    module = builder.create_module()
    module.set_attr("ttg.target", builder.get_string_attr("cuda:90"))
    function = builder.get_or_insert_function(
        module, "f", builder.get_function_ty([], []), "public", False
    )
    module.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())
    return builder, context, module


def triton(random: Random, count: int) -> Iterator[tuple[str, bool]]:
    """Triton: the bases of random encodings of registers, of shared and of tensor memory."""
    builder, *_ = gluon()
    kinds = "blocked swizzled nvmma slice mma hopper dot mfma wmma amd_dot tensor_memory scales"
    for _ in range(count):
        kind = random.choice(kinds.split())
        shape = (power(random, 6), 2 * power(random, 6))  # Triton refuses memory of one element
        if kind in ("nvmma", "tensor_memory"):  # and parts of a box of TMA, or of an instruction
            shape = (128 * power(random, 2), 256 * power(random, 1))
        made = encoding(kind, random)
        shape = shape[:1] if kind == "slice" else shape
        answer = builder.to_linear_layout(made._to_ir(builder), list(shape))
        found = {
            name: getattr(answer, f"{key}", [])
            for name, key in (
                ("offset", "offset_bases"), ("register", "reg_bases"), ("lane", "lane_bases"),
                ("warp", "warp_bases"), ("row", "rows"), ("col", "cols"),
            )
        }  # fmt: skip
        text = str(encoding_of(made))
        layout: Any = ml.parse(text)
        ours = {k: [[*v] for v in vs] for k, vs in layout.bases(shape).items()}
        system_bases = {k: [[*v] for v in vs] for k, vs in found.items() if vs}
        yield f"{text} at {shape}", {k: v for k, v in ours.items() if v} == system_bases


def triton_conflicts(random: Random, count: int) -> Iterator[tuple[str, bool]]:
    """Triton: whether registers load from shared memory with bank conflicts.

    Triton's counter does not merge phases of lanes that ask for addresses in pairs: our answer then
    says so. It leaves out the bits within a word: there our witness must show a conflict, different
    words of one bank.
    """
    builder, *_ = gluon()
    for _ in range(count):
        bits = random.choice((8, 16, 16, 32, 64))
        shape = (16 * power(random, 3), 16 * power(random, 3))  # Triton ends at less than 128 bytes
        kind = random.choice(("blocked", "blocked", "mma", "dot", "slice"))
        one = encoding("blocked" if bits == 64 else kind, random, 3)
        other = encoding("swizzled", random)
        made = [x._to_ir(builder) for x in (one, other)]
        wanted = builder.get_shared_bank_conflicts(*made, list(shape), bits) > 0
        sizes = "x".join(map(str, (*shape, f"f{bits}" if bits > 8 else "i8")))
        access = f"tensor<{sizes}, {encoding_of(one)}>"
        memory = f"!ttg.memdesc<{sizes}, {encoding_of(other)}, #ttg.shared_memory>"
        m = ml.index_map(memory)
        found: Any = ml.bank_conflicts(m, access)
        is_right = found.has_conflicts == wanted
        if found.has_conflicts and not wanted:
            words = {m(*each.coordinate) * bits // 32 for each in found.collisions}
            is_shown = len(words) == found.ways and len({word % 32 for word in words}) == 1
            is_right = found.unmerged > 0 or (bits < 32 and is_shown)
        yield f"{memory} {access}", is_right


def encoding(kind: str, random: Random, sliced: int = 2) -> Any:
    """Return a random layout of Gluon; a slice is of one of ``sliced`` dimensions."""
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.amd import AMDMFMALayout, AMDWMMALayout
    from triton.experimental.gluon.language.nvidia import blackwell

    def some(*values: Any) -> Any:
        return random.choice(values)

    def threads(rank: int) -> list[int]:
        found = [1] * rank
        for _ in range(5):
            found[random.randrange(rank)] *= 2
        return found

    rank, warps = sliced if kind == "slice" else 2, [power(random, 2), power(random, 1)]
    block = [gl.BlockedLayout([power(random, 2) for _ in range(rank)], threads(rank),
             [*warps, 1][:rank], random.sample(range(rank), rank))]  # fmt: skip
    mma = gl.NVMMADistributedLayout([2, 0], warps, [16, 8])
    mfma = AMDMFMALayout(some(1, 2, 3, 4), [*some((32, 32), (16, 16), (4, 64)), 16],
                         some(True, False), warps)  # fmt: skip
    version = some(1, 2)
    wmma = AMDWMMALayout(version, some(True, False), some([], [[0, 1], [1, 0]]))
    hopper = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 8 * some(1, 2, 3, 4, 6, 32), 16])
    operand, width = some(0, 1), some(1, 2, 4)
    dots = (operand, mma, width), (0, hopper, width)
    others = (operand, mfma, 4 * width), (operand, wmma, 16 if version == 1 else some(4, 8))
    return {
        "blocked": lambda: block[0],
        "slice": lambda: gl.SliceLayout(random.randrange(rank), block[0]),
        "mma": lambda: mma,
        "hopper": lambda: gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 8 * some(1, 2, 4), 16]),
        "mfma": lambda: mfma,
        "wmma": lambda: wmma,
        "dot": lambda: gl.DotOperandLayout(*some(*dots)),
        "amd_dot": lambda: gl.DotOperandLayout(*some(*others)),
        "swizzled": lambda: gl.SwizzledSharedLayout(
            power(random, 3), power(random, 2), power(random, 3), random.sample((0, 1), 2)
        ),
        "nvmma": lambda: gl.NVMMASharedLayout(
            some(0, 32, 64, 128), some(8, 16, 32), transposed=some(True, False)
        ),
        "tensor_memory": lambda: blackwell.TensorMemoryLayout(
            (some(64, 128), some(32, 128)), some(1, 2)
        ),
        "scales": blackwell.TensorMemoryScalesLayout,
    }[kind]()


def jax(random: Random, count: int) -> Iterator[tuple[str, bool]]:
    """JAX: the slices that each device holds of an array that its mesh divides."""
    import jax as system
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    left = count
    while left:
        drawn = layouts.sharded(random, False)[0]
        mesh_text, spec_text = re.findall(r"mesh=(\{.*?\}), spec=P\((.*)\)", drawn.source)[0]
        mesh, spec = literal_eval(mesh_text), literal_eval(f"({spec_text},)")
        parts = [mesh[axis] if axis else 1 for axis in spec]
        if any(n % part for n, part in zip(drawn.shape, parts, strict=True)):
            continue  # JAX takes even parts alone
        left -= 1
        devices = np.array(system.devices()[: prod(mesh.values())]).reshape(*mesh.values())
        sharding = NamedSharding(Mesh(devices, tuple(mesh)), PartitionSpec(*spec))
        slices = sharding.devices_indices_map(drawn.shape)
        m, size = ml.index_map(drawn.source), prod(drawn.shape) // prod(parts)
        index = np.arange(prod(drawn.shape)).reshape(drawn.shape)
        held = {d.id: index[at].reshape(-1) for d, at in slices.items()}
        ours: dict[int, Any] = {d: np.full(size, -1) for d in held}
        for k, at in enumerate(np.ndindex(*drawn.shape)):
            for holder in m.place(*at).holders:
                ours[holder["device"]][holder["offset"]] = k
        yield drawn.text, all((held[d] == ours[d]).all() for d in held)


SYSTEMS: dict[str, Callable[[Random, int], Iterator[tuple[str, bool]]]] = {
    "triton": triton,
    "triton, bank conflicts": triton_conflicts,
    "cute": cute,
    "tvm": asked_one_by_one("tvm", layouts.boxes, lambda text: text.startswith("lambda")),
    "iree, affine maps": asked_one_by_one("mlir", layouts.boxes, lambda text: "floordiv" in text),
    "iree, linalg.pack": asked_one_by_one("pack", layouts.blocked, lambda text: "tiles" in text),
    "onednn": onednn,
    "einops": asked_one_by_one("einops", layouts.einops, lambda _: True),
    "jax": jax,
}
SHARE = {"iree, linalg.pack": 0.1}
"""Parts of the count for systems that compile each question."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("systems", nargs="*", default=[*SYSTEMS])
    given = parser.parse_args()
    wrong = 0
    for name in given.systems:
        counts = Counter[str]()
        try:
            for number, (text, right) in enumerate(
                SYSTEMS[name](Random(f"{given.seed} {name}"), int(given.count * SHARE.get(name, 1)))
            ):
                counts["right" if right else "wrong"] += 1
                if not right:
                    print(f"WRONG {name} --seed {given.seed} number {number}: {text}", flush=True)
        except (ImportError, FileNotFoundError) as error:
            print(f"{name}: left out, {error}", flush=True)
            continue
        except Exception:
            counts["failed"] += 1
            print(f"FAILED {name} --seed {given.seed} after {counts}", flush=True)
            traceback.print_exc()
        wrong += counts["wrong"] + counts["failed"]
        print(f"{name}: {counts.total()} asked, {dict(counts)}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
