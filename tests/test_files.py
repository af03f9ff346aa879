"""Files are written whole: a write that fails in the middle leaves what stood there, no more."""

from __future__ import annotations

import ast
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import morello_layouts
from morello_layouts.core.files import written
from morello_layouts.errors import LayoutError

PACKAGE = Path(morello_layouts.__file__).parent
OLD = "what stood there\n"


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    for text in ("first", "second"):
        before = target.read_text() if target.exists() else None
        with written(target) as beside:
            beside.write_text(text)
            assert (target.read_text() if target.exists() else None) == before
        assert target.read_text() == text
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [OSError, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("exists", [True, False])
def test_a_write_that_fails_leaves_nothing(
    tmp_path: Path, error: type[BaseException], exists: bool
) -> None:
    target = tmp_path / "a.txt"
    if exists:
        target.write_text(OLD)

    def write() -> None:
        with written(target) as beside:
            beside.write_text("half of")
            raise error

    with pytest.raises(LayoutError if issubclass(error, Exception) else error):
        write()
    assert [(x.name, x.read_text()) for x in tmp_path.iterdir()] == [("a.txt", OLD)] * exists


def test_modes(tmp_path: Path) -> None:
    """A new file has the mode of new files; one that is replaced has the old one's."""
    plain, target = tmp_path / "plain", tmp_path / "target"
    plain.write_text("")
    for mode in (stat.S_IMODE(plain.stat().st_mode), 0o640, 0o600, 0o755):
        with written(target) as beside:
            beside.write_text("new")
        if target.stat().st_size:
            target.chmod(mode)
        with written(target) as beside:
            beside.write_text("newer")
        assert stat.S_IMODE(target.stat().st_mode) == mode
    fresh = tmp_path / "fresh"
    with written(fresh):
        pass
    assert fresh.stat().st_mode == plain.stat().st_mode


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "a.txt", tmp_path / "link"
    link.symlink_to(target)
    for text in ("new", "newer"):  # the first time it leads to nothing
        with written(link) as beside:
            beside.write_text(text)
            assert beside.parent == target.parent
        assert link.is_symlink()
        assert target.read_text() == text
    assert os.listdir(target.parent) == ["a.txt"]


def test_what_is_no_plain_file_is_written_itself(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        with written(pipe) as beside:
            beside.write_text("through")
        assert reader.communicate(timeout=20)[0] == "through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    for path in ("/dev/null", "/dev/stdout", tmp_path):
        with written(path) as beside:
            assert beside == Path(path)


@pytest.mark.parametrize("name", ["nowhere/a.txt", "a" * 300, "a\0b"])
def test_an_error_names_the_path_that_was_given(name: str, tmp_path: Path) -> None:
    with pytest.raises(LayoutError) as error, written(tmp_path / name):
        pass
    assert error.value.what == f"{tmp_path / name} could not be written"
    assert error.value.why in (
        "No such file or directory",
        "File name too long",
        "embedded null byte",
    )
    assert not list(tmp_path.iterdir())


def test_a_folder_or_file_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The superuser may write all, so the system's refusals are played."""
    target = tmp_path / "a.txt"
    target.write_text(OLD)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with written(target) as beside:
            assert beside == target, "the file may be written, its folder not"
        with pytest.raises(LayoutError, match=r"new\.txt"), written(tmp_path / "new.txt"):
            pass
    monkeypatch.setattr(os, "access", lambda *_: False)
    with written(target) as beside:
        assert beside == target, "it refuses the write itself"


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from morello_layouts.interfaces.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit of a file's size")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.svg", ["draw", "[1, 0]", "--shape", "4,6", "-o"]),
        ("a.c", ["relayout", "f32[100,100]{1,0}", "{1,0:T(8,128)}", "-o"]),
        ("a.json", ["prove", "f32[1000,1000]{1,0:T(8,128)}", "--injective", "--certificate"]),
    ],
)
def test_the_command_keeps_the_old_file_on_a_full_disk(
    name: str, words: list[str], tmp_path: Path
) -> None:
    target = tmp_path / name
    target.write_text(OLD)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *words, str(target)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"{target} could not be written" in done.stderr
    assert [(x.name, x.read_text()) for x in tmp_path.iterdir()] == [(name, OLD)]


TEMPORARY = {
    "interfaces/explorer/worker.py": "standard output of a worker goes nowhere",
    "outputs/kernels/build.py": "the source of a kernel, in a temporary folder",
    "outputs/picture/picture.py": "what a converter of pictures reads, in a temporary folder",
    "programs/tpu_compiler/advise.py": "what the compiler reads, in a temporary folder",
    "programs/tpu_compiler/child.py": "what the parent reads, in a temporary folder",
    "programs/tpu_compiler/compare.py": "what the parent reads, in a temporary folder",
    "programs/tpu_compiler/process.py": "what the compiler reads, in a temporary folder",
}


def test_files_that_stay_are_written_by_one_function() -> None:
    """Other writes are into a folder that is removed, or add lines; each module says which."""
    found = set()
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("beside"))):
                    continue
                case ast.Call(func=ast.Attribute(attr="write_text" | "write_bytes")):
                    found.add(module)
                case ast.Call(
                    func=ast.Attribute(attr="open") | ast.Name("open"),
                    args=[*_, ast.Constant(mode)],
                ) if isinstance(mode, str) and set(mode) & set("wxa"):
                    found.add(module)
    assert {str(module.relative_to(PACKAGE)) for module in found} == TEMPORARY.keys()
