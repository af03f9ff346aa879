"""The plugin of pytest: it collects ``*.layouts.toml``, a test for each contract and shape.

pytest loads it at each start, so it imports nothing before such a file is found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from morello_layouts.core.lazy import importing


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """Collect the contracts of a file."""
    if not file_path.name.endswith(".layouts.toml"):
        return None
    with importing:
        from morello_layouts.interfaces.testing.collector import ContractFile

    return ContractFile.from_parent(parent, path=file_path)
