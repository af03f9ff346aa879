"""Many dumps: sums over programs, bad files, processes and Dask."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from shutil import copy
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

import morello_layouts as ml
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.programs.diagnostics import fleet
from morello_layouts.programs.diagnostics.fleet import FleetReport, programs_in
from tests.support import tpu_dumps

NAMES = ("equinox_attention.v5e", "quant_fp8_matmul.v5e", "host_offload_optimizer.v5e")


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    """A folder of three programs, one of them in a folder of its own, and files beside them."""
    inner = tmp_path / "dumps" / "deeper"
    inner.mkdir(parents=True)
    for name in NAMES:
        copy(tpu_dumps.path_of(name), inner.parent if name != NAMES[0] else inner)
    (inner / "module.before_optimizations.txt").write_text("HloModule m\n")
    (inner / "notes.txt").write_text("nothing\n")
    return inner.parent


def test_programs_are_found_in_folders_and_behind_patterns(dumps: Path) -> None:
    assert len(programs_in([dumps])) == 3
    assert len(programs_in([f"{dumps}/*optimizations.txt"])) == 2
    assert len(programs_in([f"{dumps}/**/*.txt", dumps])) == 5
    assert len(programs_in([dumps / "deeper" / "notes.txt"])) == 1
    with pytest.raises(LayoutError, match="no programs"):
        programs_in([dumps / "*.hlo"])


def test_sums_are_those_of_the_programs(dumps: Path) -> None:
    report = ml.diagnose_many([dumps])
    each = [ml.diagnose(tpu_dumps.module(name), top=None) for name in NAMES]
    assert report.programs == 3
    assert report.failures == ()
    everything = [one.totals.parameters + one.totals.results for one in each]
    assert report.padding_bytes == sum(one.padding_bytes for one in everything)
    assert report.reserved_bytes == sum(one.reserved_bytes for one in everything)
    written = sum(move.written_bytes for one in each for move in one.moves)
    assert report.written_bytes == written
    kinds = {row.key: row for row in report.by_kind}
    assert kinds["padding"].bytes == report.padding_bytes
    assert sum(row.bytes for row in report.by_kind) == report.padding_bytes + written
    for table in (report.by_source, report.by_shape, report.by_program):
        assert sum(row.bytes for row in table) == report.padding_bytes + written
        assert [row.bytes for row in table] == sorted((r.bytes for r in table), reverse=True)
    assert {Path(row.key).name.split(".")[0] for row in report.by_program} <= {
        name.split(".")[0] for name in NAMES
    }
    text = str(report)
    assert text.startswith("3 programs\npadding: ")
    assert "By source line" in report.html()


def test_one_bad_file_is_reported_and_loses_nothing(dumps: Path) -> None:
    bad = dumps / "bad.after_optimizations.txt"
    bad.write_text("HloModule m\n5 = 7\n")
    report = ml.diagnose_many([dumps])
    assert report.programs == 3
    ((path, why),) = report.failures
    assert path == str(bad)
    assert "line 2" in why
    assert f"warning: {bad}: line 2" in str(report)


@pytest.mark.slow
def test_processes_give_the_same(dumps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "FLEET_BYTES", 1)
    done: list[tuple[int, int]] = []
    alone = ml.diagnose_many([dumps])
    several = ml.diagnose_many([dumps], jobs=2, progress=lambda *at: done.append(at))
    assert several == alone
    assert done == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("is_always", [True, False])
def test_a_process_that_dies_loses_at_most_one_file(
    dumps: Path, monkeypatch: pytest.MonkeyPatch, is_always: bool
) -> None:
    """The worker ends itself over one of the programs, each time or only the first."""
    monkeypatch.setattr(fleet, "FLEET_BYTES", 1)
    mark = dumps.parent / "died"
    command = (
        "import os, pathlib; from morello_layouts.programs.diagnostics import fleet; "
        f"mark, good = pathlib.Path({str(mark)!r}), fleet.digest_of; "
        f"dies = lambda: {is_always} or not mark.exists(); "
        "fleet.digest_of = lambda p: (mark.touch(), os._exit(3)) if 'quant' in p and dies() "
        "else good(p); fleet.serve()"
    )
    monkeypatch.setattr(fleet.DumpReader, "_COMMAND", command)
    report = ml.diagnose_many([dumps], jobs=1 + 1)
    assert mark.exists()
    if not is_always:
        assert report == ml.diagnose_many([dumps])
        return
    assert report.programs == 2
    ((path, why),) = report.failures
    assert "quant" in path
    assert "died, twice" in why


def test_few_bytes_are_read_without_another_process(
    dumps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "by_processes", lambda _, jobs: pytest.fail(f"{jobs} processes"))
    assert ml.diagnose_many([dumps], jobs=8).programs == 3
    size = sum(path.stat().st_size for path in fleet.programs_in([dumps]))
    monkeypatch.setattr(fleet, "FLEET_BYTES", size // 3)
    monkeypatch.setattr(fleet, "by_processes", lambda _, jobs: [{"path": str(jobs), "error": "x"}])
    assert ml.diagnose_many([dumps], jobs=8).failures == (("3", "x"),)
    assert ml.diagnose_many([dumps], jobs=2).failures == (("2", "x"),)


def test_memory_is_bounded_by_keys(dumps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "FLEET_KEYS", 4)
    report = ml.diagnose_many([dumps])
    assert len(report.by_shape) <= 4
    monkeypatch.undo()
    largest = ml.diagnose_many([dumps]).by_shape[0]
    assert report.by_shape[0] == largest


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same(dumps: Path) -> None:
    distributed = pytest.importorskip("distributed")
    (dumps / "bad.after_optimizations.txt").write_text("no HLO here\n")
    alone = ml.diagnose_many([dumps])
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=False
    ) as cluster:
        found = ml.diagnose_many([dumps], dask=cluster.scheduler_address)
    assert found == alone
    assert len(found.failures) == 1


def test_parquet(dumps: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    report = ml.diagnose_many([dumps])
    path = dumps.parent / "rows.parquet"
    report.write_parquet(path)
    rows = parquet.read_table(path).to_pylist()
    assert {row["table"] for row in rows} == {"source", "shape", "kind", "program"}
    kinds = [row for row in rows if row["table"] == "kind"]
    assert [(row["key"], row["bytes"]) for row in kinds] == [
        (row.key, row.bytes) for row in report.by_kind
    ]
    with pytest.raises(LayoutError, match="could not be written"):
        report.write_parquet(dumps / "no" / "folder")


def test_parquet_on_a_full_disk(dumps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_table(_: object, path: str) -> None:
        Path(path).write_text("half of")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(sys.modules, "pyarrow", MagicMock())
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", SimpleNamespace(write_table=write_table))
    path = dumps.parent / "rows.parquet"
    path.write_text("what stood there")
    with pytest.raises(LayoutError, match=r"rows\.parquet could not be written\nNo space left"):
        ml.diagnose_many([dumps]).write_parquet(path)
    assert path.read_text() == "what stood there"
    assert set(os.listdir(dumps.parent)) == {"dumps", "rows.parquet"}


def test_the_command(dumps: Path) -> None:
    result = CliRunner().invoke(commands, ["hlo", str(dumps), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(json.dumps(ml.diagnose_many([dumps]).to_dict()))
    pattern = CliRunner().invoke(commands, ["hlo", f"{dumps}/**/*after_optimizations.txt"])
    assert pattern.stdout.startswith("3 programs")
    wrong = CliRunner().invoke(commands, ["hlo", str(programs_in([dumps])[0]), "--dask", "x"])
    assert wrong.exit_code == 2
    assert "for many dumps" in wrong.stderr


def test_an_empty_report_prints() -> None:
    empty = FleetReport(0, 0, 0, 0, 0, 0, 0, (), (), (), (), ())
    assert str(empty).startswith("0 programs")


def test_a_truncated_program_is_named_and_not_counted(tmp_path: Path) -> None:
    whole = "ENTRY %m (a: f32[8]) -> f32[8] {\n  ROOT %a = f32[8]{0} parameter(0)\n}\n"
    (tmp_path / "whole.after_optimizations.txt").write_text(whole)
    (tmp_path / "cut.after_optimizations.txt").write_text(whole[: whole.index("meter")])
    found = ml.diagnose_many([tmp_path])
    assert found.programs == 1
    ((path, why),) = found.failures
    assert path.endswith("cut.after_optimizations.txt")
    assert why == "the text ends early, in the statement on line 2: not counted"
    assert why in str(found)
