"""The command as a process: entry points, encodings, pipes, colour, time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MAIN = "bf16[10,200]{1,0:T(8,128)(2,1)}"


def run(*arguments: str | bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    env |= {"PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color", **more.pop("env", {})}
    command = [sys.executable, "-m", "morello_layouts", *arguments]
    return subprocess.run(command, capture_output=True, env=env, timeout=60, check=False, **more)


@pytest.mark.slow
def test_the_script_and_the_module_are_one() -> None:
    script = Path(sys.executable).with_name("morello-layouts")
    if not script.exists():
        pytest.skip("the package is not installed as a script here")
    by_name = subprocess.run([script, "--help"], capture_output=True, check=True)
    assert by_name.stdout == run("--help").stdout


@pytest.mark.slow
def test_statuses_of_the_process() -> None:
    assert run("prove", "f32[4]").returncode == 0
    assert run("prove", "f32[3,5]{1,0:T(2,2)}").returncode == 1
    bad = run("prove", "f32[3,5")
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert b"Traceback" not in bad.stderr


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_other_encodings_get_ascii(encoding: str) -> None:
    done = run("explain", MAIN, "--derivation", env={"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii")
    assert "\x1b[" not in text
    assert "recipe       [10,200] -> pad [16,256] -> split" in text
    assert "d0 v d1 >    0    2" not in text
    assert "d0 v d1 >    0    1" in text
    assert "####" in text


@pytest.mark.slow
def test_bytes_that_are_not_text() -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    for arguments in (("explain", b"f32[\xff3]"), ("explain", "f32[\u2217]")):
        done = run(*arguments, env=ascii_only)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Traceback" not in done.stderr
    done = run("explain", "-", input=b"f32[\xff3]")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_colour_only_in_a_terminal() -> None:
    forced = {"FORCE_COLOR": "1", "COLUMNS": "80"}
    coloured = run("explain", MAIN, env=forced).stdout
    assert b"\x1b[36m" in coloured
    assert b"\x1b[36m" not in run("explain", MAIN, env={**forced, "NO_COLOR": "1"}).stdout


@pytest.mark.slow
def test_a_reader_that_stops_early() -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [sys.executable, "-m", "morello_layouts", "explain", MAIN],
        stdout=write, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(write)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, b"")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk() -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "morello_layouts", "explain", "f32[2]", "--json"],
            stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert process.returncode == 2
    assert process.stderr.startswith(b"the output could not be written\n")


@pytest.mark.slow
def test_standard_output_that_is_closed() -> None:
    command = f"{sys.executable} -m morello_layouts explain 'f32[2]' >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_numbers_with_more_digits_than_python_prints_unasked() -> None:
    done = run("simplify", "*".join([str(10**18)] * 250))
    assert done.stdout == b"1" + b"0" * 4500 + b"\n"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_not_a_verdict(tmp_path: Path) -> None:
    """More output than a pipe holds breaks it inside the command, not at its end."""
    lines = "\n".join(f"  c{k} = f32[{k + 1},3]{{1,0:T(8,128)}} copy(p)" for k in range(1500))
    program = tmp_path / "large.txt"
    program.write_text(f"HloModule m\n\nENTRY e {{\n  p = f32[8]{{0}} parameter(0)\n{lines}\n}}\n")
    command = [sys.executable, "-m", "morello_layouts", "hlo", str(program), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait(60)
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (141, b"")
