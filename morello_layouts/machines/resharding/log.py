"""Lines of a log in which XLA says that it gathers a whole array on every device to reshard it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import RESHARD_LINES
from morello_layouts.core.plain import Displayed

if TYPE_CHECKING:
    from morello_layouts.machines.resharding.plan import Plan

_BRACES: Final = r"(\{[^{}]{0,9999}(?:\{[^{}]{0,9999}\}[^{}]{0,9999}){0,99}\})"
_PAIR: Final = re.compile(rf"go from sharding {_BRACES} to {_BRACES}", re.ASCII)
_OPERATION: Final = re.compile(
    r"for HLO operation:? %?([\w.-]{1,300}) = (\w{1,20}\[[0-9,]{0,200}\](?:\{[^ ]{0,300}\})?)?",
    re.ASCII,
)


@frozen
class Pair:
    """What a line of a log names."""

    line: int  #: its number, from 1.
    operation: str  #: the instruction of HLO; empty if the line does not say.
    array: str  #: the array's type; empty if the line does not say, or for a tuple.
    source: str  #: the sharding before.
    target: str  #: the sharding afterwards.


def pairs_of(log: str) -> Iterator[Pair]:
    """Yield the pairs of shardings that XLA could not connect, each once.

    >>> line = "not able to go from sharding {devices=[2,1]<=[2]} to {devices=[1,2]<=[2]} without"
    >>> next(pairs_of(line)).target
    '{devices=[1,2]<=[2]}'
    """
    seen = set[tuple[str, ...]]()
    for number, line in enumerate(log.split("\n"), 1):
        if "go from sharding {" not in line or (pair := _PAIR.search(line)) is None:
            continue
        found = _OPERATION.search(line, pair.end())
        operation, array = (found[1], found[2] or "") if found else ("", "")
        key = (array, pair[1], pair[2])
        if key not in seen and len(seen) < RESHARD_LINES:
            seen.add(key)
            yield Pair(number, operation, array, pair[1], pair[2])


@frozen
class Rematerialization(Displayed):
    """A line in which XLA says that it gathers an array on every device, and what would do."""

    json_keys: ClassVar = ("line", "operation", "source", "target", "plan", "reason", "advice")

    line: int  #: the number of the line in the log, from 1.
    operation: str  #: the instruction of HLO; empty if the line does not say.
    source: str  #: the sharding before.
    target: str  #: the sharding afterwards.
    plan: Plan | None  #: what must move instead; None if ``reason`` says why there is no plan.
    reason: str  #: empty if there is a plan.

    @property
    def advice(self) -> str:
        """What to write in the program of JAX so that XLA does it without gathering."""
        if self.plan is None or not self.plan.steps:
            return ""
        between = self.plan.steps[:-1]
        if not between:
            (only,) = self.plan.steps
            return f"one {only.kind} over {', '.join(only.axes)} does it: see the plan"
        specs = ", then ".join(step.spec for step in between)
        return f"put with_sharding_constraint between: {specs}; each step is one collective"

    def __str__(self) -> str:
        name = f" of {self.operation}" if self.operation else ""
        head = f"line {self.line}{name}: {self.source} to {self.target}"
        what = str(self.plan) if self.plan is not None else self.reason
        lines = [head, *what.split("\n"), *([self.advice] if self.advice else [])]
        return "\n  ".join(lines)
