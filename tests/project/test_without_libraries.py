"""Without some libraries: NumPy and islpy, as in a browser, or all but islpy."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import morello_layouts as ml
from tests.support.paths import ROOT

SCRIPT = """
import json, sys

for name in ("numpy", "islpy"):
    sys.modules[name] = None  # as if they were not installed

import morello_layouts as ml

TILED = "bf16[10,200]{1,0:T(8,128)(2,1)}"
m = ml.index_map(TILED)
found = {
    "offset": [m(9, 130), m.coordinates(3077), m.coordinates(1168)],
    "code": ml.code(TILED, "python"),
    "svg": "<svg" in ml.draw(TILED).svg()[:60],
    "explained": "2,096 of padding" in str(ml.explain(TILED)),
    "simplified": str(ml.simplify("(8*i + j)//8")),
    "proofs": {
        name: str(ask)
        for name, ask in {
            "injective": ml.is_injective(TILED),
            "surjective": ml.is_surjective(TILED),
            "bijective": ml.is_bijective(TILED),
            "full": ml.is_bijective("f32[4,8]{1,0:T(2,4)}"),
            "shared": ml.is_injective(ml.from_sympy({"shape": (2, 5)}, "3*d0 + d1")),
            "equal": ml.are_equivalent("f32[4,8]{1,0:T(4,8)}", "f32[4,8]"),
            "different": ml.are_equivalent(TILED, "bf16[10,200]"),
            "verified": ml.verify(TILED),
            "symbolic": ml.is_bijective("f32[M,N]{1,0:T(8,128)}"),
            "divided": ml.is_bijective("f32[M,N]{1,0:T(8,128)}", assuming="8 | M, 128 | N"),
            "large": ml.is_bijective("f32[30000,50000]{1,0:T(8,128)}"),
            "two": ml.are_equivalent(
                "f32[M,N]{1,0:T(8,128)}", "[0, 1, 0 p(8), 1 p(128)]", assuming="8 | M, 128 | N"
            ),
            "open": ml.are_equivalent("f32[M,N]{1,0:T(2,128)}", "{1,0:T(8,128)}"),
        }.items()
    },
}
found["bitcast"] = str(ml.is_bitcast("f32[3,5]", "f32[3,5]{0,1}"))
sys.platform = "emscripten"
try:
    ml.bank_conflicts("f32[32,LD]", "column")
except ml.LayoutError as error:
    found["page"] = str(error)
print(json.dumps(found))
"""

PROOFS = {
    "injective": "injective: no two coordinates share an offset. Decided by digits.",
    "surjective": "not surjective: 2096 of 4096 slots are padding (first: 1168). "
    "Decided by digits.",
    "bijective": "not bijective: injective, but 2096 of 4096 slots are padding (first: 1168). "
    "Decided by digits.",
    "full": "bijective: injective, and all 32 slots hold an element. Decided by digits.",
    "shared": "not injective: (0, 3) and (1, 0) share an offset. Decided by counting.",
    "different": "not equivalent: (0, 1) has offsets 2 and 1; the buffers have 4096 and 2000 "
    "slots. Decided by evaluation.",
    "verified": "verified: simplified formula, reference and inverse agree everywhere. "
    "Decided by a certificate.",
    "symbolic": "bijective iff 8 | M and 128 | N. Counterexample: M = N = 1 leaves 1023 of 1024 "
    "slots empty. Decided by digits.\nPadding: -M*N + 1024*ceil(M/8)*ceil(N/128) slots.",
    "divided": "bijective for all sizes: injective, and every slot holds an element. "
    "Decided by digits.\nAssumed: 8 divides M; 128 divides N.",
    "large": "not bijective: injective, but 1440000 of 1501440000 slots are padding "
    "(first: 399440). Decided by digits.",
    "two": "equivalent for all sizes: every coordinate has the same offset.\n"
    "Assumed: 8 divides M; 128 divides N.",
    "open": "undecided whether equivalent: ISL is not installed: ISL, the integer set library, "
    "decides this.",
}


@pytest.mark.slow
def test_what_works_without_numpy_and_islpy() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found = json.loads(run.stdout)
    assert found["offset"] == [3077, [9, 130], None]
    assert found["code"] == "2048*(d0//8) + 1024*(d1//128) + 256*((d0//2)%4) + 2*(d1%128) + d0%2"
    assert found["svg"]
    assert found["explained"]
    assert found["simplified"] == "i + floor(j/8)"
    assert found["proofs"].pop("equal").startswith("equivalent: every coordinate has the same")
    assert found["proofs"] == PROOFS
    assert found["bitcast"].startswith("not a bitcast: elements move, and slot 1 is the first")
    assert found["page"].splitlines() == [
        "NumPy is only on a desktop", "this is computed with it",
        "ask on a desktop: by the command, or by its explorer",
    ]  # fmt: skip


LIGHT = """
import json, sys

for name in ("numpy", "sympy", "mpmath", "click", "rich", "pygments", "waitress"):
    sys.modules[name] = None  # as after pip install --no-deps, with islpy alone

import morello_layouts as ml

TILED, NAMED = "bf16[10,200]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(2,1)}"
m = ml.index_map(TILED)
found = {
    "formula": [str(m), str(ml.index_map(NAMED)), str(m.inverse)],
    "place": [m(9, 130), m.coordinates(3077)],
    "code": [ml.code(TILED, each) for each in ("c", "cuda", "python", "rust", "mlir", "triton")],
    "explained": [str(ml.explain(each)) for each in (TILED, NAMED)],
    "drawn": ml.draw(TILED).svg(),
    "proofs": [
        str(one)
        for one in (
            ml.is_bijective(TILED),
            ml.is_bijective(NAMED, confirm=True),
            ml.verify(TILED),
            ml.verify(NAMED),
            ml.are_equivalent("f32[M,N]", "f32[M,N]{1,0:T(8,128)}"),
            ml.is_bitcast("f32[4,6]", "f32[2,2,3,2]"),
            ml.shards("f32[64,128], mesh={'x': 8}, spec=P('x', None)"),
            ml.reshard("f32[64], mesh={'x': 4}, spec=P('x')", "f32[64], mesh={'x': 4}, spec=P()"),
            ml.diagnose("%b = f32[4,2]{1,0} reshape(f32[8]{0} %a)"),
        )
    ],
    "refused": [],
}
for ask in (
    lambda: m.expr,
    lambda: ml.index_map(NAMED).size,
    lambda: ml.simplify("(8*i + j)//8"),
    lambda: m([1, 2], 3),
    lambda: ml.bank_conflicts("f32[32,LD]", "column"),
    lambda: ml.relayout("f32[4,6]", "f32[4,6]{0,1}").compile(),
):
    try:
        ask()
    except ml.LayoutError as error:
        found["refused"].append([error.what, error.fix])
print(json.dumps(found))
"""


def test_the_core_needs_islpy_alone() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=ROOT, check=True, capture_output=True, text=True
    )
    light = json.loads(run.stdout)
    tiled, named = "bf16[10,200]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(2,1)}"
    m = ml.index_map(tiled)
    assert light["formula"] == [str(m), str(ml.index_map(named)), str(m.inverse)]
    assert light["place"] == [m(9, 130), [9, 130]]
    targets: tuple[Any, ...] = ("c", "cuda", "python", "rust", "mlir", "triton")
    assert light["code"] == [ml.code(tiled, target) for target in targets]
    assert light["explained"] == [str(ml.explain(each)) for each in (tiled, named)]
    assert light["drawn"] == ml.draw(tiled).svg()
    assert [one.partition(":")[0].partition(" iff ")[0] for one in light["proofs"][:6]] == [
        "not bijective", "bijective", "verified", "verified", "equivalent", "a bitcast",
    ]  # fmt: skip
    needs = {"SymPy": "pip install sympy", "NumPy": "pip install numpy"}
    assert light["refused"] == [
        [f"{library} is not installed", needs[library]]
        for library in ("SymPy", "SymPy", "SymPy", "NumPy", "NumPy", "NumPy")
    ]
