"""Triton's own compiler takes the printed functions, if it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.support.codegen_cases import OPTIONS, Case, signed_cases

HEAD = "import triton\nimport triton.language as tl\n"


def kernel(k: int, case: Case) -> str:
    """A printed function, and a kernel that loads its arguments and stores its results."""
    text = case.code("triton", function=True, name=f"f{k}", **OPTIONS[k % len(OPTIONS)])
    _, _, function = text.partition("@triton.jit")
    results = "".join(f"r{i}, " for i in range(len(case.results[0])))
    if len(case.results[0]) == 1 and not case.statements:
        results = "r0"
    lines = [f"{name} = tl.load(P{name} + i)" for name in case.names]
    lines.append(f"{results} = f{k}({', '.join(case.names)})")
    for i in range(len(case.results[0])):
        lines.append(f"tl.store(out + i + {32 * i}, tl.zeros([32], tl.int64) + r{i})")
    body = "\n".join(f"    {line}" for line in ["i = tl.arange(0, 32)", *lines])
    parameters = ", ".join([*(f"P{name}" for name in case.names), "out"])
    return f"@triton.jit{function}\n\n@triton.jit\ndef run{k}({parameters}):\n{body}\n"


def pointers(case: Case) -> dict[str, str]:
    """The types of the kernel's arguments: 32 bits if these hold the values."""
    types = {}
    for i, name in enumerate(case.names):
        largest = max(abs(row[i]) for row in case.arguments)
        types[f"P{name}"] = "*i32" if largest < 2**31 else "*i64"
    return {**types, "out": "*i64"}


@pytest.mark.filterwarnings("ignore")
def test_triton_compiles_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    triton = pytest.importorskip("triton", reason="triton is not installed")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    some = signed_cases()[::5]
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + "\n".join(kernel(k, case) for k, case in enumerate(some)))
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for k, case in enumerate(some):
        source = ASTSource(getattr(module, f"run{k}"), signature=pointers(case), constexprs={})
        assert "ptx" in triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm, case.label
