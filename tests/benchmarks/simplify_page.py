"""What the scripts about the simplifier share: tables, and the part of a page to put one into."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

__all__ = ["PAGE", "machine", "put", "table"]

PAGE: Final = Path(__file__).parents[2] / "docs" / "simplifier_measured.md"


def put(name: str, text: str) -> None:
    """Put text in place of a part of the page."""
    page = PAGE.read_text()
    start = page.index("\n", page.index(f"<!-- begin {name}:"))
    end = page.index(f"<!-- end {name} -->")
    PAGE.write_text(f"{page[:start]}\n{text.strip()}\n{page[end:]}")


def table(head: list[str], rows: list[list[object]], left: int = 1) -> str:
    """A Markdown table; the first ``left`` columns stand left, the others right."""
    lines = [head, ["---"] * left + ["---:"] * (len(head) - left), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def machine() -> str:
    """The day, and what the measures were taken on."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":")[1].strip()
            break
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"{day}, {cpu}, Python {platform.python_version()}"
