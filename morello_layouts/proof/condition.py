"""For which sizes something holds: ISL's sets of parameters as conditions that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import islpy as isl

from morello_layouts.proof.facts import Fact, read
from morello_layouts.proof.space import Space

if TYPE_CHECKING:
    import sympy

__all__ = ["ALWAYS", "NEVER", "Condition"]

ALWAYS: Final = "for all sizes"
NEVER: Final = "for no sizes"

_RANKS: Final = {"least": 0, "divides": 1, "equal": 2}
"""Which facts a condition can do without first."""


@dataclass(frozen=True)
class Condition:
    """The sizes for which something holds, out of those that are assumed.

    Attributes:
        holds: the sizes for which it holds.
        space: a space with the parameters, whose ``sizes`` are those assumed.
    """

    holds: isl.Set
    space: Space

    @property
    def is_always(self) -> bool:
        """Whether it holds for all sizes that are assumed."""
        return bool(self.space.sizes.is_subset(self.holds))

    @property
    def is_never(self) -> bool:
        """Whether it holds for none of them."""
        return bool(self.space.sizes.intersect(self.holds).is_empty())

    @cached_property
    def parts(self) -> list[list[Fact]] | None:
        """The condition as an Or of Ands of facts; None where it has no such form.

        What is read off ISL's constraints is held against ISL's set, so a wrong reading is none.
        """
        covered = isl.Set.empty(self.holds.get_space())
        parts: list[list[Fact]] = []
        for part in sorted(self._candidates(), key=lambda part: (len(part), list(map(str, part)))):
            if not self._suffices(part):
                return None
            if not self._sizes(part).is_subset(covered):
                parts.append(part)
                covered = covered.union(self._sizes(part))
        return parts if self.holds.intersect(self.space.sizes).is_subset(covered) else None

    def _candidates(self) -> list[list[Fact]]:
        simple = self.holds.intersect(self.space.sizes).coalesce().gist(self.space.sizes)
        found = []
        for part in simple.coalesce().get_basic_sets():
            facts = (read(c, self.space.parameters) for c in part.get_constraints())
            found.append(self._weakest([fact for fact in facts if fact is not None]))
        return found

    def _weakest(self, facts: list[Fact]) -> list[Fact]:
        """The facts without those that are not needed for the condition to hold."""
        for fact in sorted(facts, key=lambda fact: _RANKS[fact.kind]):
            fewer = [one for one in facts if one is not fact]
            if self._suffices(fewer):
                facts = fewer
        return facts

    def _suffices(self, facts: Sequence[Fact]) -> bool:
        """Whether the condition holds wherever the facts do."""
        return bool(self._sizes(facts).is_subset(self.holds))

    def _sizes(self, facts: Sequence[Fact]) -> isl.Set:
        found = self.space.sizes
        for fact in facts:
            found = found.intersect(fact.sizes(self.space))
        return found

    def sympy(self, named: Mapping[str, sympy.Symbol]) -> Any:
        """The condition as a SymPy Boolean over the sizes; None where it has no simple form."""
        from sympy import And, Or, false, true

        if self.is_always or self.is_never:
            return true if self.is_always else false
        if self.parts is None:
            return None
        return Or(*(And(*(fact.sympy(named) for fact in part)) for part in self.parts))

    def words(self) -> str:
        """The condition in words."""
        if self.is_always or self.is_never:
            return ALWAYS if self.is_always else NEVER
        if self.parts is None:
            return f"exactly for these sizes: {self._text()}"
        each = [" and ".join(sorted(map(str, part), key=_order)) for part in self.parts]
        return "exactly when " + ", or ".join(each)

    def _text(self) -> str:
        text = str(self.holds.coalesce().gist(self.space.sizes))
        for k, size in enumerate(self.space.parameters.sizes()):
            text = text.replace(f"p{k}", str(size))
        return text


def _order(text: str) -> tuple[str, str]:
    """Facts go by what they are about."""
    words = text.split()
    return (words[-1] if "divides" in words else words[0]), text
