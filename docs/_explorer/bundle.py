"""Compile the modules of wheels, folders and archives into one archive; Pyodide runs this."""

import io
import warnings
from collections.abc import Iterable, Iterator
from importlib._bootstrap_external import _code_to_timestamp_pyc
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, is_zipfile

LEFT_OUT = {"__pycache__", "tests", "benchmarks"}
warnings.simplefilter("ignore", SyntaxWarning)


def files_of(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a source, with their names."""
    if is_zipfile(source):
        with ZipFile(source) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist())
    else:
        paths = sorted(path for path in source.rglob("*") if path.is_file())
        yield from ((path.relative_to(source).as_posix(), path.read_bytes()) for path in paths)


def bundled(sources: Iterable[str]) -> bytes:
    """Return an archive of the sources' modules, compiled, and their other files."""
    written = io.BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        for source in sources:
            for name, data in files_of(Path(source)):
                *folders, file = name.split("/")
                if LEFT_OUT.intersection(folders) or not file or ".dist-info/" in name:
                    continue
                if file.endswith(".py"):
                    code = compile(data, name, "exec", dont_inherit=True, optimize=2)
                    archive.writestr(f"{name}c", bytes(_code_to_timestamp_pyc(code)))
                else:
                    archive.writestr(name, data)
    return written.getvalue()
