"""The values that proofs return: a verdict, its reason, and a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from itertools import groupby
from typing import Any, ClassVar, Final

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import Displayed, Told, frozen, late
from morello_layouts.core.lazy import escape, sympy
from morello_layouts.core.maps.names import at_text, public_size
from morello_layouts.errors import LayoutError

_MARKS: Final = {True: "✓", False: "✗", None: "?"}
_WORDS: Final = {"verified": ("refuted", "the formulas agree")}
"""The denial of a claim and the question about it, if they are not "not" and the claim."""


@frozen
class Condition(Displayed):
    """The symbolic sizes for which a claim holds.

    >>> from morello_layouts import is_surjective
    >>> print(is_surjective("f32[M,N]{1,0:T(8,128)}").condition)
    8 | M and 128 | N
    """

    text: str  #: the condition as mathematics writes it, "all sizes", or "no sizes".
    #: a function of no arguments that returns ``expr`` if it depends on the sizes, so that SymPy is
    #: loaded by those who ask for it; None if there is no short form.
    relation: Callable[[], Any] | None = field(default=None, compare=False)

    @property
    def expr(self) -> Any:
        """The condition as a SymPy Boolean over the sizes; None if it has no short form."""
        if self.depends:
            return None if self.relation is None else self.relation()
        return sympy.true if self.is_always else sympy.false

    @property
    def is_always(self) -> bool:
        """True if the claim holds for all sizes."""
        return self.text == ALL_SIZES.text

    @property
    def is_never(self) -> bool:
        """True if the claim holds for no sizes."""
        return self.text == NO_SIZES.text

    @property
    def depends(self) -> bool:
        """True if the claim holds for some sizes and fails for others."""
        return not self.is_always and not self.is_never

    def __str__(self) -> str:
        return self.text


ALL_SIZES: Final = Condition("all sizes")
NO_SIZES: Final = Condition("no sizes")


@frozen
class SymbolicCounterexample(Displayed):
    """Symbolic sizes that have a counterexample, and the first one there.

    Sizes are compared name by name, in the order of the shape. If the proof has a condition that
    multiplies no sizes, these are the smallest sizes that fail; else small ones that were found,
    and smaller ones may fail too.

    >>> print(SymbolicCounterexample({"M": 1, "N": 129}, (0, 128), "moves (0, 128)"))
    M = 1, N = 129 moves (0, 128)
    """

    sizes: Mapping[str, int]  #: the sizes, by name.
    at: Any  #: the counterexample at these sizes, of the kind that a proof for numbers has.
    #: what happens at these sizes, as a verb and its object.
    effect: str = field(default="", compare=False)

    json_keys: ClassVar[tuple[str, ...]] = ("sizes", "at", "effect")

    def __hash__(self) -> int:
        return hash((tuple(self.sizes.items()), str(self.at)))

    def __str__(self) -> str:
        return f"{sizes_text(self.sizes)} {self.effect or f'(at {self.at})'}"


def _places(counterexample: Any) -> list[tuple[int, ...]]:
    """Return the coordinates of a counterexample, which may be several, or none."""
    found = counterexample if isinstance(counterexample, tuple) else ()
    return list(found) if found and all(isinstance(at, tuple) for at in found) else [found]


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes as equations.

    >>> sizes_text({"M": 1, "N": 1}), sizes_text({"M": 1, "N": 2})
    ('M = N = 1', 'M = 1, N = 2')
    """
    runs = groupby(sizes.items(), key=lambda size: size[1])
    return ", ".join(" = ".join([*(name for name, _ in run), str(n)]) for n, run in runs)


@frozen
class Proof(Told):
    """The answer to a yes-or-no question about index maps.

    >>> from morello_layouts import is_bijective
    >>> print(is_bijective("f32[3,5]{1,0:T(2,2)}"))
    not bijective: injective, but 9 of 24 slots are padding (first: 9). Decided by digits.
    """

    claim: str  #: the property in question, such as ``"injective"`` or ``"equivalent"``.
    #: True if the claim was proved, False if it was disproved, None if undecided.
    holds: bool | None
    reason: str = late()  #: why it holds, fails, or is undecided; one line.
    #: the method that decided: digits, ISL, evaluation, enumeration, sampling; empty if the claim
    #: is trivial.
    decider: str = "ISL"
    #: two coordinates that share an offset, a coordinate at which two maps differ, or the smallest
    #: padding slot. For symbolic sizes a
    #: :class:`~morello_layouts.proof.verdict.SymbolicCounterexample`.
    counterexample: Any = None
    #: the symbolic sizes for which the claim holds; None for numbers, and if unknown.
    condition: Condition | None = None
    #: elements of the buffer that are padding, if the claim is about them.
    unused: Int | None = None
    assumptions: tuple[str, ...] = ()  #: the facts assumed about symbolic sizes.
    #: what was judged: ``"formulas"``, if those that the user gets (SymPy's too) were compared with
    #: the recipe; if that stayed undecided, ``"the recipe only: …"`` with the reason; empty for
    #: other questions, and for digits alone.
    judged: str = ""
    #: the user's SymPy symbols of sizes, by name.
    size_symbols: Mapping[str, Any] = field(default_factory=dict, compare=False)

    json_keys: ClassVar[tuple[str, ...]] = (
        "claim", "holds", "verdict", "reason", "decider", "counterexample", "condition", "padding",
        "assumptions", "judged",
    )  # fmt: skip

    @property
    def padding(self) -> Any:
        """The same as ``unused``, a SymPy expression for symbolic sizes.

        >>> from morello_layouts import is_surjective
        >>> is_surjective("f32[N]{0:T(8)}").padding
        -N + 8*ceiling(N/8)
        """
        return None if self.unused is None else public_size(self.unused, self.size_symbols)

    @property
    def verdict(self) -> str:
        """The answer and its reason in one line.

        >>> from morello_layouts import is_bijective
        >>> is_bijective("bf16[M,N]{1,0:T(8,128)(2,1)}").verdict
        'bijective iff 8 | M and 128 | N'
        """
        denial, question = self._words
        match self.holds, self.condition:
            case None, _:
                return f"undecided whether {question}: {self.reason}"
            case True, None:
                return f"{self.claim}: {self.reason}"
            case True, _:
                return f"{self.claim} for all sizes: {self.reason}"
            case _, Condition(is_never=True):
                return f"{denial} for any sizes"
            case _, Condition():
                return f"{self.claim} iff {self.condition}"
        if isinstance(self.counterexample, SymbolicCounterexample):
            return f"not always {self.claim}: {self.reason}"
        return f"{denial}: {self.reason}"

    def with_names(self, names: Sequence[str]) -> Proof:
        """Return the proof with coordinates by name in its texts.

        >>> from morello_layouts import from_sympy, is_injective
        >>> print(is_injective(from_sympy({"y": 2, "x": 2}, "y + x")))
        not injective: (y=0, x=1) and (y=1, x=0) share offset 1. Decided by ISL.
        """
        found = self.counterexample
        is_symbolic = isinstance(found, SymbolicCounterexample)
        places = _places(found.at if is_symbolic else found)
        texts = {str(at): at_text(names, at) for at in places}
        if not names or not texts:
            return self

        def named(text: str) -> str:
            return reduce(lambda t, pair: t.replace(*pair), texts.items(), text)

        if is_symbolic:
            found = replace(found, effect=named(found.effect))
        return replace(self, reason=named(self.reason), counterexample=found)

    @property
    def _words(self) -> tuple[str, str]:
        return _WORDS.get(self.claim, (f"not {self.claim}", self.claim))

    def __bool__(self) -> bool:
        if self.holds is None:
            raise LayoutError(
                f"undecided whether {self._words[1]}",
                self.reason,
                "look at .holds, which is None, or raise the budget",
            )
        return self.holds

    def __str__(self) -> str:
        text = f"{self.verdict}."
        if isinstance(self.counterexample, SymbolicCounterexample):
            text += f" Counterexample: {self.counterexample}."
        if self.holds is not None and self.decider:
            text += f" Decided by {self.decider}."
        if self.unused is not None and not isinstance(self.unused, int):
            text += f"\nPadding: {self.unused} slots."
        if self.judged.startswith("the recipe"):
            text += f"\nJudged: {self.judged}."
        if self.assumptions:
            text += f"\nAssumed: {'; '.join(self.assumptions)}."
        return text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.verdict}>"

    def _repr_html_(self) -> str:
        verdict, *details = (escape(line) for line in str(self).split("\n"))
        rows = "".join(f"<li>{line}</li>" for line in details)
        depends = self.condition is not None and self.condition.depends
        mark = "◐" if depends else _MARKS[self.holds]
        return f"<p><b>{mark}</b> {verdict}</p>" + (f"<ul>{rows}</ul>" if rows else "")
