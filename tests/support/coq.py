"""Theorems in Coq: what a file states, and what the rules of the simplifier say.

``stated`` prints the docstring of a rule as a Coq proposition. The identity is copied: Coq reads
``(x // s) mod n`` by the notations at the top of ``tests/proof/rules.v``. Of the condition, each
clause is read by one of ``CLAUSES``; a clause that none of them reads is an error. An absent
modulus is 0: in Coq ``x mod 0`` is x, and each number divides 0.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

from morello_layouts.core.expr.choices import Rule

SIZES: Final = "stnmgk"
"""Letters of positive integers in the docstrings; other letters are integers of any sign."""

_E = r"((?:[a-z]\b|mod\b|\d|[-+·/^() ])+)"

CLAUSES: Final = {
    rf"\[{_E}\] lies in {_E}\.\.{_E}": "{1} <= {0} <= {2}",
    rf"\[{_E}\] and \[{_E}\] lie in {_E}\.\.{_E}": "{2} <= {0} <= {3} /\\ {2} <= {1} <= {3}",
    rf"(\w) is the only value in \[{_E}\]": "{0} <= {1} <= {0}",
    rf"\[{_E}\] is at least {_E}": "{1} <= {0}",
    rf"\[{_E}\] or \[{_E}\] is at least {_E}": "({2} <= {0} \\/ {2} <= {1})",
    rf"{_E} divides {_E}": "({0} | {1})",
    rf"one of {_E} and {_E} divides the other \(then (\w) is the smaller\)": (
        "(({0} | {1}) /\\ {2} = {0} \\/ ({1} | {0}) /\\ {2} = {1})"
    ),
    r"(\w) is absent": "{0} = 0",
    r"(\w) is absent \(then (\w) = (\w)\)": "{0} = 0 /\\ {1} = {2}",
    r"(\w) is absent or a power of two": "({0} = 0 \\/ power_of_two {0})",
    r"(\w) is a power of two": "power_of_two {0}",
    r"(\w) is a power of two above 1": "power_of_two {0} /\\ 1 < {0}",
    rf"(\w) is (\w) mod {_E} with the sign of \2": "{0} = Z.sgn {1} * (Z.abs {1} mod ({2}))",
    rf"(\w) is the number {_E}": "{0} = {1}",
}
"""Clauses of conditions, and what they are in Coq."""

NOT_NEEDED: Final = (
    "for y and z affine in the operands of x",
    "and of the exclusive ors on the right at most one has two parts that are not 0",
    "each modulus is above 1 or absent (for n = 1, a digit would be joined to itself)",
    "s > 1 and e is a multiple of c·n, larger than c·n",
    "and smaller than c",
    "at most one part on the right has a division",
    "and no other digit of the sum has the same operand (two digits of one operand may join later)",
)
"""Conditions under which a rule may fire, but without which its identity holds, and is proved."""


def stated(rule: Rule[Any]) -> str:
    """Return what the docstring of a rule says as a Coq proposition."""
    identity, _, said = rule.statement.partition(". ")
    # "…" is for more of the same: the rule once more, with what it joined for its first digit.
    identity = identity.removesuffix(".").replace(" + …", "").replace("·…", "")
    said = re.split("[;:]", said.removesuffix("."))[0]
    for phrase in NOT_NEEDED:
        said = said.replace(phrase, "")
    said = said.removeprefix("If ").strip(" ,") if said.startswith("If ") else ""
    letters = dict.fromkeys(re.findall(r"\b[a-z]\b", f"{identity} {_condition(said, ' ')}"))
    outside = re.sub(r"mod (\w+|\([^()]*\))", "", identity)
    divided = re.findall(r"\b[a-z]\b", outside)
    positive = [x for x in letters if x in divided and f"{x} is absent" not in said]
    bounds = [f"0 {'<' if x in positive else '<='} {x}" for x in letters if x in SIZES]
    conditions = _condition(said, "\n").split("\n") if said else []
    conclusion = " /\\ ".join(_coq(part) for part in identity.split(", and "))
    return _spaced(f"forall {' '.join(letters)}, {' -> '.join([*bounds, *conditions, conclusion])}")


def _condition(said: str, joint: str) -> str:
    """Return a condition in Coq; a comma joins more loosely than a word alone."""
    for pattern, coq in CLAUSES.items():
        if found := re.fullmatch(pattern, said):
            return coq.format(*(_coq(x) for x in found.groups()))
    for word, sign in (
        (", or ", " \\/ "),
        (r",(?: and)? ", joint),
        (" or ", " \\/ "),
        (" and ", joint),
    ):
        parts = re.split(word, said, maxsplit=1)
        if len(parts) == 2:
            inner = joint if sign == joint else " /\\ "
            both = sign.join(_condition(part, inner) for part in parts)
            return both if sign == joint else f"({both})"
    if said:
        raise ValueError(f"{said!r}: this clause is not in CLAUSES of {__name__}")
    return ""


def _coq(expression: str) -> str:
    for sign, name in ((">=", "ge0"), ("==", "eq0"), ("!=", "ne0")):  # 1 or 0
        expression = re.sub(rf"\(([^()]+) {sign} 0\)", rf"({name} (\1))", expression)
    return expression.replace("·", " * ").replace("^", "xor")


def _spaced(text: str) -> str:
    return " ".join(text.split())


def code(path: Path) -> str:
    """Return a Coq file without its comments, which may not hold others."""
    return re.sub(r"\(\*.*?\*\)", "", path.read_text("utf-8"), flags=re.DOTALL)


def theorems(path: Path) -> dict[str, str]:
    """Return the theorems of a Coq file, by name; lemmas only help to prove them."""
    found = re.findall(r"\bTheorem (\w+) : (.*?)\.\s+Proof\b", code(path), flags=re.DOTALL)
    return {name: _spaced(text) for name, text in found}


def assumed(path: Path, folder: Path) -> str:
    """Compile a Coq file in a folder, and return what its theorems assume.

    If they are proved from nothing else, Coq says "Closed under the global context".
    """
    copy = folder / path.name
    asked = f"Definition theorems := ({', '.join(theorems(path))}).\nPrint Assumptions theorems.\n"
    copy.write_text(path.read_text("utf-8") + asked, "utf-8")
    done = subprocess.run(
        ["coqc", "-q", copy.name], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
