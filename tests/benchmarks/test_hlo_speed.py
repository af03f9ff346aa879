"""The reader's aim, asserted loosely: ``python -m pytest tests/benchmarks/test_hlo_speed.py``."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from hlo_dump import large_dump

from morello_layouts.programs.hlo import read_hlo


def test_five_megabytes_are_read_in_a_second(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    count = large_dump(path, 5)
    begin = process_time()
    module = read_hlo(path)
    seconds = process_time() - begin
    assert len(module) == count * 102
    assert seconds < path.stat().st_size / 5e6
