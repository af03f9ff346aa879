"""The derivation of the simplified formula from the reference formula, rule by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.expr.affine import AffineExpr
from morello_layouts.expr.conversions import latex
from morello_layouts.expr.simplify import RewriteStep, canonicalize_with_steps

Simplifier: TypeAlias = Callable[[AffineExpr], tuple[AffineExpr, tuple[RewriteStep, ...]]]
"""A function that returns a simplified form and the rules that fired."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The first form, the rules that fired in order, and the last form.

    Attributes:
        start: the reference formula.
        steps: the rules that fired, in order.
        end: the simplified formula.

    >>> from morello_layouts.expr import variable
    >>> print(Derivation.of(variable("d0", 0, 5) % 6))
    d0%6
      d0%6 = d0   drop-mod, since d0 is in 0..5
    = d0
    """

    start: AffineExpr
    steps: tuple[RewriteStep, ...]
    end: AffineExpr

    @staticmethod
    def of(form: AffineExpr, simplify: Simplifier = canonicalize_with_steps) -> Derivation:
        """Simplify a form and record every step."""
        end, steps = simplify(form)
        # A few rules only change the representation of a digit, not its text.
        shown = tuple(step for step in steps if str(step.before) != str(step.after))
        return Derivation(form, shown, end)

    def __iter__(self) -> Iterator[RewriteStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<Derivation: {self.start} = {self.end} by {len(self)} steps>"

    def __str__(self) -> str:
        lines = [str(self.start)]
        for step in self.steps:
            since = f", since {step.because}" if step.because else ""
            lines.append(f"  {step.before} = {step.after}   {step.rule}{since}")
        return "\n".join([*lines, f"= {self.end}"])

    def latex(self) -> str:
        """Return the derivation as an ``aligned`` block, without dollar signs."""
        rows = [rf"& {latex(self.start)}"]
        for step in self.steps:
            rows.append(
                rf"& \quad {latex(step.before)} = {latex(step.after)}"
                rf" && \text{{{step.rule}, {_latex_text(step.because)}}}"
            )
        rows.append(rf"={{}} & {latex(self.end)}")
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"


def _latex_text(words: str) -> str:
    return words.replace("%", r" \% ").replace("_", r"\_").replace("∞", r"$\infty$")
