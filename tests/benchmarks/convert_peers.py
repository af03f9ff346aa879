"""Let other systems read the texts that ``convert`` wrote, and compare every offset.

    python -m venv peers
    peers/bin/pip install . einops tensor-layouts apache-tvm iree-base-compiler \
iree-base-runtime
    peers/bin/python tests/benchmarks/convert_peers.py --write

It reads ``tests/data/convert_matrix.jsonl``, and with ``--write`` records what the systems say in
``tests/data/convert_peers.json``. A system that is not installed is left out. Texts with symbolic
sizes are read at 17, 18, … times what divides each size.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import morello_layouts as ml  # noqa: E402
from tests.support.conversion_cases import CASES, map_of  # noqa: E402

DATA = ROOT / "tests" / "data"
SAMPLE = 200  # elements of a text for the systems that take each element alone


def texts() -> Iterator[tuple[str, str, tuple[int, ...], Any]]:
    """Yield notation, text, shape, and the offsets of all elements by the first layout."""
    lines = (DATA / "convert_matrix.jsonl").read_text().splitlines()
    for case, line in zip(CASES, lines, strict=True):
        m = map_of(case)
        divisors = {one.name: one.divisor for one in m.assumptions}
        sizes = {name: divisors.get(name, 1) * (17 + k) for k, name in enumerate(m.recipe.names)}
        m = m.at(**sizes)
        offsets = np.broadcast_to(m(*np.indices(m.shape, sparse=True)), m.shape)
        for to, text in json.loads(line)[-1].items():
            numbers = re.sub(
                r"\b[A-Z]+\b", lambda name, n=sizes: str(n.get(name[0], name[0])), text
            )
            yield to, numbers if to in ("strided", "cute") else text, m.shape, offsets


def some(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Some elements, the first and the last among them."""
    if not shape:
        return [()]
    count = int(np.prod(shape))
    flat = np.unique(np.linspace(0, count - 1, SAMPLE, dtype=np.int64))
    return [tuple(map(int, x)) for x in np.transpose(np.unravel_index(flat, shape))]


def places(buffer: Any, shape: tuple[int, ...]) -> Any:
    """The offset of each element in a buffer of element numbers."""
    flat = np.asarray(buffer).reshape(-1)
    at = np.flatnonzero(flat >= 0)
    found = np.empty(int(np.prod(shape)), dtype=np.int64)
    found[flat[at]] = at
    return found.reshape(shape)


def einops(text: str, shape: tuple[int, ...], offsets: Any) -> bool:
    from einops import rearrange

    pattern, *sizes = text.split(", ")
    axes = {name: int(n) for name, n in (size.split("=") for size in sizes)}
    elements = np.arange(int(np.prod(shape))).reshape(shape)
    return np.array_equal(places(rearrange(elements, pattern, **axes), shape), offsets)


def numpy(text: str, shape: tuple[int, ...], offsets: Any) -> bool:
    inside, _, offset = text.removeprefix("strided<[").rstrip(">").partition("]")
    start = int(offset.rpartition(" ")[2] or 0)
    strides = tuple(8 * int(n) for n in inside.split(", ") if n)
    buffer = np.arange(int(offsets.max()) + 1)
    view = np.lib.stride_tricks.as_strided(buffer[start:], shape, strides)
    return np.array_equal(view, offsets)


def tensor_layouts(text: str, shape: tuple[int, ...], offsets: Any) -> bool:
    from tensor_layouts import Layout

    parts = [ast.literal_eval(part) for part in text.split(":")]
    if len(shape) == 1:  # Python drops the parentheses around a single mode
        parts = [(part,) for part in parts]
    layout = Layout(*parts)
    return all(layout(*x) == offsets[x] for x in some(shape))


def tvm(text: str, shape: tuple[int, ...], offsets: Any) -> bool:
    from tvm.tirx import IndexMap

    index_map = IndexMap.from_func(eval(text), ndim=len(shape), index_dtype="int64")
    box = [int(n) for n in index_map.map_shape(list(shape))]
    found = ([int(i) for i in index_map.map_indices(list(x))] for x in some(shape))
    return all(
        np.ravel_multi_index(at, box) == offsets[x]
        for at, x in zip(found, some(shape), strict=True)
    )


def mlir(text: str, shape: tuple[int, ...], offsets: Any) -> bool:
    from iree.compiler import ir

    with ir.Context():
        parsed = ir.AffineMapAttr(ir.Attribute.parse(text)).value
        kind = f"memref<{''.join(f'{n}x' for n in shape)}i32, {text}>"
        box = _normalized(kind) if shape else [1]
        for x in some(shape):
            at = [_value(ir, result, x) for result in parsed.results]
            if shape and np.ravel_multi_index(at, box) != offsets[x]:
                return False
    return True


def _normalized(kind: str) -> list[int]:
    """The sizes that MLIR's own normalization gives to a memref with a map."""
    source = f"func.func @f(%x: {kind}) {{ return }}"
    command = [str(Path(sys.executable).parent / "iree-opt"), "--normalize-memrefs", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    found = re.search(r"memref<([0-9x]+)xi32>", done.stdout)
    assert found, done.stdout
    return [int(n) for n in found[1].split("x")]


def _value(ir: Any, expr: Any, x: tuple[int, ...]) -> int:
    if isinstance(expr, ir.AffineDimExpr):
        return x[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    a, b = _value(ir, expr.lhs, x), _value(ir, expr.rhs, x)
    if isinstance(expr, ir.AffineAddExpr):
        return a + b
    if isinstance(expr, ir.AffineMulExpr):
        return a * b
    return a % b if isinstance(expr, ir.AffineModExpr) else a // b


def pack(text: str, shape: tuple[int, ...], offsets: Any) -> bool:
    from iree import compiler, runtime

    layout: Any = ml.parse(text, "pack")
    packed = layout.packed_shape(shape)
    source, result = (f"tensor<{''.join(f'{n}x' for n in dims)}i32>" for dims in (shape, packed))
    program = f"""
    func.func @pack(%x: {source}) -> {result} {{
      %pad = arith.constant -1 : i32
      %to = tensor.empty() : {result}
      %y = linalg.pack %x padding_value(%pad : i32) {text} into %to : {source} -> {result}
      return %y : {result}
    }}"""
    binary = compiler.compile_str(
        program, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=generic"]
    )
    module = runtime.load_vm_flatbuffer(binary, driver="local-task")
    elements = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    return np.array_equal(places(module.pack(elements).to_host(), shape), offsets)


READERS: dict[str, tuple[str, Callable[..., bool]]] = {
    "einops": ("einops", einops),
    "cute": ("tensor-layouts", tensor_layouts),
    "strided": ("numpy", numpy),
    "tvm": ("apache-tvm", tvm),
    "mlir": ("iree-base-compiler", mlir),
    "pack": ("iree-base-runtime", pack),
}


def main() -> None:
    """Print, and record, how many texts each system reads as we do."""
    record: dict[str, dict[str, Any]] = {}
    for to, text, shape, offsets in texts():
        if to not in READERS:
            continue
        system, read = READERS[to]
        try:
            entry = record.setdefault(
                to,
                {
                    "system": f"{system} {version(system)}",
                    "equal": 0,
                    "different": [],
                    "refused": [],
                },
            )
        except PackageNotFoundError:
            continue
        try:
            is_equal = read(text, shape, offsets)
        except Exception as error:  # whatever the system says
            entry["refused"].append([text, list(shape), str(error).strip().splitlines()[-1][:120]])
            continue
        if is_equal:
            entry["equal"] += 1
        else:
            entry["different"].append([text, list(shape)])
    for to, entry in record.items():
        print(to, {key: n if isinstance(n, str | int) else len(n) for key, n in entry.items()})
        for row in (*entry["different"], *entry["refused"]):
            print("   ", *row)
    if "--write" in sys.argv:
        (DATA / "convert_peers.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
