"""The list of rules in docs/simplifier.md is that of the rule tables."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "benchmarks"))

from simplify_page import part
from simplify_rules import report


def test_the_page_lists_the_rules_as_they_are() -> None:
    assert part("rules") == report(), "run: python tests/benchmarks/simplify_rules.py --write"
