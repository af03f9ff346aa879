"""A change of a program that may cost less, to be compiled and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from morello_layouts.tpu_compiler.program import Program


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change that may cost less.

    Attributes:
        kind: such as ``donation``.
        change: what to write, in a line.
        where: the argument, result or operation that it changes.
        apply: from a program to the changed one.
        exact: whether results stay the same, but for the order of sums; else values are rounded,
            and the change is not combined with others.
        chosen: whether the compiler chooses layouts, which the change then names.
    """

    kind: str
    change: str
    where: str
    apply: Callable[[Program], Program] = field(compare=False, repr=False)
    exact: bool = True
    chosen: bool = False
