"""Which elements of its operands an HLO program reads, as XLA computes it on a CPU.

``python -m tests.support.hlo_reads`` records tests/data/hlo_reads.json.xz; it needs jax. Each
program is run once for each element of each operand, with this element changed. What changes in
the result depends on it. Integer operands are indices: they are not changed, but recorded.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from typing import Any

import numpy as np

from tests.support.paths import DATA

FILE = DATA / "hlo_reads.json.xz"
ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
_PARAMETER = re.compile(r"^\s*(\w+) = (\w+)\[([\d,]*)\]\S* parameter\((\d+)\)", re.MULTILINE)


def one(result: str, operation: str, *operands: str) -> str:
    """Return a program of one instruction ``r``; operands are types, called p0, p1, …."""
    lines = [f"  p{k} = {x} parameter({k})" for k, x in enumerate(operands)]
    names = ", ".join(f"p{k}" for k in range(len(operands)))
    opcode, _, rest = operation.partition(",")
    last = f"  ROOT r = {result} {opcode}({names}){',' if rest else ''}{rest}"
    return f"HloModule m\n{ADD}ENTRY e {{\n" + "\n".join([*lines, last]) + "\n}\n"


def fused(body: str, result: str, *operands: str) -> str:
    """Return a program of one fusion ``r``; the parameters of its body are p0, p1, …."""
    lines = [f"  p{k} = {x} parameter({k})" for k, x in enumerate(operands)]
    inner = "\n".join([*lines, *(f"  {line.strip()}" for line in body.strip().splitlines())])
    outer = "\n".join(line.replace("p", "o", 1).replace("oarameter", "parameter") for line in lines)
    names = ", ".join(f"o{k}" for k in range(len(operands)))
    last = f"  ROOT r = {result} fusion({names}), kind=kLoop, calls=f"
    return f"HloModule m\n{ADD}f {{\n{inner}\n}}\nENTRY e {{\n{outer}\n{last}\n}}\n"


def gather(offsets: str, collapsed: str, starts: str, axis: int, sizes: str) -> str:
    """Return a gather and its attributes."""
    return (
        f"gather, offset_dims={{{offsets}}}, collapsed_slice_dims={{{collapsed}}}, "
        f"start_index_map={{{starts}}}, index_vector_dim={axis}, slice_sizes={{{sizes}}}"
    )


def conv(seed: int) -> str:
    """Return a random convolution over two spatial dimensions."""
    rng = random.Random(seed)
    n, ci, co = rng.choice((1, 2)), rng.choice((1, 2, 3)), rng.choice((1, 2))
    groups = rng.choice((1, 1, 2))
    batches = rng.choice((1, 2)) if groups == 1 else 1
    window, sizes, kernels, outs = [], [], [], []
    for _ in range(2):
        while True:
            size, k, stride = rng.randint(2, 5), rng.randint(1, 3), rng.randint(1, 3)
            low, high = rng.randint(-1, 2), rng.randint(-1, 2)
            base, wide = rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2))
            span = (size - 1) * base + 1 + low + high - (k - 1) * wide - 1
            if span >= 0 and (size - 1) * base + 1 + low + high > 0:
                break
        window.append((k, stride, f"{low}_{high}", base, wide, rng.choice((0, 1))))
        sizes.append(size)
        kernels.append(k)
        outs.append(span // stride + 1)
    names = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")
    parts = (f"{name}={a}x{b}" for name, a, b in zip(names, *window, strict=True))
    labels = [rng.sample(x, 4) for x in ("b01f", "01io", "b01f")]
    values = [
        {"b": n * batches, "f": ci * groups, "0": sizes[0], "1": sizes[1]},
        {"i": ci, "o": co * groups * batches, "0": kernels[0], "1": kernels[1]},
        {"b": n, "f": co * groups * batches, "0": outs[0], "1": outs[1]},
    ]
    x, y, z = (
        f"f32[{','.join(str(v[c]) for c in one)}]" for one, v in zip(labels, values, strict=True)
    )
    dim_labels = "{}_{}->{}".format(*("".join(one) for one in labels))
    more = f", feature_group_count={groups}" if groups > 1 else ""
    more += f", batch_group_count={batches}" if batches > 1 else ""
    operation = f"convolution, window={{{' '.join(parts)}}}, dim_labels={dim_labels}{more}"
    return one(z, operation, x, y)


def cases() -> dict[str, str]:
    """Return the programs by name."""
    window = "window={size=2x3 stride=2x1 pad=1_0x0_2 lhs_dilate=1x2 rhs_dilate=1x2}"
    found = {
        "add": one("f32[3,4]", "add", "f32[3,4]", "f32[3,4]"),
        "copy": one("f32[3,4]{0,1}", "copy", "f32[3,4]{1,0}"),
        "broadcast": one("f32[2,5,3]", "broadcast, dimensions={2,1}", "f32[3,5]"),
        "broadcast_scalar": one("f32[2,3]", "broadcast, dimensions={}", "f32[]"),
        "transpose": one("f32[4,2,3]", "transpose, dimensions={2,0,1}", "f32[2,3,4]"),
        "reshape": one("f32[3,8,1,2]", "reshape", "f32[6,2,4]"),
        "reshape_generic": one("f32[2,4,4]", "reshape", "f32[4,8]"),
        "reshape_ones": one("f32[1,6,1]", "reshape", "f32[2,1,3,1,1]"),
        "reshape_scalar": one("f32[1,1]", "reshape", "f32[]"),
        "reverse": one("f32[2,3,4]", "reverse, dimensions={0,2}", "f32[2,3,4]"),
        "slice": one("f32[3,2,5]", "slice, slice={[1:8:3], [2:4], [0:5]}", "f32[9,6,5]"),
        "pad": one("f32[12,9]", "pad, padding=1_4_1x3_2", "f32[4,4]", "f32[]"),
        "pad_negative": one("f32[3,9]", "pad, padding=-1_-2_0x-1_3_1", "f32[6,4]", "f32[]"),
        "concatenate": one(
            "f32[2,9]", "concatenate, dimensions={1}", "f32[2,2]", "f32[2,3]", "f32[2,4]"),
        "reduce": one(
            "f32[3,4]", "reduce, dimensions={3,0}, to_apply=add", "f32[2,3,4,2]", "f32[]"),
        "dot": one(
            "f32[3,2,5]", "dot, lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
            "rhs_contracting_dims={2}", "f32[2,3,4]", "f32[3,5,4]"),
        "dot_two": one(
            "f32[3,5]", "dot, lhs_contracting_dims={2,0}, rhs_contracting_dims={1,2}",
            "f32[2,3,4]", "f32[5,4,2]"),
        "reduce_window": one(
            "f32[3,7]", f"reduce-window, {window}, to_apply=add", "f32[5,5]", "f32[]"),
        "dynamic_slice": one(
            "f32[2,3]", "dynamic-slice, dynamic_slice_sizes={2,3}", "f32[5,4]", "s32[]", "s32[]"),
        "dynamic_update_slice": one(
            "f32[5,4]", "dynamic-update-slice", "f32[5,4]", "f32[2,3]", "s32[]", "s32[]"),
        "gather_simplified": one(
            "f32[4,2,3]", gather("1,2", "", "0,1", 1, "2,3"), "f32[5,6]", "s32[4,2]"),
        "gather_rows": one(
            "f32[3,2,6]", gather("2", "0", "0", 2, "1,6"), "f32[5,6]", "s32[3,2]"),
        "gather_mixed": one(
            "f32[2,3,4]", gather("0", "1", "1,0", 0, "2,1"), "f32[5,6]", "s32[2,3,4]"),
        "gather_batched": one(
            "f32[3,2,2]", gather("2", "", "1", 2, "1,2") + ", operand_batching_dims={0}, "
            "start_indices_batching_dims={0}", "f32[3,6]", "s32[3,2,1]"),
        "fusion_softmax": fused(
            """e = f32[2,3,5] exponential(p0)
            z = f32[] constant(0)
            s = f32[2,3] reduce(e, z), dimensions={2}, to_apply=add
            b = f32[2,3,5] broadcast(s), dimensions={0,1}
            ROOT d = f32[2,3,5] divide(e, b)""", "f32[2,3,5]", "f32[2,3,5]"),
        "fusion_both_transposes": fused(
            """t = f32[4,4] transpose(p0), dimensions={1,0}
            ROOT a = f32[4,4] add(p0, t)""", "f32[4,4]", "f32[4,4]"),
        "fusion_chain": fused(
            """r = f32[4,12] reshape(p0)
            t = f32[12,4] transpose(r), dimensions={1,0}
            s = f32[6,4] slice(t), slice={[1:12:2], [0:4]}
            v = f32[6,4] reverse(s), dimensions={0}
            z = f32[] constant(0)
            q = f32[8,5] pad(v, z), padding=1_1x0_1
            ROOT c = f32[8,8] concatenate(q, p1), dimensions={1}""",
            "f32[8,8]", "f32[2,3,8]", "f32[8,3]"),
        "fusion_window_of_slice": fused(
            f"""s = f32[5,5] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={{5,5}}
            z = f32[] constant(0)
            ROOT w = f32[3,7] reduce-window(s, z), {window}, to_apply=add""",
            "f32[3,7]", "f32[8,7]", "s32[]", "s32[]"),
        "fusion_dot": fused(
            """t = f32[3,4] transpose(p0), dimensions={1,0}
            b = f32[4,5] reshape(p1)
            d = f32[3,5] dot(t, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
            ROOT r = f32[15] reshape(d)""", "f32[15]", "f32[4,3]", "f32[2,10]"),
        "fusion_update": fused(
            """t = f32[3,2] transpose(p1), dimensions={1,0}
            ROOT d = f32[6,5] dynamic-update-slice(p0, t, p2, p3)""",
            "f32[6,5]", "f32[6,5]", "f32[2,3]", "s32[]", "s32[]"),
        "fusion_gather": fused(
            f"""g = f32[4,6] {gather("1", "0", "0", 1, "1,6").replace(",", "(p0, p1),", 1)}
            ROOT t = f32[6,4] transpose(g), dimensions={1,0}""",
            "f32[6,4]", "f32[5,6]", "s32[4]"),
        "bitcast_order": one("f32[4,3]{1,0}", "bitcast", "f32[3,4]{0,1}"),
        "bitcast_split": one("f32[2,2,3]{2,1,0}", "bitcast", "f32[3,4]{0,1}"),
    }  # fmt: skip
    return found | {f"convolution_{seed}": conv(seed) for seed in range(24)}


def parameters(text: str) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return name, element type and sizes of each parameter of the entry computation."""
    entry = text[text.index("ENTRY") :]
    found = [(int(m[4]), m[1], m[2], m[3]) for m in _PARAMETER.finditer(entry)]
    return [(n, t, tuple(map(int, filter(None, d.split(","))))) for _, n, t, d in sorted(found)]


def run(text: str, seed: int) -> dict[str, Any]:
    """Return index operands by name, and for each other operand the pairs (result, operand)."""
    import jax
    from jax._src.lib import xla_client
    from jaxlib import _hlo

    called = re.sub(r"fusion\((.*)\), kind=kLoop, calls=f", r"call(\1), to_apply=f", text)
    called = re.sub(r"\bbitcast\(", "copy(", called)
    if "bitcast" in text:  # the bytes stay: XLA's reshape of the dimensions in memory order
        called = _as_reshapes(text)
    proto = _hlo.hlo_module_from_text(called).as_serialized_hlo_module_proto()
    module = xla_client._xla.mlir.hlo_to_stablehlo(proto)
    client = jax.devices("cpu")[0].client
    devices = xla_client.DeviceList((jax.devices("cpu")[0],))
    compiled = client.compile_and_load(module, devices, xla_client.CompileOptions())
    rng = np.random.default_rng(seed)
    given = []
    for _, kind, sizes in parameters(text):
        if kind == "s32":
            given.append(rng.integers(-1, 5, sizes, dtype=np.int32))
        else:
            given.append(rng.uniform(1, 2, sizes).astype(np.float32))

    def results(values: list[Any]) -> np.ndarray:
        arrays = [jax.device_put(v, jax.devices("cpu")[0]) for v in values]
        (found,) = compiled.execute_sharded(arrays).disassemble_into_single_device_arrays()[0]
        return np.asarray(found).ravel()

    base = results(given)
    found: dict[str, Any] = {"indices": {}, "reads": {}}
    for k, (name, kind, _) in enumerate(parameters(text)):
        if kind == "s32":
            found["indices"][name] = given[k].tolist()
            continue
        pairs = []
        for place in range(given[k].size):
            other = [v.copy() for v in given]
            other[k].reshape(-1)[place] += 3
            changed = np.flatnonzero(results(other) != base)
            pairs += [[int(out), place] for out in changed]
        found["reads"][name] = pairs
    return found


def _as_reshapes(text: str) -> str:
    """Return a program whose bitcast is a transpose, a reshape and a transpose."""
    after, before = re.search(r"r = (\S+) bitcast", text), re.search(r"p0 = (\S+) parameter", text)
    assert after is not None
    assert before is not None
    dims, order = zip(*map(_dims_and_order, (before[1], after[1])), strict=True)
    first = [dims[0][k] for k in order[0]]
    last = [dims[1][k] for k in order[1]]
    back = [order[1].index(k) for k in range(len(order[1]))]
    listed = [",".join(map(str, one)) for one in (first, order[0], last, dims[1], back)]
    one, by, two, three, undo = listed
    return (
        f"HloModule m\nENTRY e {{\n p0 = {before[1].partition('{')[0]} parameter(0)\n"
        f" a = f32[{one}] transpose(p0), dimensions={{{by}}}\n b = f32[{two}] reshape(a)\n"
        f" ROOT r = f32[{three}] transpose(b), dimensions={{{undo}}}\n}}\n"
    )


def _dims_and_order(shape: str) -> tuple[list[int], list[int]]:
    dims, order = re.findall(r"[\[{]([\d,]*)[\]}]", shape)
    return [int(n) for n in dims.split(",")], [int(n) for n in order.split(",")][::-1]


def recorded() -> dict[str, Any]:
    """Return the recorded programs by name: text, index operands, reads."""
    found: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes()))
    return found


if __name__ == "__main__":
    table = {n: {"text": text, **run(text, k)} for k, (n, text) in enumerate(cases().items())}
    FILE.write_bytes(lzma.compress(json.dumps(table).encode()))
