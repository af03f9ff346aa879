"""Nests compiled in C and Rust: 200 random ones in one program each, offsets in their order."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support.loop_cases import Case, random_cases
from tests.support.loop_programs import c_program, rust_program, split, wanted

COUNT = 200


def compare(cases: list[Case], output: Path) -> None:
    parts = wanted(cases)
    faults = [
        f"{case}: {got[:20]}, not {part[:20]}"
        for case, part, got in zip(cases, parts, split(output, parts), strict=True)
        if not np.array_equal(part, got)
    ]
    assert not faults, "\n".join(faults[:10])


def run(command: list[str], program: Path) -> Path:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} is installed")
    subprocess.run([*command, "-o", str(program)], check=True, capture_output=True, text=True)
    output = program.with_suffix(".out")
    with output.open("wb") as file:
        subprocess.run([str(program)], check=True, stdout=file)
    return output


@pytest.mark.slow
def test_c_visits_in_order_and_never_leaves_the_array(tmp_path: Path) -> None:
    cases = list(random_cases(COUNT, 7))
    source = tmp_path / "nests.c"
    source.write_text(c_program(cases), encoding="utf-8")
    sane = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wall", "-Werror"]
    command = ["gcc", "-std=c11", "-O0", *sane, "-Wno-unused-function", str(source)]
    compare(cases, run(command, tmp_path / "nests"))


@pytest.mark.slow
def test_rust_visits_in_order_and_checks_each_index(tmp_path: Path) -> None:
    cases = list(random_cases(COUNT, 8))
    source = tmp_path / "nests.rs"
    source.write_text(rust_program(cases), encoding="utf-8")
    command = ["rustc", "--edition=2021", "-C", "debug-assertions=on", "-A", "warnings"]
    compare(cases, run([*command, str(source)], tmp_path / "nests"))
