"""The page of the simplifier's rules, docs/rules.md: ``python docs/make_rules.py``.

Identity and side condition are those of the rule tables, in the rules' own docstrings. Each example
is given to the rule itself, and what comes out is compared with what went in at every value of the
variables. ``--check`` writes nothing and fails where the page differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from morello_layouts.expr import AffineExpr, digit, variable
from morello_layouts.expr.affine import Digit
from morello_layouts.expr.rules import DIGIT_RULES, LAST_RULES, READABLE_RULES, SUM_RULES, Rule

PAGE: Final = Path(__file__).parent / "rules.md"
FAR: Final = 24
"""Variables without an end are tried from -FAR or to FAR."""

TABLES: Final[dict[str, tuple[Rule[Any], ...]]] = {
    "Rules for digits": DIGIT_RULES,
    "Rules for sums": SUM_RULES,
    "When nothing else applies": LAST_RULES,
    "For the readable target only": READABLE_RULES,
}

HEAD: Final = f"""# The rules

<!-- made by docs/make_rules.py from the rule tables -->

What the simplifier knows, rule by rule: the identity, the condition under which it holds, an
example where the rule fires, and one just past its condition, where it must not. [The
simplifier](simplifier.md) says how the rules are applied, and why that ends.

x, y, r, u are expressions, v is a variable; s, t, n, m, g, k are positive integers, c, e, q are
integers; `[x]` is the interval of values of x. "mod n" may be absent.

The page is made from the rules by `docs/make_rules.py`, which gives each example to the rule itself
and compares both sides at every value of the variables; those without bounds run from -{FAR} to
{FAR}. The target *cheapest* has no rules of its own: it searches among equal ways to write the same
digits.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """Where a rule fires, and where it must not.

    Attributes:
        fires: a form that the rule rewrites.
        stays: a form past the edge of the condition.
        why: what is amiss there.
        loose: what a rule without the condition would make of it; None where that would be right,
            but would not end, or leave the work of another rule undone.
    """

    fires: AffineExpr
    stays: AffineExpr
    why: str
    loose: AffineExpr | None = None


i, j, x, y = variable("i", 0, 31), variable("j", 0, 3), variable("x"), variable("y")

EXAMPLES: Final = {
    "identity": Example(digit(x, 1, 1), digit(x, 1, 2), "the modulus is 2", AffineExpr((), 0)),
    "constant": Example(
        variable("i", 8, 11) // 4,
        variable("i", 8, 12) // 4,
        "one value more, and the quotient has two",
        AffineExpr((), 2),
    ),
    "drop-mod": Example(
        digit(i, 8, 4),
        digit(variable("i", 0, 32), 8, 4),
        "i // 8 reaches 4, in the next block",
        variable("i", 0, 32) // 8,
    ),
    "flatten-nested": Example((x % 12) // 2, (x % 13) // 2, "2 does not divide 13", digit(x, 2, 6)),
    "extract-multiples": Example(
        (16 * x + j) // 8, (15 * x + j) // 8, "8 does not divide 15", 2 * x + j // 8
    ),
    "drop-remainder": Example(
        (4 * x + j) // 16,
        (4 * x + variable("j", 0, 4)) // 16,
        "j reaches 4, which is carried into 4·x",
        x // 4,
    ),
    "split-remainder": Example(
        (4 * x + j) % 12,
        (4 * x + variable("j", 0, 4)) % 12,
        "j reaches 4, which is carried into 4·x",
        4 * (x % 3) + variable("j", 0, 4),
    ),
    "drop-inner-mod": Example(
        (2 * (x % 6) + y) % 4, (2 * (x % 5) + y) % 4, "4 does not divide 2·5", (2 * x + y) % 4
    ),
    "flatten-inner-div": Example(
        (y + x // 4) // 2,
        (y + 3 * (x // 4)) // 2,
        "the floor has a factor: 3·(x // 4) is not (3·x) // 4",
        (4 * y + 3 * x) // 8,
    ),
    "join-digits": Example(
        x % 4 + 4 * digit(x, 4, 8),
        x % 4 + 5 * digit(x, 4, 8),
        "the factor is 5, where n is 4",
        x % 32,
    ),
    "constant-variable": Example(
        3 * variable("v", 5, 5) + x,
        3 * variable("v", 5, 6) + x,
        "v has two values",
        x + 15,
    ),
    "fold-div-mod": Example(
        x - 8 * (x // 8), x - 7 * (x // 8), "the factor is 7, where the divisor is 8", x % 8
    ),
    "reduce-factor": Example(
        (5 * x + y) % 4 + x,
        (5 * x + y) % 4 + digit(5 * x + y, 8, None),
        "another digit has the same operand, and the two must stay to be seen as such",
    ),
    "split-middle": Example(
        256 * digit(i, 2, 4) + 2048 * (i // 8),
        256 * digit(i, 2, 4) + 1024 * (i // 8),
        "e is c·n itself: the two digits lie side by side, and join-digits makes one of them",
    ),
}


def values_of(*forms: AffineExpr) -> Iterator[dict[str, int]]:
    """Every value of the variables of some forms, from the smallest magnitude on."""
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
    """The first values at which two forms differ; None where there are none."""
    return next((at for at in values_of(a, b) if a.evaluate(at) != b.evaluate(at)), None)


def applied(rule: Rule[Any], form: AffineExpr) -> AffineExpr | None:
    """What a rule makes of a form: of the form's digit, if the rule is one for digits."""
    node = form.as_atom() if rule in DIGIT_RULES else form
    assert not (rule in DIGIT_RULES and not isinstance(node, Digit)), f"{form} is no digit"
    return rule.apply(node)


def fired(rule: Rule[Any], form: AffineExpr) -> str:
    """The rule at work on a form, checked at every value."""
    after = applied(rule, form)
    if after is None or difference(form, after) is not None:
        raise AssertionError(f"{rule.name}: {form} does not become an equal form: {after}")
    return f"`{form}` = `{after}`{_bounds(form)}"


def stayed(rule: Rule[Any], example: Example) -> str:
    """The form that the rule leaves alone, and where it would be wrong to change it."""
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
    """The bounds of the variables that have some, in words."""
    bounded = [v for v in form.variables() if v.interval != (None, None)]
    parts = [f"{v.name} in {v.interval}" for v in sorted(bounded, key=lambda v: v.name)]
    return f", with {' and '.join(parts)}" if parts else ""


def section(rule: Rule[Any]) -> str:
    """What the page says of one rule."""
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
    """The whole page."""
    parts = [HEAD.strip()]
    for title, rules in TABLES.items():
        parts += [f"## {title}", *(section(rule) for rule in rules)]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; 1 where it differs."""
    text = page()
    if arguments == ["--check"]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
