"""Relayouts as functions, with a compiler and without one; and the command that prints kernels."""

from __future__ import annotations

import grp
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels import build, compiled
from tests.support.kernel_runs import need

LAYOUT = "{1,0:T(8,128)(2,1)}"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("MORELLO_LAYOUTS_CACHE", str(folder))
    build._built.cache_clear()
    compiled._compiled.cache_clear()


@pytest.fixture
def kernels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build nothing that kernels share, so that the cache has kernels only."""
    monkeypatch.setattr(build, "caller", lambda _: None)


def array(dtype: str = "int32") -> np.ndarray:
    return np.arange(19 * 140).reshape(19, 140).astype(dtype)


@pytest.mark.parametrize("with_compiler", [True, False])
@pytest.mark.parametrize("fill", [0, 3, None])
def test_a_function_on_buffers(
    with_compiler: bool, fill: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    r = ml.relayout("[0, 1]", LAYOUT, (19, 140))
    if with_compiler:
        need("gcc")
        f = r.compile("int32", fill=fill)
        assert f.by.endswith("gcc")
    else:
        monkeypatch.setenv("CC", "")
        with pytest.warns(RuntimeWarning, match="no C compiler"):
            f = r.compile("int32", fill=fill)
        assert f.by == "NumPy"
        assert f.function is None
    expected = ml.pack(LAYOUT, array(), fill=fill or 0)
    made = f(array().reshape(-1))
    assert made.dtype == np.int32
    assert (made == expected).all()
    out = np.full(r.target.size, -5, np.int32)
    assert f(array().reshape(-1), out) is out
    assert (out == ml.pack(LAYOUT, array(), fill=-5 if fill is None else fill)).all()


@pytest.mark.slow
def test_padding_that_is_left_is_zero_in_a_new_array(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    f = ml.relayout("[0, 1]", LAYOUT, (19, 140)).compile("int32", fill=None)
    given, expected = array().reshape(-1), ml.pack(LAYOUT, array())
    monkeypatch.setattr(np, "empty", lambda size, dtype: np.full(size, 0xAA, dtype))
    assert (f(given) == expected).all()


@pytest.mark.slow
def test_pack_and_unpack_compiled() -> None:
    need("gcc")
    for dtype in ("int8", "float16", "float32", "complex128"):
        x = array(dtype)
        buffer = ml.pack(LAYOUT, x, fill=1, compiled=True)
        assert buffer.dtype == x.dtype
        assert (buffer == ml.pack(LAYOUT, x, fill=1)).all()
        assert (ml.unpack(LAYOUT, buffer, x.shape, compiled=True) == x).all()
    assert (
        ml.pack(LAYOUT, array()[:, ::-1], compiled=True) == ml.pack(LAYOUT, array()[:, ::-1])
    ).all()
    assert ml.pack(
        "u4[4]{0:E(4)}", np.uint8([1, 2, 3, 4]), as_bytes=True, compiled=True
    ).tolist() == [33, 67]
    assert ml.pack("{0}", np.zeros(0, np.int8), compiled=True).shape == (0,)
    assert ml.unpack("f32[]", np.float32([7]), compiled=True).shape == ()


def test_the_type_comes_from_the_text() -> None:
    need("gcc")
    f = ml.relayout("bf16[4,6]{1,0}", "{0,1}").compile()
    assert f.dtype == np.uint16


@pytest.mark.slow
def test_a_fill_is_the_bits_of_types_that_numpy_lacks() -> None:
    need("gcc")
    r = ml.relayout("bf16[3]", "{0:T(4)}")
    assert r.compile(fill=0x3F80)(np.zeros(3, np.uint16)).tolist() == [0, 0, 0, 0x3F80]
    for name in ("bf16", "f8e5m2"):
        with pytest.raises(ml.LayoutError, match=rf"got 1\.0\nNumPy has no {name}.*bits"):
            ml.relayout("[0]", "{0:T(4)}", (3,)).kernel(dtype=name, fill=1.0)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("S2", b"xy"),
        ("U1", "x"),
        ("V4", np.void(b"abcd")),
        ("M8[s]", np.datetime64("2020-01-01", "s")),
        ("m8[s]", np.timedelta64(5, "s")),
    ],
)
def test_a_fill_of_a_type_that_is_no_number(dtype: str, fill: Any) -> None:
    need("gcc")
    kernel = ml.relayout("[0]", "{0:T(4)}", (3,)).compile(np.dtype(dtype), fill=fill)
    items = np.array([fill, np.zeros((), dtype)[()], fill], dtype)
    assert kernel(items).tolist() == [*items.tolist(), np.array(fill, dtype).item()]


@pytest.mark.slow
def test_reshaped_and_transposed_between() -> None:
    need("gcc")
    target = "f32[2,3,2,2]{3,2,1,0:T(2,128)}"
    r = ml.relayout("f32[4,6]{1,0:T(2,2)}", target, transpose=(0, 2, 1, 3), reshape=(2, 2, 3, 2))
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    made = r.compile()(ml.pack("f32[4,6]{1,0:T(2,2)}", x))
    assert (made == ml.pack(target, x.reshape(2, 2, 3, 2).transpose(0, 2, 1, 3))).all()


@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        ("uint8", [1, 2, 3, 4, 5, 300]),
        ("uint8", [1, 2, 3, 4, 5, -1]),
        ("uint8", [1.5] * 6),
        ("uint8", [float("nan")] * 6),
        ("uint8", ["1"] * 6),
        ("bool", [2] * 6),
        ("int64", [2**63] * 6),
        ("int32", ["a"] * 6),
        ("float32", ["1"] * 6),
        ("float32", [None] * 6),
        ("float32", [1j] * 6),
        ("float32", None),
        ("int32", None),
        ("int32", [[1, 2], [3]]),
        ("float32", [[1, 2], [3]]),
        ("int32", object()),
    ],
)
def test_buffers_of_other_values(dtype: str, given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "")
    with pytest.raises(ml.LayoutError, match="buffer: expected items of"):
        ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile(dtype)(given)
    with pytest.raises(ml.LayoutError, match="buffer: expected items of"):
        ml.relayout("u8[M,N]", "{0,1}").compile(dtype)(given, M=2, N=3)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint8", "float16", "complex64"])
def test_values_that_are_items(dtype: str) -> None:
    need("gcc")
    f = ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile(dtype)
    for given in ([1, 2, 3, 4, 5, 6], (1.0, 2, 3, 4, 5, 6), range(1, 7), bytearray(range(1, 7))):
        assert f(given).tolist() == [1, 4, 2, 5, 3, 6]


@pytest.mark.usefixtures("kernels_alone")
@pytest.mark.slow
def test_a_kernel_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    built = []
    monkeypatch.setattr(
        build, "_compile", lambda words, run=build._compile: (built.append(words), run(words))
    )
    r = ml.relayout("[0, 1]", "[1, 0]", (5, 7))
    for _ in range(2):
        build._built.cache_clear()
        compiled._compiled.cache_clear()
        assert r.compile("int8")(np.arange(35, dtype=np.int8))[1] == 7
    assert len(built) == 1


def test_a_compiler_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    need("false")
    monkeypatch.setenv("CC", "false")
    with pytest.raises(ml.LayoutError, match="refused the kernel"):
        ml.relayout("[0, 1]", "[1, 0]", (4, 6)).compile("int32")


def script(folder: Path, text: str) -> Path:
    path = folder / "cc"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no program at all", "cc, from CC or PATH, is not a C compiler that runs here"),
        ("#!/bin/sh\nprintf '\\377' >&2; exit 1\n", "cc refused the kernel\n\ufffd"),
        ("#!/bin/sh\nexit 0\n", "cc wrote no library.*\n.*\n.*set CC"),
        ('#!/bin/sh\nfor out; do :; done; : > "$out"\n', "cc wrote no library"),
        ('#!/bin/sh\nfor out; do :; done; echo text > "$out"\n', "cc wrote no library"),
        ("#!/bin/sh\nexec sleep 60\n", "cc did not end"),
    ],
)
def test_commands_that_are_not_compilers(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # asked for its version, one of them writes a file
    monkeypatch.setenv("CC", str(script(tmp_path, text)))
    monkeypatch.setattr(build, "COMPILER_SECONDS", 1)
    with pytest.raises(ml.LayoutError, match=message):
        ml.relayout("[0, 1]", "[1, 0]", (4, 6)).compile("int32")
    assert not list(build.cache_folder().glob("*.so"))


def test_a_compiler_that_is_not_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", 'gcc "')
    with pytest.raises(ml.LayoutError, match="CC: expected a command"):
        ml.relayout("[0, 1]", "[1, 0]", (4, 6)).compile("int32")


@pytest.mark.usefixtures("kernels_alone")
@pytest.mark.slow
def test_a_cache_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MORELLO_LAYOUTS_CACHE", ".")
    r = ml.relayout("[0, 1]", "[1, 0]", (2, 3))
    for _ in range(2):
        build._built.cache_clear()
        compiled._compiled.cache_clear()
        assert r.compile("int8")([1, 2, 3, 4, 5, 6]).tolist() == [1, 4, 2, 5, 3, 6]
    assert len(list(tmp_path.glob("*.so"))) == 1


@pytest.mark.usefixtures("kernels_alone")
@pytest.mark.slow
@pytest.mark.parametrize("change", ["nothing", "no library", "half", "zeros"])
def test_damaged_libraries_are_built_again(change: str) -> None:
    """Half a library would end the process where it was loaded."""
    need("gcc")
    r = ml.relayout("[0, 1]", "[1, 0]", (2, 3))
    r.compile("int8")
    (library,) = build.cache_folder().glob("*.so")
    whole = library.read_bytes()
    library.unlink()
    damaged = {
        "nothing": b"",
        "no library": b"no library",
        "half": whole[: len(whole) // 2],
        "zeros": whole[:4096].ljust(len(whole), b"\0"),
    }
    library.write_bytes(damaged[change])
    for _ in range(2):
        build._built.cache_clear()
        compiled._compiled.cache_clear()
        assert r.compile("int8")([1, 2, 3, 4, 5, 6]).tolist() == [1, 4, 2, 5, 3, 6]
    assert whole in [path.read_bytes() for path in build.cache_folder().glob("*.so")]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")
def test_a_cache_that_others_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    folder = build.cache_folder()
    for k, mode in enumerate((0o755, 0o770, 0o777, 0o1777)):
        folder.chmod(mode)
        r = ml.relayout("[0, 1]", "[1, 0]", (2, 3 + k))
        if not mode & 0o002:
            r.compile("int8")
            continue
        with pytest.raises(ml.LayoutError, match="other users can write to") as error:
            r.compile("int8")
        assert len(str(error.value).splitlines()) == 3
    folder.chmod(0o700)
    r.compile("int16")
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ml.LayoutError, match="other users can write to"):
        r.compile("int32")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")
def test_a_cache_that_a_group_writes_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o775)
    monkeypatch.setattr(build, "_is_own_group", lambda group: group != folder.stat().st_gid)
    with pytest.raises(ml.LayoutError, match="other users can write to"):
        build._require_private(folder)
    monkeypatch.undo()
    user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(folder.stat().st_gid)
    is_own = group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    assert build._is_own_group(group.gr_gid) is is_own
    assert not build._is_own_group(2**31 - 7), "no group has this number"


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="processes have no groups here")
def test_a_compiler_that_hangs_is_ended_with_its_children(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    driver = ["sh", "-c", f"sleep 600 & echo $! > {child}; wait"]
    monkeypatch.setattr(build, "COMPILER_SECONDS", 1)
    with pytest.raises(ml.LayoutError, match="did not end"):
        build._finished(driver)
    status = Path(f"/proc/{int(child.read_text())}/stat")
    for _ in range(100):  # a busy system takes its time to end a process
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        sleep(0.1)
    pytest.fail("the child runs on")


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MORELLO_LAYOUTS_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    with pytest.warns(RuntimeWarning, match="Could not .* directory.; set MORELLO_LAYOUTS_CACHE"):
        kernel = ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int32")
    assert kernel([1, 2, 3, 4, 5, 6]).tolist() == [1, 4, 2, 5, 3, 6]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["_processor", "_version"])
def test_each_processor_and_compiler_has_its_own_kernels(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    need("gcc")
    r = ml.relayout("[0, 1]", "[1, 0]", (2, 3))
    r.compile("int16")  # what all kernels share is built
    monkeypatch.setenv("MORELLO_LAYOUTS_CACHE", str(tmp_path))
    for kind in ("one", "another", "one"):
        build._built.cache_clear()
        compiled._compiled.cache_clear()
        monkeypatch.setattr(build, what, lambda *_, kind=kind: kind)
        r.compile("int8")
    assert len({path.name[:32] for path in build.cache_folder().glob("*.so")}) == 2


@pytest.mark.usefixtures("kernels_alone")
@pytest.mark.slow
def test_each_command_has_its_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    for command in ("gcc", "gcc -DX", "gcc"):
        build._built.cache_clear()
        compiled._compiled.cache_clear()
        monkeypatch.setenv("CC", command)
        ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int8")
    assert len({path.name[:32] for path in build.cache_folder().glob("*.so")}) == 2


UNWRITABLE = """
import morello_layouts as ml
for n in (3, 4, 5):
    moved = ml.relayout("[0, 1]", "[1, 0]", (2, n)).compile("int8")(range(2 * n)).tolist()
    assert moved == [k for i in range(n) for k in (i, i + n)], moved
print(ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int8").by)
"""


@pytest.mark.parametrize("kind", ["a file", "of the kernel", "full"])
def test_a_cache_that_cannot_be_written(kind: str, tmp_path: Path) -> None:
    """A kernel is built all the same, in a folder that is not left behind; one warning says so."""
    need("gcc")
    place = {"a file": "/dev/null/kernels", "of the kernel": "/proc/kernels"}.get(kind)
    script, spare = UNWRITABLE, tmp_path / "spare"
    spare.mkdir()
    if place is None:  # the disk is full: each copy into the cache ends in the middle
        place = str(tmp_path / "cache")
        script = f"""
import errno, shutil
def copyfile(source, target):
    open(target, "wb").write(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")
shutil.copyfile = copyfile
{UNWRITABLE}"""
    given = {"MORELLO_LAYOUTS_CACHE": place, "TMPDIR": str(spare)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env={**os.environ, **given}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "gcc" in done.stdout) == (0, True), done.stderr
    assert done.stderr.count("RuntimeWarning: built kernels are not kept") == 1, done.stderr
    assert not [*spare.iterdir(), *tmp_path.glob("cache/*"), *tmp_path.glob("cache/.*")]


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("c", "int main memcpy size_t relayout_copy relayout_zip_2x2 malloc abs _x strlen NULL é"),
        ("cuda", "int class main memcpy uint4 cudaMalloc relayout_index relayout_copy threadIdx"),
        ("python", "lambda np moved int None 9lives é"),
    ],
)
def test_names_that_are_taken(target: str, names: str) -> None:
    r = ml.relayout("[0, 1]", "[1, 0]", (4, 6))
    for name in names.split():
        with pytest.raises(ml.LayoutError, match="is not a name for a function"):
            r.kernel(target, "uint8", name=name)
    for name in ("relayout", "tile", "relayout_to_tiles", "t", "target"):
        assert f" {name}(" in r.kernel(target, "uint8", name=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t", "s", "target", "source", "row", "lambda", "v0"])
def test_names_that_are_free(name: str, tmp_path: Path) -> None:
    need("gcc")
    path = tmp_path / "kernel.c"
    path.write_text(ml.relayout("[0, 1]", LAYOUT, (19, 140)).kernel("c", "uint8", name=name))
    strict = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-march=native")
    subprocess.run(["gcc", *strict, str(path)], check=True)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "morello_layouts", "relayout", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "tile.c"
    done = command("f32[9,20]{1,0}", "{1,0:T(8,128)}", "-o", str(path), "--name", "tile")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"wrote {path} (")
    assert "void tile(void *restrict target, const void *restrict source)" in path.read_text()
    done = command(
        "NCHW", "NHWC", "--shape", "1x2x3x4", "--dtype", "bf16", "--target", "python", "--json"
    )
    said = json.loads(done.stdout)
    assert said["language"] == "python"
    assert said["dtype"] == "bf16"
    assert "def relayout(source, target=None):" in said["kernel"]
    assert (
        command("[0]", "[0]", "--shape", "4", "--dtype", "u8", "--target", "cuda").returncode == 0
    )
