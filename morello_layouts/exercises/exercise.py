"""A question whose answer is a layout or a formula, and the checker of answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from morello_layouts.api import are_equivalent, from_sympy, index_map
from morello_layouts.api.layouts import needs_shape
from morello_layouts.api.sizes import Shape
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.form import Digit
from morello_layouts.formula import FormulaMap, IndexMap
from morello_layouts.notation import parse, parse_expression

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = ["Exercise", "Feedback"]

Judge: TypeAlias = "Callable[[IndexMap | FormulaMap], Proof | Feedback]"
Check: TypeAlias = "Callable[[Any], Feedback]"

_TILES: Final = re.compile(r"(?=T|.*,)T?\s*(\(\s*[\d*]+(\s*,\s*[\d*]+)*\s*\)\s*)+")
_OUR_NAMES: Final = re.compile(r"\bd\d+\b")


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
    solution gives, whatever it looks like; that is proved, not tried.

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
            return Feedback(proof.holds, str(proof), proof.counterexample)
        if proof.holds:
            return self._right(given)
        return Feedback(False, self._difference(proof.counterexample, given), proof.counterexample)

    def _right(self, given: IndexMap | FormulaMap) -> Feedback:
        """What is said of an answer that equals the solution, but may be too long."""
        same = f"the same {self.value} at every coordinate"
        found = _divisions(given)
        if self.most is None or found <= self.most:
            return Feedback(True, same)
        return Feedback(False, f"{same}, by {found} floors and mods; {self.most} will do")

    def _equals_solution(self, given: IndexMap | FormulaMap) -> Proof:
        return are_equivalent(given, self._map(self.solution))

    def _map(self, answer: Any) -> IndexMap | FormulaMap:
        if isinstance(answer, IndexMap | FormulaMap):
            return answer
        if isinstance(answer, str) and _TILES.fullmatch(answer.strip()):
            raise self._tiles_alone(answer.strip())
        if isinstance(answer, str) and not _is_layout(answer):
            return self._formula(answer)
        if isinstance(answer, int) or hasattr(answer, "free_symbols"):
            return self._formula(answer)
        if callable(answer):
            return self._formula(answer(*self._map(self.solution).symbols))
        return index_map(answer, self.shape if needs_shape(answer) else None)

    def _formula(self, formula: Any) -> FormulaMap:
        # Formulas elsewhere are of d0, d1, …; an answer may be, whatever the question calls them.
        own = isinstance(formula, str) and not _OUR_NAMES.search(formula)
        named = {"names": self.names} if self.names and own else {}
        sized = {} if self.size is None else {"size": self.size}
        return from_sympy({"shape": self.shape, **named, **sized}, formula)

    def _tiles_alone(self, tiles: str) -> LayoutError:
        order = ",".join(str(k) for k in reversed(range(len(self.shape))))
        return LayoutError(
            f"{tiles} are tiles alone",
            "a layout says in which order the dimensions lie, from fast to slow, before its tiles",
            f"write for example {{{order}:T{tiles.removeprefix('T').strip()}}}",
        )

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


def _divisions(given: IndexMap | FormulaMap) -> int:
    """Floors and mods as an answer writes them; a layout has those of its simplified formula."""
    forms = given.given if isinstance(given, FormulaMap) else (given.form,)
    digits = [atom for form in forms for atom in form.atoms() if isinstance(atom, Digit)]
    return sum((digit.divisor != 1) + (digit.modulus is not None) for digit in digits)


def _is_layout(text: str) -> bool:
    """Whether a text is a layout rather than a formula; where it is neither, what it resembles."""
    try:
        parse(text)
    except ParseError as layout:
        try:
            parse_expression(text, {})
        except ParseError as formula:
            return layout.position > formula.position
        return False
    return True
