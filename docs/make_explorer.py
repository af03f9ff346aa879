"""Write the explorer as a static site: ``python docs/make_explorer.py build/html/explorer``.

It consists of the page that the local explorer serves, pages of the notebooks, another engine.js,
Pyodide, the package, SymPy and mpmath as compiled modules, and the memory of a Python that has
imported them. Pyodide
comes from npm and the two packages from pip, each checked by its hash and kept in a cache; Node.js
compiles them with Pyodide's own Python.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

import make_notebooks

from morello_layouts.interfaces.explorer.server import FILES, content

HERE: Final = Path(__file__).parent / "_explorer"
PACKAGE: Final = Path(__file__).parents[1] / "morello_layouts"

PYODIDE: Final = "314.0.7"
PYODIDE_SHA512: Final = (
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
PYODIDE_FILES: Final = (
    "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json",
)  # fmt: skip
REQUIREMENTS: Final = """\
sympy==1.14.0 --hash=sha256:e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5
mpmath==1.3.0 --hash=sha256:a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c
"""
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' blob:; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'"
)


def cache() -> Path:
    """Return the folder that keeps what was downloaded."""
    kept = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "morello_layouts"
    kept.mkdir(parents=True, exist_ok=True)
    return kept


def pyodide() -> Path:
    """Return the folder with Pyodide's files, downloaded by npm if it is not there."""
    folder = cache() / f"pyodide-{PYODIDE}"
    if not folder.exists():
        archive = cache() / f"pyodide-{PYODIDE}.tgz"
        command = ["npm", "pack", f"pyodide@{PYODIDE}", "--pack-destination", str(cache())]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = hashlib.sha512(archive.read_bytes()).digest()
        if base64.b64encode(found).decode() != PYODIDE_SHA512:
            raise SystemExit(f"{archive} has another hash than {Path(__file__).name} says")
        part = folder.with_suffix(".part")
        with tarfile.open(archive) as opened:
            opened.extractall(part, filter="data")
        (part / "package").rename(folder)
        shutil.rmtree(part)
    return folder


def wheels() -> list[Path]:
    """Return the wheels of the packages in REQUIREMENTS, downloaded by pip if not there."""
    folder = cache() / f"wheels-{hashlib.sha256(REQUIREMENTS.encode()).hexdigest()[:12]}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(exist_ok=True)
        (part / "requirements.txt").write_text(REQUIREMENTS)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        options = ["--only-binary=:all:", "--dest", str(part), "-r", str(part / "requirements.txt")]
        subprocess.run([*pip, *options], check=True)
        part.rename(folder)
    return sorted(folder.glob("*.whl"))


def build(target: Path) -> None:
    """Write the site into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (target / name).write_bytes(content(name))
    examples = json.loads((target / "presets.json").read_text())
    for name in ("engine.js", "worker.js"):
        shutil.copyfile(HERE / name, target / name)
    page = target / "index.html"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    styled = policy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
    make_notebooks.write(target, styled)  # their outputs bring the styles of pictures and tables
    text = page.read_text(encoding="utf-8").replace("<title>", f"{policy}\n<title>", 1)
    own, here = "<!-- local -->", "What you type stays in this page, which opens offline too"
    page.write_text(re.sub(f"(?s){own}.*?{own}", here, text), encoding="utf-8")
    loaded = target / "pyodide"
    loaded.mkdir(exist_ok=True)
    for name in PYODIDE_FILES:
        shutil.copyfile(pyodide() / name, loaded / name)
    packages, library = target / "packages.zip", loaded / "python_stdlib.zip"
    sources = [packages, PACKAGE, *wheels(), "--", library, pyodide() / library.name]
    subprocess.run(["node", HERE / "bundle.mjs", pyodide(), *sources], check=True)
    memory = [HERE / "snapshot.mjs", pyodide(), packages, target / "memory.bin"]
    # The first example of each group: together they import all that answers need.
    firsts = {example["group"]: example["question"] for example in reversed(examples)}
    questions = json.dumps([*firsts.values()])
    subprocess.run(["node", *memory], check=True, input=questions.encode())
    _write_offline(target)


def _write_offline(target: Path) -> None:
    """Write the service worker, which knows the site's files and a version by their content."""
    paths = sorted(x for x in target.rglob("*") if x.is_file() and x.name != "offline.js")
    version = hashlib.sha256(b"".join(hashlib.sha256(x.read_bytes()).digest() for x in paths))
    names = json.dumps([x.relative_to(target).as_posix() for x in paths])
    head = f'"use strict";\nconst VERSION = "{version.hexdigest()[:16]}", FILES = {names};\n'
    text = (HERE / "offline.js").read_text(encoding="utf-8")
    (target / "offline.js").write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
