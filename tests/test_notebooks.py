"""The notebooks run from top to bottom, and show what they were committed with."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import morello_layouts as ml

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 1_500_000  # bytes: what a forge still shows


def cells(path: Path, kind: str) -> list[dict[str, object]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def source(cell: dict[str, object]) -> str:
    return "".join(cell["source"])  # type: ignore[arg-type]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_run_shows_what_is_committed(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "notebooks" / "run.py"), "--check", path.name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_short_and_asserts(path: Path) -> None:
    code, text = cells(path, "code"), cells(path, "markdown")
    assert len(code) + len(text) < 40
    assert source(text[0]).startswith("# ")
    assert path.stat().st_size < LARGEST
    assert sum("assert" in source(cell) for cell in code) >= 3
    assert any('"image/svg+xml"' in json.dumps(cell["outputs"]) for cell in code)
    assert all(isinstance(cell["execution_count"], int) for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_each_section_ends_with_an_exercise(path: Path) -> None:
    """A section is what a second-level heading begins; the last says where to go on."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sections: list[list[str]] = []
    for cell in found:
        if cell["cell_type"] == "markdown" and source(cell).startswith("## "):
            sections.append([])
        if sections:
            sections[-1].append(source(cell))
    assert len(sections) >= 3
    without = [s[0].splitlines()[0] for s in sections[:-1] if "ml.exercises." not in "\n".join(s)]
    assert not without


def test_the_notebooks_ask_every_exercise() -> None:
    asked = set()
    for path in NOTEBOOKS:
        asked |= set(
            re.findall(r"ml\.exercises\.(\w+)", "\n".join(map(source, cells(path, "code"))))
        )
    assert asked == set(ml.exercises.__all__) - {"Exercise", "Feedback"}
