"""What pytest does differently when it judges mutants (``tests/mutants.py``)."""

from __future__ import annotations

import json
from pathlib import Path

# A mutant's process is a copy of one that has imported them.
import islpy  # noqa: F401
import pytest
import sympy  # noqa: F401
from hypothesis import Phase, settings

settings.register_profile(  # as dev, but a failing example is not made smaller
    "mutants",
    phases=[Phase.explicit, Phase.generate],
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the quickest tests first."""
    found = Path("mutmut-stats.json")
    times = json.loads(found.read_text("utf-8"))["duration_by_test"] if found.exists() else {}
    items.sort(key=lambda item: times.get(item.nodeid, 0.0))
