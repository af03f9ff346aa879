"""A question whose answer is a layout or a formula, and the checker of answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from morello_layouts.api import are_equivalent
from morello_layouts.api.sizes import Shape
from morello_layouts.errors import LayoutError
from morello_layouts.exercises.answers import Reader
from morello_layouts.expr.form import Digit
from morello_layouts.formula import FormulaMap, IndexMap

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = ["Exercise", "Feedback"]

Judge: TypeAlias = "Callable[[IndexMap | FormulaMap], Proof | Feedback]"
Check: TypeAlias = "Callable[[Any], Feedback]"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a checker says of an answer; true where the answer is right.

    Attributes:
        right: whether the answer is right; None where that was not decided.
        comment: why, and where the answer goes wrong.
        counterexample: a coordinate at which it does, or what else shows it.

    >>> print(Feedback(False, "at (0, 3) the offset is 18, yours is 3", (0, 3)))
    Not yet: at (0, 3) the offset is 18, yours is 3
    """

    right: bool | None
    comment: str
    counterexample: Any = None

    def __bool__(self) -> bool:
        return self.right is True

    def __str__(self) -> str:
        verdict = {True: "Right", False: "Not yet", None: "Not decided"}[self.right]
        return f"{verdict}: {self.comment}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        mark = {True: "✓", False: "✗", None: "?"}[self.right]
        return f'<p><b>{mark}</b> <span style="white-space:pre-wrap">{escape(str(self))}</span></p>'


@dataclass(frozen=True, slots=True)
class Exercise:
    """A question; call it with an answer, and it says whether that is right.

    An answer is the text of a layout or of a formula, a SymPy expression, an index map, or a
    function of the coordinates. It is right where it gives every coordinate the offset that the
    solution gives, whatever it looks like; that is proved, not tried. Where both are layouts,
    their buffers have one size too.

    Attributes:
        question: what is asked, as Markdown.
        shape: the sizes of the array, in elements; symbolic ones as names.
        solution: a layout or a formula, as text; what ``check`` takes, where there is one.
        names: how formulas call the coordinates; ``d0, d1, …`` where empty.
        hint: what helps, as Markdown.
        judge: for questions with many right answers: takes the answer's map, and the proof or
            the feedback that it gives says whether it is right.
        value: what a formula of the answer gives, in words.
        most: how many floors and mods an answer may have; None where that does not matter.
        size: elements of the buffer, which a formula alone does not say.
        check: for answers that are no maps, such as coordinates: takes the answer as it is.

    >>> exercise = Exercise("Where does `(i, j)` of a 3 by 4 matrix lie, row by row?", (3, 4),
    ...                     "4*i + j", names=("i", "j"))
    >>> exercise("i + 3*j")
    Not yet: at i = 0, j = 1 the offset is 1, yours is 3
    >>> exercise(lambda i, j: i*4 + j), exercise("[0, 1]")
    (Right: the same offset at every coordinate, Right: the same offset at every coordinate)
    """

    question: str
    shape: Shape
    solution: str | tuple[Any, ...]
    names: tuple[str, ...] = ()
    hint: str = ""
    judge: Judge | None = None
    value: str = "offset"
    most: int | None = None
    size: int | None = None
    check: Check | None = None

    def __call__(self, answer: Any) -> Feedback:
        """Whether an answer is right; wrong text is an answer that is not."""
        if self.check is not None:
            return self.check(answer)
        try:
            given = self._map(answer)
            proof = (self.judge or self._equals_solution)(given)
        except LayoutError as error:
            return Feedback(False, str(error))
        if isinstance(proof, Feedback):
            return proof
        if proof.holds is None:
            return Feedback(None, proof.reason)
        if self.judge is not None:
            return Feedback(proof.holds, proof.reason, proof.counterexample)
        if proof.holds:
            return self._right(given)
        return Feedback(False, self._difference(proof.counterexample, given), proof.counterexample)

    def _right(self, given: IndexMap | FormulaMap) -> Feedback:
        """What is said of an answer that equals the solution, but may take or write too much."""
        same = f"the same {self.value} at every coordinate"
        slots = _slots(self._map(self.solution)), _slots(given)
        if None not in slots and slots[0] != slots[1]:
            said = f"{same}, but in a buffer of {slots[1]} slots, where {slots[0]} are right"
            return Feedback(False, said, slots[1])
        found = _divisions(given)
        if self.most is None or found <= self.most:
            return Feedback(True, same)
        return Feedback(False, f"{same}, by {found} floors and mods; {self.most} will do")

    def _equals_solution(self, given: IndexMap | FormulaMap) -> Proof:
        return are_equivalent(given, self._map(self.solution))

    def _map(self, answer: Any) -> IndexMap | FormulaMap:
        return Reader(self.shape, self.names, self.size).read(answer)

    def _difference(self, found: Any, given: IndexMap | FormulaMap) -> str:
        """Where the two differ, in the words of the question."""
        right = self._map(self.solution)
        sizes = getattr(found, "sizes", {})
        at = found.at if sizes else found
        if sizes:
            right, given = right.at(**sizes), given.at(**sizes)
        names = self.names or [f"d{k}" for k in range(len(at))]
        place = ", ".join(
            f"{name} = {x}" for name, x in [*sizes.items(), *zip(names, at, strict=True)]
        )
        return f"at {place} the {self.value} is {right(*at)}, yours is {given(*at)}"

    def __str__(self) -> str:
        return self.question

    def __repr__(self) -> str:
        return f"<Exercise: {self.question}>"

    def _repr_markdown_(self) -> str:
        hint = f"\n\n<details><summary>Hint</summary>\n\n{self.hint}\n\n</details>"
        return f"**Exercise.** {self.question}{hint if self.hint else ''}"


def _slots(given: IndexMap | FormulaMap) -> int | None:
    """Slots of a layout's buffer; None for a formula, and for sizes that are names."""
    return given.size if isinstance(given, IndexMap) and isinstance(given.size, int) else None


def _divisions(given: IndexMap | FormulaMap) -> int:
    """Floors and mods as an answer writes them; a layout has those of its simplified formula."""
    forms = given.given if isinstance(given, FormulaMap) else (given.form,)
    digits = [atom for form in forms for atom in form.atoms() if isinstance(atom, Digit)]
    return sum((digit.divisor != 1) + (digit.modulus is not None) for digit in digits)
