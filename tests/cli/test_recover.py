"""The command that says what layout files, code and pairs have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.cli.test_every_command import run

CODE = """
def pack(a):
    m, k = a.shape
    return a.reshape(m // 8, 8, k // 4, 4).transpose(0, 2, 1, 3).copy()

def offset(i, j):
    return 8 * (i & 7) + j | i >> 3 << 6

def half(i, j):
    return i / 2

def raises(i, j):
    return j // (i - 2)

def writes(a):
    a[0, 1] = 3
    return a
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = np.arange(64).reshape(8, 8)
    array = np.random.default_rng(0).permutation(256).astype(np.uint16).reshape(16, 16)
    (tmp_path / "pack.py").write_text(CODE)
    np.save(tmp_path / "columns.npy", rows.T.copy())
    np.save(tmp_path / "floats.npy", rows / 2)
    np.savetxt(tmp_path / "rows.csv", rows, fmt="%d", delimiter=",")
    (tmp_path / "ragged.csv").write_text("0,1,2\n3,4\n")
    (tmp_path / "words.csv").write_text("offset\n3\n")
    np.save(tmp_path / "array.npy", array)
    ml.pack("{1,0:T(8,4)}", array).tofile(tmp_path / "dump.bin")
    rows[3, 5] = 9
    np.save(tmp_path / "wrong.npy", rows)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "best"),
    [
        ("{}/pack.py:pack --shape 16x64 --shape 48x128", "{1,0:T(8,4)}    equal at 16x64 and"),
        ("{}/pack.py:offset --shape 16x8", "{1,0}    equal at 16x8"),
        ("{}/columns.npy", "{0,1}    equal at 8x8"),
        ("{}/rows.csv", "{1,0}    equal at 8x8"),
        ("{}/rows.csv --shape 4x16", "{1,0}    equal at 4x16"),
        ("{0}/dump.bin --type u2 --array {0}/array.npy", "{1,0:T(8,4)}    equal at 16x16"),
        ("{}/dump.bin --dtype u2 --shape 256 --size 300", None),
        ("'0,1=1; (8,0)=4096 1,0=128' --shape 64x512", "{1,0:T(8,128)}    fits 3 elements"),
    ],
)
def test_what_it_takes(files: Path, line: str, best: str | None) -> None:
    result = run(f"recover {line.format(files)}")
    if best is None:  # a dump alone is not a table of a layout
        assert result.exit_code == 1
        return
    assert result.exit_code == 0
    assert result.stdout.startswith(best)
    found = json.loads(run(f"recover {line.format(files)} --json").stdout)
    assert found["layouts"][0] == best.split("    ")[0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{}/pack.py:half --shape 4x4", "half(0, 0): expected an integer, or several, got 0.0"),
        ("{}/pack.py:raises --shape 4x4", "raises(2, 0): ZeroDivisionError"),
        ("{}/pack.py:writes --shape 4x4", "writes writes to its argument, first at (0, 1)"),
        ("{}/pack.py:none --shape 4x4", "has nothing named none"),
        ("{}/pack.py:pack", "no shape given"),
        ("{}/floats.npy", "expected an integer at (0, 0), got np.float64(0.0)"),
        ("{}/ragged.csv", "integers in rows as long as each other"),
        ("{}/words.csv", "integers in rows as long as each other"),
        ("{}/nothing.npy", "No such file"),
        ("{}/dump.bin --type nonsense", "not understood"),
        ("{}/rows.csv --shape 3x3", "64 numbers for an array of 3x3"),
        ("{}/rows.csv --shape 8x8 --shape 4x16", "expected the shape of the array"),
        ("0,1=x --shape 8x8", "expected pairs of coordinate and offset"),
        ("0,1=1", "pairs: expected the shape of the array"),
        ("0,9=1 --shape 8x8", "expected a coordinate in 8x8 and its offset"),
        ("'__import__(os)' --shape 8x8", "No such file"),
    ],
)
def test_what_is_wrong_is_said(files: Path, line: str, words: str) -> None:
    result = run(f"recover {line.format(files)}")
    assert result.exit_code == 2
    assert words in result.stderr


def test_the_nearest_layout_is_an_answer(files: Path) -> None:
    result = run(f"recover {files}/wrong.npy")
    assert result.exit_code == 1
    assert "all but 1 of 64 elements fit" in result.stdout
    found: dict[str, Any] = json.loads(run(f"recover {files}/wrong.npy --json").stdout)
    assert found["nearest"] == "{1,0}"
    assert found["unlike"] == 1
    assert found["why"].startswith("the element at (3, 5) lies at 9")
