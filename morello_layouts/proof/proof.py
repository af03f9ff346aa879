"""What an answer looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from morello_layouts.errors import LayoutError

_MARK = {True: "✓", False: "✗", None: "?"}
_VERDICT = {True: "holds", False: "does not hold", None: "undecided"}


@dataclass(frozen=True, slots=True)
class SymbolicCounterexample:
    """A counterexample of symbolic sizes: the smallest sizes that have one, and the first there.

    Attributes:
        sizes: the smallest sizes, by name.
        at: the counterexample at these sizes, as a proof at numbers has it.

    >>> print(SymbolicCounterexample({"M": 1, "N": 129}, (0, 128)))
    (0, 128) at M = 1, N = 129
    """

    sizes: Mapping[str, int]
    at: Any

    def __hash__(self) -> int:
        return hash((tuple(self.sizes.items()), str(self.at)))

    def __str__(self) -> str:
        return f"{self.at} at {', '.join(f'{name} = {n}' for name, n in self.sizes.items())}"


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer to a yes-or-no question about index maps.

    Attributes:
        question: what was asked, one line.
        holds: True if it was proved, False if it was disproved, None if it was not decided.
        reason: how it was decided or why it was not, one line.
        counterexample: what shows that it does not hold: two coordinates that share an offset,
            a coordinate at which two maps differ, or the smallest offset that holds padding.
            With symbolic sizes an :class:`SymbolicCounterexample`: the smallest sizes, and that.
        condition: with symbolic sizes, a SymPy Boolean: for which of them it holds.
        when: the same in words.
        padding: elements of the buffer that hold nothing, where the question asks about them; a
            SymPy expression of symbolic sizes.
        assumptions: what was assumed of symbolic sizes.

    >>> proof = Proof("is it one-to-one?", True, "ISL: no two coordinates share an offset")
    >>> bool(proof), print(proof)
    is it one-to-one? holds: ISL: no two coordinates share an offset
    (True, None)
    """

    question: str
    holds: bool | None
    reason: str
    counterexample: Any = None
    condition: Any = None
    when: str | None = None
    padding: Any = None
    assumptions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        if self.holds is None:
            raise LayoutError(
                f"{self.question} was not decided",
                self.reason,
                "look at .holds, which is None, or raise the budget",
            )
        return self.holds

    def __str__(self) -> str:
        lines = [f"{self.question} {_VERDICT[self.holds]}: {self.reason}"]
        if self.counterexample is not None:
            lines.append(f"  counterexample: {self.counterexample}")
        if self.when is not None:
            lines.append(f"  holds {self.when}")
        if self.assumptions:
            lines.append(f"  assuming: {'; '.join(self.assumptions)}")
        if self.padding is not None:
            lines.append(f"  padding: {self.padding} elements")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        verdict, *details = (escape(line.strip()) for line in str(self).split("\n"))
        rows = "".join(f"<li>{line}</li>" for line in details)
        return f"<p><b>{_MARK[self.holds]}</b> {verdict}</p>" + (f"<ul>{rows}</ul>" if rows else "")

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "question": self.question,
            "holds": self.holds,
            "reason": self.reason,
            "counterexample": _plain(self.counterexample),
            "condition": None if self.condition is None else str(self.condition),
            "when": self.when,
            "padding": _plain(self.padding),
            "assumptions": list(self.assumptions),
        }


def _plain(value: Any) -> Any:
    """A counterexample or a count as JSON takes it."""
    if isinstance(value, SymbolicCounterexample):
        return {"sizes": dict(value.sizes), "at": _plain(value.at)}
    return value if isinstance(value, int | tuple | list | dict | None) else str(value)
