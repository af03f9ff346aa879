"""What an answer looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from morello_layouts.errors import LayoutError

__all__ = ["Proof"]

_VERDICT = {True: "holds", False: "does not hold", None: "undecided"}


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer to a yes-or-no question about index maps.

    Attributes:
        question: what was asked, one line.
        holds: True if it was proved, False if it was disproved, None if it was not decided.
        reason: how it was decided or why it was not, one line.
        counterexample: what shows that it does not hold: two coordinates that share an offset,
            a coordinate at which two maps differ, or the smallest offset that holds padding.
        condition: when it does hold, where that depends on something.
        padding: elements of the buffer that hold nothing, where the question asks about them.

    >>> proof = Proof("is it one-to-one?", True, "ISL: no two coordinates share an offset")
    >>> bool(proof), print(proof)
    is it one-to-one? holds: ISL: no two coordinates share an offset
    (True, None)
    """

    question: str
    holds: bool | None
    reason: str
    counterexample: Any = None
    condition: str | None = None
    padding: int | None = None

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
        if self.condition is not None:
            lines.append(f"  condition: {self.condition}")
        if self.padding is not None:
            lines.append(f"  padding: {self.padding} elements")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return {
            "question": self.question,
            "holds": self.holds,
            "reason": self.reason,
            "counterexample": self.counterexample,
            "condition": self.condition,
            "padding": self.padding,
        }
