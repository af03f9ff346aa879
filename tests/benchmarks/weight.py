"""What an installation weighs.

``python tests/benchmarks/weight.py`` prints the table of docs/how_to/embed_it.md: the files of each
distribution, without bytecode, and of the package in this clone.
"""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALONE = ("islpy",)
OTHERS = (
    "numpy",
    "sympy",
    "mpmath",
    "click",
    "rich",
    "pygments",
    "markdown-it-py",
    "mdurl",
    "waitress",
)


def own_bytes() -> int:
    """Return the bytes of the package's files."""
    every = (ROOT / "morello_layouts").rglob("*")
    return sum(p.stat().st_size for p in every if p.is_file() and p.suffix != ".pyc")


def bytes_of(distribution: str) -> int:
    """Return the bytes of an installed distribution's files."""
    paths = (file.locate() for file in files(distribution) or () if file.suffix != ".pyc")
    return sum(Path(path).stat().st_size for path in paths if Path(path).is_file())


def main() -> None:
    sizes = {"morello_layouts": own_bytes(), **{name: bytes_of(name) for name in (*ALONE, *OTHERS)}}
    core = sum(sizes[name] for name in ("morello_layouts", *ALONE))
    print("| part | MB |\n|---|--:|")
    for name, size in sizes.items():
        print(f"| {name} | {size / 1e6:.1f} |")
    print(f"| **morello_layouts and islpy** | **{core / 1e6:.0f}** |")
    print(f"| **all** | **{sum(sizes.values()) / 1e6:.0f}** |")


if __name__ == "__main__":
    main()
