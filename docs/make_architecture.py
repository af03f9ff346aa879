"""The picture of the package: its groups from top to bottom, and what each imports.

A box is a package with its lines and modules; an arrow leads from a group to one that its modules
import, as thick as there are imports. Everything is read from the source, so an arrow that climbs
would show.
"""

from __future__ import annotations

import ast
from collections import Counter
from html import escape
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1] / "morello_layouts"
GROUPS: Final = ["interfaces", "programs", "machines", "outputs", "proof", "notations", "core"]
WIDTH: Final = 900
BOX: Final = (104, 40)
ROW: Final = 74
COLUMNS: Final = 7


def rooms() -> dict[str, list[tuple[str, int, int]]]:
    """Return the packages of each group, each with its lines and modules."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    for group in GROUPS:
        inner = sorted(p for p in (PACKAGE / group).iterdir() if any(p.glob("*.py")))
        of_group = [(p.name, list(p.rglob("*.py"))) for p in inner if p.is_dir()]
        own = [p for p in (PACKAGE / group).glob("*.py") if p.name != "__init__.py"]
        if len(of_group) < 2:  # a package of one kind: its folders are not rooms
            of_group, own = [(group, list((PACKAGE / group).rglob("*.py")))], []
        of_group += [(p.stem, [p]) for p in own]
        found[group] = [
            (name, sum(len(f.read_text("utf-8").splitlines()) for f in files), len(files))
            for name, files in sorted(of_group)
        ]
    return found


def imports() -> Counter[tuple[str, str]]:
    """Return how many imports lead from one group to another."""
    found = Counter[tuple[str, str]]()
    for group in GROUPS:
        for path in (PACKAGE / group).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
                names = module.split(".")
                if names[0] != "morello_layouts":
                    continue
                to = names[1:2] or [name.name for name in node.names]  # type: ignore[union-attr]
                found.update((group, x) for x in to if x in GROUPS and x != group)
    return found


def picture() -> str:
    """Return the package as SVG."""
    parts, top, middle = list[str](), 8, dict[str, int]()
    width, height = BOX
    for group, boxes in rooms().items():
        rows = -(-len(boxes) // COLUMNS)
        tall = 24 + rows * (height + 10)
        middle[group] = top + tall // 2
        parts.append(
            f'<rect class="group" x="8" y="{top}" width="{COLUMNS * (width + 10) + 10}" '
            f'height="{tall}" rx="6"/><text class="name" x="18" y="{top + 16}">{group}</text>'
        )
        for k, (name, lines, modules) in enumerate(boxes):
            x, y = 18 + k % COLUMNS * (width + 10), top + 24 + k // COLUMNS * (height + 10)
            parts.append(
                f'<rect class="room" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>'
                f'<text x="{x + 8}" y="{y + 17}">{escape(name)}</text>'
                f'<text class="small" x="{x + 8}" y="{y + 32}">{lines:,} in {modules}</text>'
            )
        top += tall + 12
    for (group, to), count in sorted(imports().items()):
        up = middle[to] < middle[group]
        x = 8 + COLUMNS * (width + 10) + 10
        bend = x + 14 + abs(middle[to] - middle[group]) // 8
        parts.append(
            f'<path class="{"up" if up else "down"}" stroke-width="{1 + count // 40}" '
            f'd="M{x} {middle[group]} C{bend} {middle[group]} {bend} {middle[to]} {x} {middle[to]}"'
            f"><title>{group} imports {to}: {count}</title></path>"
        )
    style = (
        "text{font:13px sans-serif;fill:#222}.small{font-size:11px;fill:#555}"
        ".name{font-weight:bold}.group{fill:#f3f4f6;stroke:#cbd0d6}"
        ".room{fill:#fff;stroke:#6b7f99}path{fill:none;stroke:#6b7f99;opacity:.6}"
        ".up{stroke:#c00;opacity:1}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 60} {top}" '
        f'role="img"><title>The packages and what they import</title><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
