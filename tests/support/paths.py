"""The folders that tests read."""

import csv
import gzip
import importlib
import json
import lzma
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


def lines(name: str) -> list[str]:
    """Return the lines of a file of data, which may be packed, without remarks."""
    data = (DATA / name).read_bytes()
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(Path(name).suffix, bytes)
    found = unpack(data).decode().splitlines()
    return [line for line in found if not line.startswith("#")]


def rows(name: str) -> list[Any]:
    """Return the rows of a file: values of JSON, or cells."""
    found = lines(name)
    if ".jsonl" in name:
        return [json.loads(line) for line in found]
    return [line.split("\t") for line in found]


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a file that begins with the names of its columns."""
    return list(csv.DictReader(lines(name), delimiter="\t", quoting=csv.QUOTE_NONE))


def loaded(name: str) -> ModuleType:
    """Return a script of docs, which is not a package."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""How an archive is unpacked: the filter came with Python 3.11.4."""
