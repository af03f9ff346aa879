"""Compilations: recorded dumps, and a command in place of the compiler that may do anything."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

import morello_layouts as ml
from morello_layouts.programs.tpu_compiler import process
from morello_layouts.programs.tpu_compiler.compilation import (
    Compilation,
    async_bytes,
    compile_module,
)
from morello_layouts.programs.tpu_compiler.process import Compiler, bounded, compiled
from tests.support.fake_compiler import marked
from tests.support.paths import DATA, ROOT, SAFELY

FAKE = str(Path(__file__).parents[1] / "support" / "fake_compiler.py")
OOM = "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required (16.01T)\nmore"


def fake(do: object, *more: str, seconds: float = 60) -> Compiler:
    return Compiler((sys.executable, FAKE, str(do), *more), seconds)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    with tarfile.open(DATA / "tpu_compilations.tar.xz") as archive:
        archive.extractall(folder, **SAFELY)
    (folder / "out_of_memory" / "error").write_text(OOM)
    return folder


@pytest.fixture(scope="module")
def scan(recorded: Path) -> Compilation:
    return compile_module(b"", "v5e", compiler=fake(recorded / "scan"))


def test_figures_of_a_recorded_program(scan: Compilation) -> None:
    """The compiler's own report of memory says 138,240 bytes of HBM and 3,078,144 of VMEM."""
    figures = scan.figures
    assert figures.peak_bytes == scan.memory.total == 138_240
    assert figures.vmem_bytes == 3_078_144
    # Each of 1,000 steps copies f32[3,3]; the stacks of bf16 and of f32 are rewritten; a counter.
    assert figures.moved_bytes == 1000 * 2048 + 1_024_000 + 49_152 + 512
    assert figures.cycles == 1000 * (1824 + 2066) + 2 * 3998


def test_asynchronous_copies_to_hbm_are_counted_apart() -> None:
    """A copy writes 4 KiB, an update its slice; loads into VMEM and gathers do not count."""
    module = ml.read_hlo("""
%update (a: f32[8,128], b: f32[2,128], i: s32[]) -> f32[8,128] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  %b = f32[2,128]{1,0:T(2,128)} parameter(1)
  %i = s32[]{:T(128)} parameter(2)
  ROOT %u = f32[8,128]{1,0:T(8,128)} dynamic-update-slice(%a, %b, %i, %i)
}
ENTRY %main (x: f32[8,128], y: f32[2,128], i: s32[]) -> f32[8,128] {
  %x = f32[8,128]{1,0:T(8,128)} parameter(0)
  %y = f32[2,128]{1,0:T(2,128)} parameter(1)
  %i = s32[]{:T(128)} parameter(2)
  %out = (f32[8,128]{1,0:T(8,128)}, f32[8,128]{1,0:T(8,128)S(1)}, u32[]{:S(2)}) copy-start(%x)
  %in = (f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%x)
  %all = (f32[8,128]{1,0:T(8,128)}, f32[16,128]{1,0:T(8,128)}) all-gather-start(%x), dimensions={0}
  %s = ((f32[8,128]{1,0:T(8,128)}, f32[2,128]{1,0:T(2,128)}, s32[]{:T(128)}),
    f32[8,128]{1,0:T(8,128)}, u32[]{:S(2)}) async-start(%x, %y, %i), calls=%update
  ROOT %r = f32[8,128]{1,0:T(8,128)} async-done(%s)
}
""")
    assert async_bytes(module, {"main": 3}) == 3 * (4096 + 1024)


def test_report_says_verdict_and_peak(scan: Compilation) -> None:
    lines = str(scan).splitlines()
    assert lines[0] == "jit_products compiles for TPU v5e"
    assert lines[1].startswith("HBM at the peak: 135.00 KiB; VMEM: 2.94 MiB")
    assert lines[2].startswith("copies and relayouts write 2.98 MiB, loops counted; async")
    assert str(scan).count("copies and relayouts write") == 1
    assert "Alive at the peak, by source line" in str(scan)
    found = scan.to_dict()
    assert found["peak_bytes"] == scan.figures.peak_bytes
    assert found["diagnosis"]["module"] == "jit_products"


def test_program_without_memory_is_reported(recorded: Path) -> None:
    found = compile_module(b"", "v5e", compiler=fake(recorded / "out_of_memory"))
    assert found.summary().title == "jit__lambda does not compile for TPU v5e"
    assert found.summary().warnings[0].startswith("RESOURCE_EXHAUSTED: Ran out of memory on HBM")
    assert found.figures.peak_bytes == 17_601_312_850_432
    assert found.figures.cycles is None


def test_dumps_are_kept(recorded: Path, tmp_path: Path) -> None:
    compile_module(b"", "v5e", compiler=fake(recorded / "scan"), keep=tmp_path / "kept")
    assert {p.suffix for p in (tmp_path / "kept").iterdir()} == {".txt"}


def test_job_names_topology_and_devices(tmp_path: Path) -> None:
    script = tmp_path / "show.py"
    script.write_text(
        "import sys, json, os, pathlib\n"
        "f = pathlib.Path(sys.argv[1])\n"
        "job = json.loads((f / 'job.json').read_text())\n"
        "flags, platform = os.environ['XLA_FLAGS'], os.environ['JAX_PLATFORMS']\n"
        "error = [job['topology'], job['devices'], flags, platform]\n"
        "(f / 'result.json').write_text(json.dumps({'error': json.dumps(error)}))\n"
    )
    with compiled(b"", "v5p", 16, compiler=Compiler((sys.executable, str(script)))) as outcome:
        topology, devices, flags, platform = json.loads(outcome.error)
    assert (topology, devices, platform) == ("v5p:2x2x4", 16, "cpu")
    assert "--xla_dump_to=" in flags


@pytest.mark.parametrize(
    ("do", "what", "why"),
    [
        ("crash", "the TPU compiler ended without an answer", "the compiler has crashed"),
        (
            "refuse",
            "the TPU compiler refuses the program: INTERNAL: RET_CHECK failure",
            "INTERNAL: RET_CHECK failure\nin target.cc",
        ),
    ],
)
def test_compilers_that_fail(do: str, what: str, why: str) -> None:
    with pytest.raises(ml.LayoutError) as caught:
        compile_module(b"", "v5e", compiler=fake(do))
    assert (caught.value.what, caught.value.why) == (what, why)


def test_compiler_that_hangs_ends_with_its_children(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(ml.LayoutError, match="took more than 1 seconds"):
        compile_module(
            b"",
            "v5e",
            compiler=fake("hang", str(tmp_path / "pid"), seconds=1),
            progress=said.append,
        )
    assert said[0].startswith("compiling for v5e: 0 s")
    _require_end(tmp_path / "pid")


def _require_end(told: Path) -> None:
    """Wait for the end of the process whose number a file holds."""
    deadline = time.monotonic() + 60
    while _runs(int(told.read_text())):
        assert time.monotonic() < deadline, "it outlives the compilation"
        time.sleep(0.1)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("is_begun", [False, True])
def test_nothing_outlives_a_parent_that_is_killed(
    how: signal.Signals, is_begun: bool, tmp_path: Path
) -> None:
    """As by a second SIGTERM: no handler runs, and the compiler, or its import, would go on."""
    told, jax, folders = tmp_path / "pid", tmp_path / "jax", tmp_path / "folders"
    jax.mkdir()
    folders.mkdir()
    (jax / "__init__.py").write_text(
        "import os, pathlib, time\n"
        f"pathlib.Path({str(told)!r}).write_text(str(os.getpid())); time.sleep(600)\n"
    )
    script = (
        "import sys\n"
        "from morello_layouts.programs.tpu_compiler.process import Compiler, compiled\n"
        "with compiled(b'', 'v5e', compiler=Compiler(tuple(sys.argv[1:]))): pass\n"
    )
    command = [sys.executable, FAKE, "hang", str(told)] if is_begun else []
    found = os.pathsep.join(map(str, (tmp_path, ROOT)))
    environment = {**os.environ, "TMPDIR": str(folders), "PYTHONPATH": found}
    parent = subprocess.Popen([sys.executable, "-c", script, *command], env=environment)
    while not (told.exists() and told.read_text()) and parent.poll() is None:
        time.sleep(0.01)
    parent.send_signal(how)
    parent.wait()
    _require_end(told)
    deadline = time.monotonic() + 60
    while is_begun and list(folders.iterdir()):
        assert time.monotonic() < deadline, "its folder is left"
        time.sleep(0.1)


def test_a_server_that_nobody_listens_to_ends_what_it_began(tmp_path: Path) -> None:
    """Its parent dies after it has sent a folder, and before it has read a number."""
    (tmp_path / "job").mkdir()
    command = [sys.executable, FAKE, "hang", str(tmp_path / "pid")]
    server = [sys.executable, process._CHILD, str(os.getpid()), *command]
    environment = {**os.environ, "THIS_TEST": str(tmp_path)}
    with subprocess.Popen(
        server, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=-3
    ) as running:
        assert running.stdin
        assert running.stdout
        running.stdout.close()
        running.stdin.write(f"{tmp_path / 'job'}\n".encode())
        running.stdin.flush()
        running.wait(60)
        assert marked(str(tmp_path)) == []
    assert not (tmp_path / "job").exists()


def test_a_server_whose_parent_died_before_it_began_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("import time; time.sleep(600)")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    other = [sys.executable, process._CHILD, str(os.getppid())]
    assert subprocess.run(other, env=environment, timeout=60, check=False).returncode == 0


def test_compilation_ends_at_a_dump() -> None:
    compiler = replace(fake("slow"), until="after_buffer_assignment.txt")
    found = compile_module(b"", "v5e", compiler=compiler)
    assert (found.figures.peak_bytes, found.figures.cycles, found.error) == (1 << 20, None, "")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system has no /proc")
def test_compiler_that_takes_too_much_memory_ends() -> None:
    with pytest.raises(ml.LayoutError, match=r"took more than 0\.1 GiB of memory"):
        compile_module(b"", "v5e", compiler=bounded(fake("eat"), None, 0.1))


def test_topologies_hold_the_devices() -> None:
    from morello_layouts.programs.tpu_compiler.process import _topology

    wrong = []
    for generation in ml.tpu.GENERATIONS:
        for devices in (1, 4, 8, 16, 32, 64, 128, 256):
            sides = [int(n) for n in _topology(generation, devices).partition(":")[2].split("x")]
            cores = 2 if generation in ("v2", "v3", "v4", "tpu7x") else 1
            chips = sides[0] * sides[1] * (sides[2] if len(sides) > 2 else 1)
            if not devices <= chips * cores < max(2 * devices, 9) or chips % 4:
                wrong.append((generation, devices, sides))
    assert not wrong


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("(f / 'result.json').write_text('[1]')", "ended without an answer"),
        ("(f / 'result.json').write_text('{\"error\": 3}')", "ended without an answer"),
        ("\nwhile True: print('y' * 100000)", "67,108,864 bytes of log"),
    ],
)
def test_a_command_that_answers_anything_else_is_refused(
    script: str, what: str, tmp_path: Path
) -> None:
    (tmp_path / "say.py").write_text(
        f"import pathlib, sys; f = pathlib.Path(sys.argv[1]); {script}"
    )
    with pytest.raises(ml.LayoutError, match=what):
        compile_module(b"", "v5e", compiler=Compiler((sys.executable, str(tmp_path / "say.py"))))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system has no /proc")
def test_a_process_that_left_the_group_is_ended(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    (tmp_path / "leave.py").write_text(
        "import pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        f"pathlib.Path({str(told)!r}).write_text(str(child.pid)); time.sleep(300)\n"
    )
    with pytest.raises(ml.LayoutError, match="took more than 3 seconds"):
        compile_module(
            b"", "v5e", compiler=Compiler((sys.executable, str(tmp_path / "leave.py")), 3)
        )
    _require_end(told)
