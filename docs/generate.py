"""Write everything in the documentation that the code makes: ``python docs/generate.py``.

The pages and the gallery's pictures go to docs/generated, which git ignores and each Sphinx build
writes anew. The pictures of the hand-written pages go to docs/figures and are committed, as are the
front page and the reference's first page, whose tables of questions are written anew, and the page
of advice, whose table is.
``--check`` makes everything, writes nothing, and fails if a committed file differs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import make_advice
import make_architecture
import make_commands
import make_figures
import make_formats
import make_gallery
import make_limits
import make_questions
import make_rules
import make_simplifier_table

DOCS: Final = Path(__file__).parent
FIGURES: Final = DOCS / "figures"
PAGES: Final = {
    "commands.md": make_commands.page,
    "formats.md": make_formats.page,
    "gallery.md": make_gallery.page,
    "limits.md": make_limits.page,
    "packages.svg": make_architecture.picture,
    "rules.md": make_rules.page,
    "simplifier_table.md": make_simplifier_table.page,
}


def generated() -> dict[Path, str]:
    """Return the text of every file in docs/generated."""
    pages = {name: page() for name, page in PAGES.items()}
    pictures = {f"gallery/{name}.svg": svg for name, svg in make_gallery.pictures().items()}
    return {DOCS / "generated" / name: text for name, text in (pages | pictures).items()}


def figures() -> dict[Path, str]:
    """Return the text of every committed picture, and of pages with tables that are made."""
    pictures = {FIGURES / f"{name}.svg": svg for name, svg in make_figures.pictures().items()}
    return pictures | make_questions.pages() | make_advice.pages()


def is_current(path: Path, text: str) -> bool:
    """Return whether a file holds a text."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def write(files: dict[Path, str]) -> None:
    """Write the files that differ: Sphinx reads only those again."""
    for path, text in files.items():
        if not is_current(path, text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write everything, or check what is committed; return 1 if a file differs."""
    pages, committed = generated(), figures()
    if arguments != ["--check"]:
        write(pages | committed)
        return 0
    wrong = [path for path in FIGURES.glob("*.svg") if path not in committed]
    wrong += [path for path, text in committed.items() if not is_current(path, text)]
    for path in wrong:
        print(f"{path}: differs from what the code draws, or has no code; run docs/generate.py")  # noqa: T201
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
