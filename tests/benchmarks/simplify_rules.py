"""The list of rules in docs/simplifier.md: ``python tests/benchmarks/simplify_rules.py --write``.

It is made from the rules' own names and docstrings. tests/docs/test_simplifier_page.py fails
if the page says something else.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse

from simplify_page import put, table

from morello_layouts.expr import rules
from morello_layouts.expr.rules import READABLE_RULES, Rule

TABLES = {
    "Digits of digits, before operands are simplified": rules.TOP_DOWN_DIGIT_RULES,
    "Sums, before operands are simplified": rules.TOP_DOWN_SUM_RULES,
    "Digits": rules.DIGIT_RULES,
    "Sums": rules.SUM_RULES,
    "When nothing else applies": rules.LAST_RULES,
    "Readable target only": READABLE_RULES,
}


def report() -> str:
    """Each table's rules, with their statements."""
    return "\n\n".join(f"**{name}**\n\n{_rules(some)}" for name, some in TABLES.items())


def _rules(some: tuple[Rule, ...]) -> str:  # type: ignore[type-arg]
    return table(["rule", "identity and side condition"], [[r.name, r.statement] for r in some], 2)


def main() -> None:
    """Print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    text = report()
    print(text)
    if parser.parse_args().write:
        put("rules", text)


if __name__ == "__main__":
    main()
