"""The page of the simplifier's rules.

Identity and condition come from the rules' own docstrings. Each example is given to the rule
itself, and its result is compared with the input at every value of the variables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parents[1]))

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.affine import Call, Digit
from morello_layouts.core.expr.choices import (
    COMPARE_RULES,
    EQUAL_RULES,
    EXTREMUM_RULES,
    SELECT_RULES,
    Rule,
)
from morello_layouts.core.expr.rules import (
    DIGIT_RULES,
    LAST_RULES,
    READABLE_RULES,
    RULES_OF_CALLS,
    SUM_RULES,
    XOR_RULES,
)
from tests.support.expr_rule_cases import ENTRIES, Example

FAR: Final = 24
"""Variables without an end are tried from -FAR or to FAR."""

TABLES: Final[dict[str, tuple[Rule[Any], ...]]] = {
    "Rules for digits": DIGIT_RULES,
    "Rules for sums": SUM_RULES,
    "Rules for exclusive ors": XOR_RULES,
    "Rules for min and max": EXTREMUM_RULES,
    "Rules for comparisons": (*COMPARE_RULES, *EQUAL_RULES),
    "Rules for choices": SELECT_RULES,
    "When nothing else applies": LAST_RULES,
    "For the readable target only": READABLE_RULES,
}

HEAD: Final = f"""# The rules of the simplifier

Each rule is an identity with a condition. Each has an example that it rewrites, and one just past
its condition that it must leave alone. [The simplifier](../simplifier.md) says how the rules are
applied, and why that ends.

x, y, z, r, u are expressions and v is a variable; s, t, n, m, g, k are positive integers; c, e,
p, q are integers; `[x]` is the interval of values of x. "mod n" may be absent.

Each identity is proved in Coq under its condition, for all integers and all positive sizes.
[The simplifier](../simplifier.md) says what that proves, and what it does not.

The page is made from the rule tables. Each example was given to the rule itself, and both sides
were compared at every value of the variables. Variables without bounds ran from -{FAR} to {FAR}.
The target *cheapest* has no rules of its own: it searches among equal ways to write a form.
"""


EXAMPLES: Final = {name: entry.example for name, entry in ENTRIES.items()}


def values_of(*forms: AffineExpr) -> Iterator[dict[str, int]]:
    """Yield every value of the variables of some forms, the smallest magnitude first."""
    found = {v.name: v.interval for form in forms for v in form.variables()}
    ranges = []
    for interval in found.values():
        low, high = interval
        first = low if isinstance(low, int) else -FAR
        last = high if isinstance(high, int) else FAR
        ranges.append(sorted(range(first, last + 1), key=lambda n: (abs(n), -n)))
    for at in product(*ranges):
        yield dict(zip(found, at, strict=True))


def difference(a: AffineExpr, b: AffineExpr) -> dict[str, int] | None:
    """Return the first values at which two forms differ, or None."""
    return next((at for at in values_of(a, b) if a.evaluate(at) != b.evaluate(at)), None)


def applied(rule: Rule[Any], form: AffineExpr) -> AffineExpr | None:
    """Return the result of a rule on a form, or on its atom if the rule is for atoms."""
    is_for_atoms = rule in DIGIT_RULES or any(rule in some for some in RULES_OF_CALLS.values())
    node = form.as_atom() if is_for_atoms else form
    assert isinstance(node, Digit | Call) or not is_for_atoms, f"{form} is not an atom"
    return rule.apply(node)


def fired(rule: Rule[Any], form: AffineExpr) -> str:
    """Return the equation that a rule makes of a form, checked at every value."""
    after = applied(rule, form)
    if after is None or difference(form, after) is not None:
        raise AssertionError(f"{rule.name}: {form} does not become an equal form: {after}")
    return f"`{form}` = `{after}`{_bounds(form)}"


def stayed(rule: Rule[Any], example: Example) -> str:
    """Return the form that a rule leaves alone, with a value at which the change is wrong."""
    form, loose = example.stays, example.loose
    if applied(rule, form) is not None:
        raise AssertionError(f"{rule.name} fires on {form}")
    text = f"`{form}`{_bounds(form)}: {example.why}."
    if loose is None:
        return text
    at = difference(form, loose)
    if at is None:
        raise AssertionError(f"{rule.name}: {form} is {loose} everywhere")
    place = ", ".join(f"{name} = {value}" for name, value in at.items())
    return f"{text} At {place} it is {form.evaluate(at)}, and `{loose}` is {loose.evaluate(at)}."


def _bounds(form: AffineExpr) -> str:
    """Return the bounds of the bounded variables in words."""
    bounded = [v for v in form.variables() if v.interval != (None, None)]
    parts = [f"{v.name} in {v.interval}" for v in sorted(bounded, key=lambda v: v.name)]
    return f", with {' and '.join(parts)}" if parts else ""


def section(rule: Rule[Any]) -> str:
    """Return the section of one rule."""
    identity, _, condition = (rule.apply.__doc__ or "").strip().partition("\n\n")
    said = " ".join(condition.split())
    example = EXAMPLES[rule.name]
    lines = [
        f"### {rule.name}",
        f"```text\n{' '.join(identity.split()).removesuffix('.')}\n```",
        *([said] if said else []),
        f"- Fires: {fired(rule, example.fires)}\n- Stays: {stayed(rule, example)}",
    ]
    return "\n\n".join(lines)


def page() -> str:
    """Return the whole page."""
    parts = [HEAD.strip()]
    for title, rules in TABLES.items():
        parts += [f"## {title}", *(section(rule) for rule in rules)]
    return "\n\n".join(parts) + "\n"
