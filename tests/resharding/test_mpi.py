"""Exchanges over MPI, on one machine: each test starts processes by ``mpirun``."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.support.paths import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed"),
    pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed"),
]

FAULTS = (
    *("wrong_shape", "disagreement", "no_part"),
    *("failure_on_the_way", "interrupt", "small_scratch"),
)


def run_ranks(processes: int, *names: str) -> None:
    command = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    command += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    run = subprocess.run(
        [*command, "-n", str(processes), sys.executable, "-m", "tests.support.mpi_ranks", *names],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("processes", [1, 2, 4, 6])
def test_every_element_arrives(processes: int) -> None:
    run_ranks(processes, "everything", "gathered", "plans")


def test_faults_are_told_to_all_and_change_no_source() -> None:
    run_ranks(4, *FAULTS)
