"""The class of exercises: a question that checks an answer, and gives a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from inspect import signature
from operator import index
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from morello_layouts.core.expr.affine import divisions
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import EXERCISE_TEXT
from morello_layouts.core.maps import AffineMap, IndexMap, Map
from morello_layouts.errors import LayoutError, ParseError, ShapeError
from morello_layouts.interfaces.api.formulas import from_sympy
from morello_layouts.interfaces.api.layouts import Shape, index_map, subject
from morello_layouts.interfaces.api.pictures import draw
from morello_layouts.interfaces.api.proofs import equal
from morello_layouts.notations import parse, parse_expression

if TYPE_CHECKING:
    from morello_layouts.outputs.picture import Picture
    from morello_layouts.proof import Proof

_TILES: Final = regex(r"(?=T|.*,)T?\s*(\(\s*[\d*]+(\s*,\s*[\d*]+)*\s*\)\s*)+")
_OUR_NAMES: Final = regex(r"\bd\d+\b")
_NAME: Final = regex(r"(?<![\w])[A-Za-z_]\w*")
_PRODUCT: Final = regex(r"(?<![\w])(\d+)([A-Za-z_]\w*)")
_FRACTION: Final = regex(r"(?<!/)/(?!/)")
_FEW: Final[Any] = {"max_rows": 12, "max_columns": 12, "max_slices": 2}  # of a reply's pictures
_NUMBER: Final = regex(r"(?<![\w.])-?\d+(?![\w.])")
_FUNCTIONS: Final = frozenset({"floor", "ceil", "ceiling", "Mod", "min", "max", "abs"})


@frozen
class AnswerReader:
    """Reads the answers to a question about one array."""

    shape: Shape  #: the sizes of the array, in elements; symbolic ones as names.
    names: tuple[str, ...] = ()  #: the coordinates in formulas, beside ``d0, d1, …``.
    size: int | None = None  #: elements of the buffer, for answers that are formulas.
    formula: bool = False  #: whether a text is a formula, unless it is a layout as it stands.

    def read(self, answer: Any) -> IndexMap | AffineMap:
        """Return the map of an answer: text, a SymPy expression, a map, or a function."""
        if isinstance(answer, str):
            return self._text(answer)
        if isinstance(answer, AffineMap):
            return self._one_formula(answer)
        if callable(answer) and not isinstance(answer, type | Map):
            answer = self._called(answer)
        if _is_formula(answer):
            return self._formula(answer)
        return self._layout(answer)

    def _text(self, text: str) -> IndexMap | AffineMap:
        if len(text) > EXERCISE_TEXT:
            raise LayoutError(
                f"the answer has {len(text):,} characters",
                f"an answer may have {EXERCISE_TEXT:,}",
                "give a layout, or a formula of a few terms",
            )
        if _TILES.fullmatch(text.strip()):
            raise self._tiles_alone(text.strip())
        self._require_signs(text)
        if _is_layout(text, whole=self.formula):
            return self._layout(text)
        formula = text.rpartition("=")[2] if text.count("=") == 1 else text
        self._require_readable(formula)
        return self._formula(formula)

    def _require_signs(self, text: str) -> None:
        for found in _PRODUCT.finditer(text):
            if found[2] in self.names:
                fix = f"write {found[1]}*{found[2]}"
                raise LayoutError(f"expected *, found {found[0]}", "a product has a sign", fix)

    def _require_readable(self, formula: str) -> None:
        """Refuse what students write in formulas, where the grammar's error would not help."""
        sizes = {name for size in self.shape for name in _NAME.findall(str(size))}
        known = {*self.names, *sizes, *_FUNCTIONS}
        if _FRACTION.search(formula):
            told = "expected //, found a single /"
            raise LayoutError(told, "an offset is a whole number", "write //, which rounds down")
        other = [name for name in _NAME.findall(formula) if name not in known]
        if self.names and other and not _OUR_NAMES.search(formula):
            names = ", ".join(self.names)
            told = f"expected a formula of {names}, found {other[0]}"
            raise LayoutError(told, "a formula has the names of the question", f"write {names}")

    def _layout(self, layout: Any) -> IndexMap:
        value = subject(layout).value
        given = index_map(value, self.shape if value.sizes is None else None)
        self._require_same_array(given)
        return given

    def _formula(self, formula: Any) -> AffineMap:
        # An answer may name the coordinates d0, d1, … instead of the question's names.
        named = {"names": self.names} if self.names and not _OUR_NAMES.search(str(formula)) else {}
        return self._one_formula(from_sympy({"shape": self.shape, **named}, formula))

    def _one_formula(self, given: AffineMap) -> AffineMap:
        """Return a formula's map, with the question's buffer if it has none."""
        self._require_same_array(given)
        if len(given.given) != 1:
            raise LayoutError(
                f"expected one formula, got {len(given.given)}",
                "an offset is one number",
                "give one formula",
            )
        return given if given.buffer_size is not None else replace(given, buffer_size=self.size)

    def _require_same_array(self, given: IndexMap | AffineMap) -> None:
        # As text: a layout whose packs divide M has the size 2*(M//2), which is printed as M.
        here, asked = (",".join(map(str, shape)) for shape in (given.shape, self.shape))
        if here != asked:
            raise ShapeError(
                f"expected an answer for the shape [{asked}], got the shape [{here}]",
                "the answer is about the array of the question",
                "leave the shape out, or give the expected one",
            )

    def _called(self, function: Callable[..., Any]) -> Any:
        """Call a function with a symbol for each coordinate, which gives its formula."""
        symbols = from_sympy({"shape": self.shape}, "0").symbols
        names = ", ".join(self.names or map(str, symbols))
        try:
            signature(function).bind(*symbols)
        except TypeError:
            raise LayoutError(
                f"your function does not take {len(symbols)} coordinates",
                f"an element of the array has the coordinates {names}",
                f"write it as: lambda {names}: …",
            ) from None
        except ValueError:
            pass  # a builtin without a signature
        try:
            return function(*symbols)
        except TypeError as error:
            raise LayoutError(
                f"your function does not take symbols: {error}",
                "it is called once, with a SymPy symbol for each coordinate, and returns a formula",
                "write it only with + - * // %, without if, or give text",
            ) from None

    def _tiles_alone(self, tiles: str) -> LayoutError:
        order = ",".join(str(k) for k in reversed(range(len(self.shape))))
        numbers = tiles.strip("() ").replace(" ", "")
        if sorted(numbers.split(",")) == sorted(order.split(",")):
            return LayoutError(
                f"expected a layout, got {tiles}",
                "an order of dimensions has brackets that say at which end it begins",
                f"write [{numbers}] from slow to fast, or {{{numbers}}} from fast to slow",
            )
        return LayoutError(
            f"expected a layout, got only its tiles: {tiles}",
            "a layout begins with the order of its dimensions, from fast to slow",
            f"write for example {{{order}:T{tiles.removeprefix('T').strip()}}}",
        )


def _is_formula(answer: Any) -> bool:
    number = isinstance(answer, int) and not isinstance(answer, bool)
    return number or isinstance(answer, str | tuple) or hasattr(answer, "free_symbols")


def _is_layout(text: str, *, whole: bool) -> bool:
    """Return whether a text is a layout; or if not ``whole``, closer to a layout than a formula."""
    if text.strip().isdecimal():
        return False  # also Morello's short form of one dimension, which is not meant here
    try:
        return getattr(parse(text), "title", None) != "formula"
    except ParseError as layout:
        if whole:
            return False
        try:
            parse_expression(text, {})
        except ParseError as formula:
            return layout.position > formula.position
        return False


Judge: TypeAlias = "Callable[[IndexMap | AffineMap], Proof | Feedback]"
Check: TypeAlias = "Callable[[Any], Feedback]"


@frozen
class Feedback:
    """The reply to an answer; true if the answer is right.

    >>> print(Feedback(False, "at (0, 3) the offset is 18, yours is 3", (0, 3)))
    Not yet: at (0, 3) the offset is 18, yours is 3
    """

    right: bool | None  #: whether the answer is right; None if undecided.
    comment: str  #: the reason, with the place at which the answer is wrong.
    #: a coordinate at which the answer is wrong, or another value that shows it.
    counterexample: Any = None
    why: str = ""  #: what the answer mistook, if it is a known one.
    #: the answer and a right one, as maps of numbers; empty for answers that are not maps.
    maps: tuple[IndexMap | AffineMap, ...] = ()
    place: tuple[int, ...] = ()  #: the element at which the maps differ, for the picture.

    def __bool__(self) -> bool:
        return self.right is True

    def __str__(self) -> str:
        verdict = {True: "Right", False: "Not yet", None: "Not decided"}[self.right]
        return f"{verdict}: {self.comment}" + (f"\n{self.why}" if self.why else "")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        mark = {True: "✓", False: "✗", None: "?"}[self.right]
        said = f'<p><b>{mark}</b> <span style="white-space:pre-wrap">{escape(str(self))}</span></p>'
        drawn = self.picture()
        if drawn is None:
            return said
        told = "See both: yours first, then a right one"
        return f"{said}<details><summary>{told}</summary>{drawn._repr_svg_()}</details>"

    def picture(self) -> Picture | None:
        """Return the answer and a right one, side by side; None if they cannot be drawn."""
        if not self.maps:
            return None
        yours, right = self.maps
        dots = [self.place] if self.place else []
        if right.recipe is not None:  # its text would be the answer
            fields = {"shape": right.shape, "size": right.size, "names": right.names}
            right = from_sympy(fields, right.expr)
        try:
            if isinstance(yours, AffineMap):  # it may leave the buffer
                yours = replace(yours, buffer_size=None)
            return draw(yours, right, dots=dots, formula=False, max_slots=0, **_FEW)
        except LayoutError:
            return None


@frozen
class Exercise:
    """A question; call it with an answer to learn whether the answer is right.

    An answer is the text of a layout or of a formula, a SymPy expression, an index map, or a
    function of the coordinates. It is right if it is proved to give every coordinate the same
    offset as the solution, in any form. If both are layouts, their buffers must have one size too.

    >>> exercise = Exercise("Where does `(i, j)` of a 3 by 4 matrix lie, row by row?", (3, 4),
    ...                     "4*i + j", names=("i", "j"))
    >>> exercise("i + 3*j")
    Not yet: at i = 0, j = 1 the offset is 1, yours is 3
    >>> exercise(lambda i, j: i*4 + j), exercise("[0, 1]")
    (Right: the same offset at every coordinate, Right: the same offset at every coordinate)
    """

    question: str  #: the question, as Markdown.
    shape: Shape  #: the sizes of the array, in elements; symbolic ones as names.
    #: a layout or a formula, as text; or an answer that ``check`` accepts.
    solution: str | tuple[Any, ...]
    names: tuple[str, ...] = ()  #: the coordinates in formulas; ``d0, d1, …`` if empty.
    hint: str = ""  #: a hint, as Markdown.
    #: decides about the answer's map, for questions with many right answers.
    judge: Judge | None = None
    value: str = "offset"  #: the name of the quantity that a formula gives.
    most: int | None = None  #: the most floors and mods of an answer; None for any number.
    size: int | None = None  #: elements of the buffer, for answers that are formulas.
    check: Check | None = None  #: decides about an answer that is not a map, such as coordinates.
    formula: bool = False  #: whether a layout is not an answer: the question asks for a formula.
    reason: str = ""  #: why the solution is right, for those who teach.
    errors: tuple[tuple[Any, str], ...] = ()  #: known wrong answers, each with what it mistook.

    def __call__(self, answer: Any) -> Feedback:
        """Check an answer; text that cannot be read is a wrong answer."""
        if self.check is not None:
            found = self.check(answer)
            return self._with_reason(found, lambda known: _words(known) == _words(answer))
        try:
            given = self._map(answer)
            if self.formula and given.recipe is not None:
                names = ", ".join(self.names)
                return Feedback(False, f"this is a layout; write a formula of {names}")
            found = self._judged(given)
        except LayoutError as error:
            return Feedback(False, str(error))
        if not found.maps:
            return found
        return self._with_reason(found, lambda known: equal(given, self._map(known)).holds is True)

    def _judged(self, given: IndexMap | AffineMap) -> Feedback:
        proof = (self.judge or self._equals_solution)(given)
        if isinstance(proof, Feedback):
            return proof if proof.right else self._shown(proof, given)
        if proof.holds is None:
            return Feedback(None, proof.reason)
        if proof.holds:
            return self._right(given) if self.judge is None else Feedback(True, proof.reason)
        found = proof.counterexample
        told = self._difference(found, given) if self.judge is None else proof.reason
        place = getattr(found, "at", found) if self.judge is None else ()
        return self._shown(Feedback(False, told, found, place=place), given)

    def _shown(self, found: Feedback, given: IndexMap | AffineMap) -> Feedback:
        """Return a reply with the maps to draw: the answer's and the solution's, of known sizes."""
        sizes = getattr(found.counterexample, "sizes", None) or {}
        maps = given, self._map(self.solution)
        return replace(found, maps=tuple(m.at(**sizes) if sizes else m for m in maps))

    def _with_reason(self, found: Feedback, is_it: Callable[[Any], bool]) -> Feedback:
        """Return a reply that says why, if the answer is one of the errors that are known."""
        if found.right is not False:
            return found
        why = next((why for known, why in self.errors if is_it(known)), "")
        return replace(found, why=why, maps=found.maps if self.value == "offset" else ())

    def _right(self, given: IndexMap | AffineMap) -> Feedback:
        """Return the reply to an answer that equals the solution, but may be too large."""
        same = f"the same {self.value} at every coordinate"
        slots = _slots(self._map(self.solution)), _slots(given)
        if None not in slots and slots[0] != slots[1]:
            comment = f"{same}, but the buffer has {slots[1]} slots instead of {slots[0]}"
            return Feedback(False, comment, slots[1])
        forms = given.given if given.recipe is None else given.forms
        found = sum(map(divisions, forms))
        if self.most is None or found <= self.most:
            return Feedback(True, same)
        return Feedback(False, f"{same}; floors and mods: {found}, and {self.most} are enough")

    def _equals_solution(self, given: IndexMap | AffineMap) -> Proof:
        return equal(given, self._map(self.solution))

    def _map(self, answer: Any) -> IndexMap | AffineMap:
        return AnswerReader(self.shape, self.names, self.size, self.formula).read(answer)

    def _difference(self, found: Any, given: IndexMap | AffineMap) -> str:
        """Return a sentence with the first difference, in the question's terms."""
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


def numbers_of(answer: Any, count: int = 1) -> tuple[int, ...]:
    """Return the whole numbers of an answer in their order; each is -1 unless there are ``count``.

    >>> numbers_of("LD = 34"), numbers_of(((0, 63), (1, 0)), 4), numbers_of("many"), numbers_of(0.5)
    ((34,), (0, 63, 1, 0), (-1,), (-1,))
    """
    found = tuple(n if n.bit_length() < 64 else -1 for n in _numbers(answer))
    return found if len(found) == count else (-1,) * count


def _words(answer: Any) -> list[Any]:
    """Return the numbers of an answer, or if it has none its names, however they are written."""
    return [*_numbers(answer)] or _NAME.findall(str(answer)[:EXERCISE_TEXT])


def _numbers(answer: Any, depth: int = 2) -> Iterator[int]:
    if hasattr(answer, "tolist") and not isinstance(answer, type):  # of NumPy
        answer = answer.tolist()
    if isinstance(answer, str):
        yield from map(int, _NUMBER.findall(answer[:EXERCISE_TEXT]))
    elif isinstance(answer, list | tuple) and depth:
        for part in answer:
            yield from _numbers(part, depth - 1)
    else:
        is_whole = hasattr(answer, "__index__") and not isinstance(answer, type)
        yield index(answer) if is_whole else -1


def _slots(given: IndexMap | AffineMap) -> int | None:
    """Return the slots of a layout's buffer; None for a formula, and for symbolic sizes."""
    n = None if given.recipe is None else given.buffer_size
    return n if isinstance(n, int) else None
