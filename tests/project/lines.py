"""Lines of each package beside its budget in ``pyproject.toml``: ``python tests/project/lines.py``.

A line is a line of a tracked ``.py`` file under the formatter's rules. A package that has more
lines than its budget fails, as do one without a budget and a budget without a package. To raise
one, change its number in ``[tool.lines]`` and say why on the same line.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "morello_layouts"


def counted() -> tuple[Counter[str], Counter[str]]:
    """Return the lines and the modules of each package; a group's own modules bear its name."""
    lines, modules = Counter[str](), Counter[str]()
    for path in sorted(PACKAGE.rglob("*.py")):
        *folders, file = path.relative_to(PACKAGE).parts
        is_group = bool(folders) and folders[0] not in ("notations", "proof")
        if len(folders) > 1:
            name = folders[1] if is_group else folders[0]
        else:
            name = "top" if not folders or (is_group and file == "__init__.py") else folders[0]
        lines[name] += len(path.read_text(encoding="utf-8").splitlines())
        modules[name] += 1
    return lines, modules


def budgets() -> dict[str, int]:
    """Return the most lines that each package may have."""
    found: dict[str, int] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "lines"
    ]
    return found


def faults() -> list[str]:
    """Return what is over its budget, has none, or is not there."""
    lines, allowed = counted()[0], budgets()
    return [
        *(f"{name}: {n} lines, {allowed[name]} allowed" for name, n in lines.items()
          if n > allowed.get(name, n)),
        *(f"{name}: {n} lines, no budget" for name, n in lines.items() if name not in allowed),
        *(f"{name}: a budget, no package" for name in allowed if name not in lines),
    ]  # fmt: skip


def main() -> int:
    """Print the table, and what is wrong."""
    lines, modules = counted()
    allowed = budgets()
    rows = [(name, n, modules[name], allowed.get(name)) for name, n in sorted(lines.items())]
    rows.append(("all", sum(lines.values()), sum(modules.values()), sum(allowed.values())))
    for name, n, files, most in rows:
        sys.stdout.write(f"{name:14} {n:7,} lines {files:4} modules, at most {most}\n")
    for fault in faults():
        sys.stdout.write(f"{fault}\n")
    return bool(faults())


if __name__ == "__main__":
    sys.exit(main())
