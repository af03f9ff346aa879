"""Affine expressions over digits, "forms" for short: MLIR's ``AffineExpr``, ISL's ``aff``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from morello_layouts.core.expr.bounds import Interval, range_of_floors
from morello_layouts.core.expr.calls import (
    OPERATIONS,
    Var,
    Whole,
    as_divisor,
    as_factor,
    printing_order,
    range_of_terms,
    require_positive,
    too_deep,
)
from morello_layouts.core.expr.sizes import Int, SizeExpr, absolute, evaluated, join_signed, sign
from morello_layouts.core.limits import EXPR_NESTING

A = TypeVar("A")
S = TypeVar("S")


class Algebra(Protocol[A, S]):
    """What :meth:`AffineExpr.fold` makes of forms: values of A for atoms, and of S for sums.

    A sum is given its terms, each with the value of its atom, and its constant.
    """

    def variable(self, v: Var, /) -> A: ...
    def digit(self, d: Digit, operand: S, /) -> A: ...
    def call(self, x: Call, parts: list[S], /) -> A: ...
    def sum(self, terms: list[tuple[Atom, Int, A]], const: Int, /) -> S: ...


class Digit:
    """``(operand // divisor) mod modulus``, without the mod if modulus is None.

    Every atom has ``whole``, ``divisor`` and ``modulus``; other atoms are themselves, ``// 1``.

    >>> d = Digit(variable("i", 0, 31), 4, 8)
    >>> print(d, "is in", d.interval)
    (i//4)%8 is in 0..7
    """

    __slots__ = (
        "_equals", "_hash", "_interval", "_key", "depth", "divisor", "modulus", "operand", "whole",
    )  # fmt: skip

    def __init__(self, operand: AffineExpr, divisor: Int, modulus: Int | None) -> None:
        for number in (divisor, modulus):
            if number is not None and not (type(number) is int and number > 0):
                require_positive(number)
        #: the nesting of digits: 1 if the operand holds none.
        self.depth: Final[int] = 1 + _depth(operand)
        if self.depth > EXPR_NESTING:
            raise too_deep()
        self.operand: Final = operand  #: the form that is divided.
        inner = operand.as_atom()
        #: the operand, or the variable that it is: what digits are grouped by.
        self.whole: Final = operand if inner is None or isinstance(inner, Digit) else inner
        self.divisor: Final[Int] = divisor  #: at least 1.
        self.modulus: Final[Int | None] = modulus  #: at least 1, or None.
        self._key: tuple[Any, ...] | None = None
        self._equals: object | None = None
        self._hash = hash((hash(operand), divisor, modulus))
        self._interval: Interval | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """The sort key of atoms: variables by name, then digits by operand."""
        if self._key is None:
            self._key = (1, self.operand.key, self.divisor, self.modulus or 0)
        return self._key

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Digit) or self._hash != other._hash:
            return False
        if self._equals is not None and self._equals is other._equals:
            return True  # found before: forms share parts, and as trees they may be far too long
        is_near = self.divisor == other.divisor and self.modulus == other.modulus
        if not is_near or self.operand != other.operand:
            return False
        self._equals = other._equals = self._equals or other._equals or object()
        return True

    @property
    def operands(self) -> tuple[AffineExpr, ...]:
        """The forms that the atom computes with; a variable has none."""
        return (self.operand,)

    @property
    def interval(self) -> Interval:
        """The smallest and largest value over the bounds of the variables."""
        if self._interval is None:
            quotient = self.operand.interval.floordiv(self.divisor)
            self._interval = quotient if self.modulus is None else quotient.mod(self.modulus)
        return self._interval

    @property
    def is_group(self) -> bool:
        """Whether the digit is its operand itself, in parentheses."""
        return self.divisor == 1 and self.modulus is None

    def __repr__(self) -> str:
        return f"Digit({self.operand!r}, {self.divisor}, {self.modulus})"

    def __str__(self) -> str:
        return fold_atom(self, _TEXT)


def _depth(form: AffineExpr) -> int:
    depth = 0
    for atom, _ in form.terms:
        depth = max(depth, atom.depth)
    return depth


class Call(Whole):
    """An operation on forms: ``x ^ y ^ …``, ``min``, ``max``, a choice or a comparison.

    >>> least = Call("min", (variable("i", 0, 7), variable("j", 0, 5)))
    >>> print(least, "is in", least.interval)
    min(i, j) is in 0..5
    """

    __slots__ = ("_hash", "_interval", "_key", "depth", "kind", "parts")

    def __init__(self, kind: str, parts: Iterable[AffineExpr]) -> None:
        self.kind: Final = kind  #: the name of the operation in ``calls.OPERATIONS``.
        if OPERATIONS[kind].is_commutative:
            parts = sorted(parts, key=lambda part: part.key)
        #: what it computes with; in a canonical order if the order has no meaning.
        self.parts: Final = tuple(parts)
        #: the nesting of digits and of these: 1 if no part holds any.
        self.depth: Final[int] = 1 + max(map(_depth, self.parts))
        if self.depth > EXPR_NESTING:
            raise too_deep()
        self._key: tuple[Any, ...] | None = None
        self._hash = hash((kind, self.parts))
        self._interval: Interval | None = None

    @property
    def operands(self) -> tuple[AffineExpr, ...]:
        """The parts."""
        return self.parts

    @property
    def key(self) -> tuple[Any, ...]:
        """The sort key of atoms: these come last."""
        if self._key is None:
            self._key = (2, self.kind, *(part.key for part in self.parts))
        return self._key

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Call)
            and self._hash == other._hash
            and self.kind == other.kind
            and self.parts == other.parts
        )

    @property
    def interval(self) -> Interval:
        """The least and the largest value, from those of the parts."""
        if self._interval is None:
            intervals = [part.interval for part in self.parts]
            self._interval = OPERATIONS[self.kind].interval(intervals)
        return self._interval

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind!r}, {self.parts!r})"

    def __str__(self) -> str:
        return fold_atom(self, _TEXT)


class BitXor(Call):
    """``x ^ y ^ …``: the exclusive or of the bits of some forms, as Python computes it.

    >>> swizzled = BitXor((variable("i", 0, 7), variable("j", 0, 5)))
    >>> print(swizzled, "is in", swizzled.interval)
    (i ^ j) is in 0..7
    """

    __slots__ = ()

    def __init__(self, parts: Iterable[AffineExpr]) -> None:
        super().__init__("xor", parts)


Atom: TypeAlias = Var | Digit | Call


class AffineExpr:
    """``const + Σ coefficient · atom``.

    Build one with :func:`variable`, operators, or :meth:`from_terms`.

    >>> form = 3 * variable("i", 0, 7) + 1
    >>> print(form.interval, form.evaluate({"i": 2}))
    1..22 7
    """

    __slots__ = ("_groups", "_hash", "_interval", "_key", "const", "terms")

    def __init__(self, terms: tuple[tuple[Atom, Int], ...], const: Int) -> None:
        """Terms must be in canonical order, without zeros; :meth:`from_terms` sees to it."""
        self.terms: Final = terms  #: pairs (atom, coefficient) in a canonical order.
        self.const: Final[Int] = const  #: the constant.
        self._key: tuple[Any, ...] | None = None
        self._hash: int | None = None
        self._interval: Interval | None = None
        self._groups: tuple[list[tuple[Atom, Int]], ...] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """The sort key of forms: the constant, then the terms."""
        if self._key is None:
            self._key = (self.const, *[(a.key, c) for a, c in self.terms])
        return self._key

    @staticmethod
    def from_terms(
        terms: dict[Atom, Int] | Iterable[tuple[Atom, Int]], const: Int = 0
    ) -> AffineExpr:
        """Return the form of these terms: sorted, equal atoms added, zeros dropped."""
        if not isinstance(terms, dict):
            total: dict[Atom, Int] = {}
            for atom, coefficient in terms:
                total[atom] = total.get(atom, 0) + coefficient
            terms = total
        kept = [(a, c) for a, c in terms.items() if c]
        if len(kept) > 1:
            kept.sort(key=lambda term: term[0].key)
        return AffineExpr(tuple(kept), const)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.terms, self.const))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, AffineExpr)
            and self.const == other.const
            and self.terms == other.terms
        )

    @property
    def interval(self) -> Interval:
        """Smallest and largest value: exact for the digits of one operand, summed over operands."""
        if self._interval is None:
            if len(self.terms) < 2 or not self.has_digits:
                self._interval = range_of_terms(self.terms, self.const)
            else:
                total = Interval(self.const, self.const)
                for group in self.groups:
                    total = total + _range_of(group)
                self._interval = total
        return self._interval

    @property
    def groups(self) -> Iterable[list[tuple[Atom, Int]]]:
        """The terms in groups: a variable and its digits, or the digits of a sum."""
        if self._groups is None:
            groups: dict[Atom | AffineExpr, list[tuple[Atom, Int]]] = {}
            for term in self.terms:
                groups.setdefault(term[0].whole, []).append(term)
            self._groups = tuple(groups.values())
        return self._groups

    @property
    def has_digits(self) -> bool:
        """Whether a term is a digit or an operation; these come after variables."""
        return bool(self.terms) and type(self.terms[-1][0]) is not Var

    @property
    def is_sum(self) -> bool:
        """Whether the form has more than one part, the constant included."""
        return len(self.terms) + (self.const != 0) > 1

    def as_atom(self) -> Atom | None:
        """Return the atom that equals this form, or None."""
        if self.const == 0 and len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0]
        return None

    def __add__(self, other: AffineExpr | Int) -> AffineExpr:
        if not isinstance(other, AffineExpr):
            return AffineExpr(self.terms, self.const + other)
        mine, others, const = self.terms, other.terms, self.const + other.const
        if not mine or not others or mine[-1][0].key < others[0][0].key:
            return AffineExpr(mine + others, const)
        return AffineExpr.from_terms((*mine, *others), const)

    __radd__ = __add__

    def __neg__(self) -> AffineExpr:
        return self * -1

    def __sub__(self, other: AffineExpr | Int) -> AffineExpr:
        return self + (-other)

    def __rsub__(self, other: Int) -> AffineExpr:
        return (-self) + other

    def __mul__(self, factor: Int) -> AffineExpr:
        if factor == 0:
            return AffineExpr((), 0)
        return AffineExpr(tuple([(a, c * factor) for a, c in self.terms]), self.const * factor)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Int) -> AffineExpr:
        return digit(self, divisor, None)

    def __mod__(self, modulus: Int) -> AffineExpr:
        return digit(self, 1, modulus)

    def __xor__(self, other: AffineExpr | int) -> AffineExpr:
        return xor(self, other if isinstance(other, AffineExpr) else AffineExpr((), other))

    __rxor__ = __xor__

    def variables(self) -> tuple[Var, ...]:
        """Return the variables, each once, by name."""
        found = {a.name: a for a in self.atoms() if isinstance(a, Var)}
        return tuple(found[name] for name in sorted(found))

    def atoms(self) -> Iterator[Atom]:
        """Return every atom at every depth once."""
        seen: dict[Atom, None] = {}
        forms = [self]
        while forms:
            for atom, _ in forms.pop().terms:
                if atom not in seen:
                    seen[atom] = None
                    forms += atom.operands
        return iter(seen)

    @property
    def has_xors(self) -> bool:
        """Whether there is an exclusive or, or another operation on forms, at any depth."""
        return any(isinstance(atom, Call) for atom in self.atoms())

    def fold(self, to: Algebra[A, S]) -> S:
        """Return what an algebra makes of the form, from the variables up to the sum."""
        return to.sum([(atom, c, fold_atom(atom, to)) for atom, c in self.terms], self.const)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Return the value at these values of the variables and symbolic sizes.

        Values are ints, or NumPy arrays, which broadcast.
        """
        total: Any = evaluated(self.const, values)
        for atom, coefficient in self.terms:
            if isinstance(atom, Var):
                value = values[atom.name]
            elif isinstance(atom, Call):
                parts = [part.evaluate(values) for part in atom.parts]
                value = OPERATIONS[atom.kind].value(*parts)
            else:
                value = atom.operand.evaluate(values)
                if atom.divisor != 1:
                    value = value // evaluated(atom.divisor, values)
                if atom.modulus is not None:
                    value = value % evaluated(atom.modulus, values)
            total = total + (value if coefficient == 1 else evaluated(coefficient, values) * value)
        return total

    def sizes(self) -> frozenset[str]:
        """Return the names of the symbolic sizes in factors, constants, divisors and moduli."""
        atoms = list(self.atoms())
        numbers = [n for atom in atoms for n in (atom.divisor, atom.modulus or 1)]
        for form in (self, *(x for atom in atoms for x in atom.operands)):
            numbers += [form.const, *(c for _, c in form.terms)]
        return frozenset(names_in(numbers))

    def __repr__(self) -> str:
        return f"AffineExpr({list(self.terms)!r}, {self.const})"

    def __str__(self) -> str:
        return self.fold(_TEXT)


def fold_atom(atom: Atom, to: Algebra[A, S]) -> A:
    if isinstance(atom, Var):
        return to.variable(atom)
    if isinstance(atom, Call):
        return to.call(atom, [part.fold(to) for part in atom.parts])
    return to.digit(atom, atom.operand.fold(to))


AtomT = TypeVar("AtomT", bound="Atom")


def with_operands(atom: AtomT, change: Callable[[AffineExpr], AffineExpr]) -> AtomT:
    """Return an atom with each operand changed; itself if none is another object."""
    if isinstance(atom, Digit):
        x = change(atom.operand)
        return atom if x is atom.operand else cast(AtomT, Digit(x, atom.divisor, atom.modulus))
    parts = [change(part) for part in atom.operands]
    if isinstance(atom, Var) or all(map(operator.is_, parts, atom.operands)):
        return atom
    return cast(AtomT, _call(atom.kind, parts))


def _call(kind: str, parts: Iterable[AffineExpr]) -> Call:
    return BitXor(parts) if kind == "xor" else Call(kind, parts)


def call(kind: str, *parts: AffineExpr) -> AffineExpr:
    """Return the form of an operation on forms, without any rewriting; a number of numbers.

    >>> i = variable("i", 0, 7)
    >>> print(call("select", call(">=", i - 4), i - 4, i))
    (i - 4 if i >= 4 else i)
    """
    numbers = [part.const for part in parts if not part.terms and isinstance(part.const, int)]
    if len(numbers) == len(parts):
        return AffineExpr((), OPERATIONS[kind].value(*numbers))
    return AffineExpr(((_call(kind, parts), 1),), 0)


def comparison(x: Call) -> tuple[AffineExpr, str, AffineExpr]:
    """Return a comparison as people write it: its left side, sign and right side.

    >>> i, j = variable("i"), variable("j")
    >>> for form in (i - j - 1, 7 - i, i - 3):
    ...     left, sign, right = comparison(Call(">=", (form,)))
    ...     print(left, sign, right)
    i > j
    i <= 7
    i >= 3
    """
    (form,), mark = x.parts, x.kind
    plus = AffineExpr(tuple([(a, c) for a, c in form.terms if sign(c) > 0]), 0)
    minus = AffineExpr(tuple([(a, -c) for a, c in form.terms if sign(c) < 0]), 0)
    const = form.const
    if mark == ">=" and isinstance(const, SizeExpr) and (not plus.terms or not minus.terms):
        more = const + 1  # i < N in place of i <= N - 1
        if isinstance(more, int) or len(more.terms) < len(const.terms):
            return (plus, ">", -const - 1 + minus) if plus.terms else (minus, "<", plus + const + 1)
    if not plus.terms:
        return minus, mark.replace(">", "<"), plus + const
    if minus.terms and const == -1 and mark == ">=":
        return plus, ">", minus
    if minus.terms and sign(const) > 0:
        return plus + const, mark, minus
    return plus, mark, minus - const


def is_condition(form: AffineExpr) -> bool:
    """Return whether a form is a comparison, or the ``and`` or ``or`` of some: min and max."""
    atom = form.as_atom()
    if not isinstance(atom, Call):
        return False
    return len(atom.parts) == 1 or (
        atom.kind in ("min", "max") and all(map(is_condition, atom.parts))
    )


class _AsText:
    variable = operator.attrgetter("name")

    def digit(self, d: Digit, inner: str) -> str:
        if not inner.isidentifier() and not isinstance(d.whole, Call):
            inner = f"({inner})"
        if d.modulus is None:
            return inner if d.divisor == 1 else f"{inner}//{as_divisor(d.divisor)}"
        if d.divisor != 1:
            inner = f"({inner}//{as_divisor(d.divisor)})"
        return f"{inner}%{as_divisor(d.modulus)}"

    def call(self, x: Call, parts: list[str]) -> str:
        if len(parts) == 1:
            left, mark, right = comparison(x)
            return f"({left} {mark} {right})"
        if x.kind == "select":
            condition = parts[0][1:-1] if is_condition(x.parts[0]) else parts[0]
            return f"({parts[1]} if {condition} else {parts[2]})"
        word = " ^ " if x.kind == "xor" else _WORDS[x.kind]
        if x.kind != "xor" and not is_condition(AffineExpr(((x, 1),), 0)):
            return f"{x.kind}({', '.join(parts)})"
        return f"({word.join(parts)})"

    def sum(self, terms: list[tuple[Atom, Int, str]], const: Int) -> str:
        parts: list[tuple[Int, str]] = []
        for atom, coefficient, text in printing_order(terms):
            factor, body = absolute(coefficient), text
            if isinstance(atom, Digit) and coefficient != 1 and not atom.is_group:
                body = f"({body})"  # // and % bind as * does, from the left
            parts.append((coefficient, body if factor == 1 else f"{as_factor(factor)}*{body}"))
        if const or not parts:
            parts.append((const, as_factor(-const) if sign(const) < 0 else str(const)))
        return join_signed(parts)


_WORDS: Final = {"min": " and ", "max": " or "}  # of conditions
_TEXT: Final[Algebra[str, str]] = _AsText()


def variable(name: str, lo: Int | None = None, hi: Int | None = None) -> AffineExpr:
    """Return the form of one variable with inclusive bounds.

    >>> i = variable("i", 0, 31)
    >>> print(24 * (i // 8) + i % 8 + 1)
    24*(i//8) + i%8 + 1
    """
    return AffineExpr(((Var(name, Interval(lo, hi)), 1),), 0)


def standard(rank: int) -> tuple[str, ...]:
    """Return the names of coordinates in forms: ``d0, d1, …``."""
    return tuple(f"d{k}" for k in range(rank))


def coordinate_variables(shape: Sequence[Int]) -> list[AffineExpr]:
    """Return the coordinates ``d0, d1, …`` of an array as forms with bounds.

    >>> [f"{x} in {x.interval}" for x in coordinate_variables((6, 8))]
    ['d0 in 0..5', 'd1 in 0..7']
    """
    # A dimension of size 0 has no coordinate; the bounds 0..0 keep intervals ordered.
    return [variable(f"d{k}", 0, n - 1 if n != 0 else 0) for k, n in enumerate(shape)]


def digit(operand: AffineExpr, divisor: Int, modulus: Int | None) -> AffineExpr:
    """Return the form ``(operand // divisor) mod modulus`` without any rewriting.

    >>> print(digit(variable("i"), 4, 8))
    (i//4)%8
    """
    return AffineExpr(((Digit(operand, divisor, modulus), 1),), 0)


def xor(*parts: AffineExpr) -> AffineExpr:
    """Return the form ``x ^ y ^ …`` without any rewriting; a number if all parts are numbers.

    >>> print(8 * xor(variable("i", 0, 7), variable("j", 0, 7)) + 1)
    8*(i ^ j) + 1
    """
    return call("xor", *parts)


def divisions(form: AffineExpr) -> int:
    """Return how many divisions and remainders a form has, those inside of others too."""
    return sum((atom.divisor != 1) + (atom.modulus is not None) for atom in form.atoms())


def names_in(sizes: Iterable[Int | None]) -> tuple[str, ...]:
    """Return the names in sizes, each once, in the order of the sizes."""
    found = (name for n in sizes if isinstance(n, SizeExpr) for name in sorted(n.names()))
    return tuple(dict.fromkeys(found))


def floors_of(atom: Atom, factor: Int) -> list[tuple[Int, Int]]:
    """Return a term as floors of its operand x: pairs (s, c) of Σ c·(x // s).

    A modulus n is a second floor: x mod n = x - n·(x // n).

    >>> floors_of(Digit(variable("i"), 4, 8), 5)
    [(4, 5), (32, -40)]
    """
    if atom.modulus is None:
        return [(atom.divisor, factor)]
    return [(atom.divisor, factor), (atom.divisor * atom.modulus, -factor * atom.modulus)]


def _range_of(group: list[tuple[Atom, Int]]) -> Interval:
    if len(group) > 1:
        floors: dict[Int, Int] = {}
        for atom, c in group:
            for s, factor in floors_of(atom, c):
                floors[s] = floors.get(s, 0) + factor
        exact = range_of_floors(floors, group[0][0].whole.interval)
        if exact is not None:
            return exact
    return range_of_terms(group, 0)
