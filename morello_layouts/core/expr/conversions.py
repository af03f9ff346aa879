"""Forms to and from SymPy, forms to LaTeX, and the operators that readers of expressions need."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final

from morello_layouts.core.expr.affine import (
    AffineExpr,
    Atom,
    Call,
    Digit,
    call,
    comparison,
    digit,
    is_condition,
    xor,
)
from morello_layouts.core.expr.bounds import Interval
from morello_layouts.core.expr.calls import Var, printing_order
from morello_layouts.core.expr.choices import compared
from morello_layouts.core.expr.sizes import (
    Int,
    Monomial,
    SizeAtom,
    SizeExpr,
    absolute,
    cancel_quotients,
    ceil_quotient,
    common_divisor,
    is_nonnegative,
    join_signed,
)
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import importing, sympy
from morello_layouts.errors import LayoutError, UnsupportedError


def as_number(form: AffineExpr) -> Int | None:
    """Return the form as an integer or symbolic size, or None if a variable cannot be a size.

    A size is a variable of at least 1 without an upper bound.

    >>> from morello_layouts.core.expr.affine import variable
    >>> n = variable("N", 1)
    >>> print(as_number(8 * n + 1), as_number(variable("i", 0, 7)), as_number((n + 7) // 8))
    8*N + 1 None ceil(N/8)
    """
    total = form.const
    for atom, c in form.terms:
        value = _quotient(atom) if isinstance(atom, Digit) else _named(atom)
        if value is None:
            return None
        total = total + c * value
    return total


def _named(v: Var | Call) -> Int | None:
    lo, hi = v.interval
    is_size = hi is None and lo is not None and is_nonnegative(lo - 1)
    return SizeExpr.named(v.name) if is_size and isinstance(v, Var) else None


def _quotient(d: Digit) -> Int | None:
    """Return the value of a digit of a number, or None if it is not known.

    For a positive size x, (-x) // s is -⌈x/s⌉ and (x + s - 1) // s is ⌈x/s⌉.
    """
    number = as_number(d.operand)
    if number is None or not isinstance(d.divisor, int):
        return None
    if isinstance(number, int) and isinstance(d.modulus, int | None):
        return number // d.divisor if d.modulus is None else number // d.divisor % d.modulus
    if d.modulus is not None:
        return None
    if is_nonnegative(-number - 1):
        return -ceil_quotient(-number, d.divisor)
    less = number - (d.divisor - 1)
    return ceil_quotient(less, d.divisor) if is_nonnegative(less - 1) else None


def promote_to_sizes(form: AffineExpr, names: AbstractSet[str]) -> AffineExpr:
    """Return the form with these variables as symbolic sizes.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(promote_to_sizes((variable("i") + variable("N")) // 8, {"N"}).sizes())
    frozenset({'N'})
    """
    sizes = {name: AffineExpr((), SizeExpr.named(name)) for name in names}
    return substitute(form, sizes) if sizes else form


def multiply(left: AffineExpr, right: AffineExpr, sizes: set[str]) -> AffineExpr:
    """Return the product of two forms, one of which is a number.

    The variables that make it a number are sizes; they are added to ``sizes``.

    >>> from morello_layouts.core.expr.affine import variable
    >>> sizes = set()
    >>> print(multiply(variable("i"), variable("N", 1) + 2, sizes), sizes)
    (N + 2)*i {'N'}
    """
    if not right.terms or not left.terms:
        return right * left.const if right.terms else left * right.const
    for form, other in ((left, right), (right, left)):
        mask = other.as_atom()
        if isinstance(mask, Call) and mask.kind != "xor" and mask.interval.within(0, 1):
            return call("select", other, form, AffineExpr((), 0))
    # A factor without variables goes first: it makes no size of the other factor's variables.
    pairs = sorted(((left, right), (right, left)), key=lambda pair: bool(pair[1].variables()))
    for form, other in pairs:
        number = as_number(other)
        if number is not None:
            sizes |= {v.name for v in other.variables()}
            return form * number
    names = [v.name for form in (left, right) for v in form.variables()]
    size = next((name for name in names if not re.fullmatch(r"[ijkpxyz]|d\d+", name)), "N")
    raise UnsupportedError(
        f"({left}) * ({right}) is a product of two variables",
        "factors are integers, or sizes of at least 1 without an upper bound",
        f"multiply by a number, or give the size's bounds: {size}=1..",
    )


def add_fractions(parts: Sequence[tuple[AffineExpr, Int]]) -> tuple[AffineExpr, Int]:
    """Return the sum of forms over denominators, as a form and a common denominator.

    >>> from morello_layouts.core.expr.affine import variable
    >>> form, denominator = add_fractions([(variable("i"), 2), (variable("j"), 6)])
    >>> print(form, denominator)
    3*i + j 6
    """
    common: Int = 1
    for _, d in parts:
        if d != 1:
            common = common * d // common_divisor(common, d)
    terms: list[tuple[Atom, Int]] = []
    const: Int = 0
    for form, d in parts:
        terms += [(atom, common // d * c) for atom, c in form.terms]
        const += common // d * form.const
    return AffineExpr.from_terms(terms, const), common


def divide(form: AffineExpr, divisor: Int) -> AffineExpr:
    """Return ``form // divisor``, rounded down, for a divisor of either sign.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(divide(variable("i"), -4))
    (-i)//4
    """
    if divisor == 1:
        return form
    if is_nonnegative(divisor - 1):
        return digit(form, divisor, None)
    if is_nonnegative(-divisor - 1):
        return digit(-form, -divisor, None)
    raise _no_divisor(f"({form}) // ({divisor})", divisor)


def remainder(form: AffineExpr, modulus: Int) -> AffineExpr:
    """Return ``form mod modulus`` with the sign of the modulus, as in Python and SymPy.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(remainder(variable("i"), -4))
    -((-i)%4)
    """
    if is_nonnegative(modulus - 1):
        return digit(form, 1, modulus)
    if is_nonnegative(-modulus - 1):
        return -digit(-form, 1, -modulus)
    raise _no_divisor(f"({form}) mod ({modulus})", modulus)


def _no_divisor(what: str, divisor: Int) -> LayoutError:
    if divisor == 0:
        return LayoutError(what, "nothing divides by zero", "write another divisor")
    return LayoutError(what, f"the sign of {divisor} is not known", "divide by a positive size")


def latex(form: AffineExpr) -> str:
    r"""Return the form in LaTeX, without dollar signs.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(latex(24 * (variable("d1") // 4) + variable("d1") % 4))
    24 \left\lfloor \frac{d_{1}}{4} \right\rfloor + \left(d_{1} \bmod 4\right)
    """
    return form.fold(_LATEX)


class _Latex:
    def variable(self, v: Var) -> str:
        return _latex_name(v.name)

    def digit(self, d: Digit, inner: str) -> str:
        if d.divisor != 1:
            inner = rf"\left\lfloor \frac{{{inner}}}{{{_latex_factor(d.divisor)}}} \right\rfloor"
        elif d.operand.is_sum:
            inner = rf"\left({inner}\right)"
        if d.modulus is None:
            return inner
        return rf"\left({inner} \bmod {_latex_factor(d.modulus)}\right)"

    def call(self, x: Call, parts: list[str]) -> str:
        if len(parts) == 1:
            left, mark, right = comparison(x)
            sides = f" {_LATEX_SIGNS.get(mark, mark)} ".join((left.fold(self), right.fold(self)))
            return rf"\left[{sides}\right]"
        if x.kind == "select":
            condition, one, other = parts
            lines = rf"{one} & \text{{if }} {condition} \\ {other} & \text{{else}}"
            return rf"\begin{{cases}}{lines}\end{{cases}}"
        if x.kind in ("min", "max") and not is_condition(AffineExpr(((x, 1),), 0)):
            return rf"\{x.kind}\left({', '.join(parts)}\right)"
        texts = (
            rf"\left({text}\right)" if part.is_sum else text
            for part, text in zip(x.parts, parts, strict=True)
        )
        joined = f" {_LATEX_SIGNS[x.kind]} ".join(texts)
        return rf"\left({joined}\right)"

    def sum(self, terms: list[tuple[Atom, Int, str]], const: Int) -> str:
        parts: list[tuple[Int, str]] = []
        for _, c, text in printing_order(terms):
            factor = "" if c in (1, -1) else f"{_latex_factor(absolute(c))} "
            parts.append((c, f"{factor}{text}"))
        if const or not parts:
            parts.append((const, _latex_factor(absolute(const))))
        return join_signed(parts)


_LATEX_SIGNS: Final = {
    ">=": r"\ge", "<=": r"\le", "==": "=", "!=": r"\ne", "xor": r"\oplus", "min": r"\land",
    "max": r"\lor",
}  # fmt: skip
_LATEX: Final = _Latex()


def latex_map(variables: Sequence[str], forms: Sequence[AffineExpr]) -> str:
    r"""Return a map from variables to forms in display LaTeX, as notebooks show it.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(latex_map(["d0"], [2 * variable("d0")]))
    $$ d_{0} \mapsto 2 d_{0} $$
    """
    source, target = [_latex_name(name) for name in variables], [latex(form) for form in forms]
    return rf"$$ {_latex_tuple(source)} \mapsto {_latex_tuple(target)} $$"


def latex_int(value: Int) -> str:
    r"""Return an integer or a symbolic size in LaTeX.

    >>> from morello_layouts.core.expr.sizes import SizeExpr, exact_quotient
    >>> print(latex_int(24 * exact_quotient(SizeExpr.named("N"), 8) - 1))
    3 N - 1
    """
    if isinstance(value, int):
        return str(value)
    return join_signed([(c, _latex_monomial(c, m)) for m, c in value.printing_order()])


def _latex_monomial(c: int, monomial: Monomial) -> str:
    count, powers = cancel_quotients(abs(c), monomial)
    factors = [
        _latex_base(base) if power == 1 else f"{_latex_base(base, is_power=True)}^{{{power}}}"
        for base, power in powers
    ]
    lead = [str(count)] if count != 1 or not monomial else []
    return " ".join(lead + factors)


def _latex_base(base: SizeAtom | SizeExpr, *, is_power: bool = False) -> str:
    if isinstance(base, str):
        return _latex_name(base)
    if isinstance(base, SizeExpr):
        return _latex_factor(base)
    fraction = rf"\frac{{{latex_int(base.numerator)}}}{{{latex_int(base.divisor)}}}"
    if not base.exact:
        return rf"\left\lceil {fraction} \right\rceil"
    return rf"\left({fraction}\right)" if is_power else fraction


def _latex_factor(value: Int) -> str:
    """Return a number as a factor: a sum needs parentheses."""
    is_sum = not isinstance(value, int) and len(value.terms) > 1
    return rf"\left({latex_int(value)}\right)" if is_sum else latex_int(value)


def _latex_tuple(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else rf"\left({', '.join(parts)}\right)"


def _latex_name(name: str) -> str:
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    stem = stem.replace("_", r"\_")
    return f"{stem}_{{{number}}}" if number else stem


def symbol(name: str, lo: Int | None = 0) -> sympy.Symbol:
    """Return the SymPy symbol of a variable: an integer, nonnegative if its lower bound is."""
    if lo is not None and is_nonnegative(lo):
        return sympy.Symbol(name, integer=True, nonnegative=True)
    return sympy.Symbol(name, integer=True)


def to_sympy(form: AffineExpr, symbols: Mapping[str, sympy.Symbol] | None = None) -> sympy.Expr:
    """Return the form as a SymPy expression of ``floor``, ``Mod`` and ``BitXor``.

    Sizes are positive symbols.

    Names in ``symbols`` become these symbols.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(to_sympy(24 * (variable("d1", 0, 7) // 4) + variable("d1", 0, 7) % 4))
    Mod(d1, 4) + 24*floor(d1/4)
    """
    _ = sympy.Expr  # the error that it is not installed
    with importing:
        from morello_layouts.core.expr import sympy_functions

    return form.fold(_Sympy(symbols or {}, sympy_functions))(1)


@frozen
class _Sympy:
    """A sum becomes a function of a number, by which its terms are divided one by one."""

    named: Mapping[str, sympy.Symbol]
    functions: Any

    def variable(self, v: Var) -> Any:
        return self.named.get(v.name) or symbol(v.name, v.interval.lo)

    def digit(self, d: Digit, operand: Callable[[Int], Any]) -> Any:
        number = d.operand.const if not d.operand.terms else None
        if isinstance(number, int) and isinstance(d.divisor, int) and d.modulus is None:
            return self.functions.sympy.Integer(number // d.divisor)
        inner = operand(d.divisor)
        if d.divisor != 1:
            inner = self.functions.floor(inner, evaluate=False)
        if d.modulus is None:
            return inner
        return self.functions.Mod(inner, size_to_sympy(d.modulus, self.named), evaluate=False)

    def call(self, x: Call, parts: list[Callable[[Int], Any]]) -> Any:
        if x.kind == "xor":
            return self.functions.BitXor(*(part(1) for part in parts), evaluate=False)
        one = AffineExpr(((x, 1),), 0)
        if is_condition(one):
            pairs = (sympy.Integer(1), self.condition(one)), (sympy.Integer(0), True)
            return sympy.Piecewise(*pairs, evaluate=False)
        if x.kind == "select":
            pairs = (parts[1](1), self.condition(x.parts[0])), (parts[2](1), True)
            return sympy.Piecewise(*pairs, evaluate=False)
        kind = sympy.Max if x.kind == "max" else sympy.Min
        return kind(*(part(1) for part in parts), evaluate=False)

    def condition(self, form: AffineExpr) -> Any:
        atom = form.as_atom()
        if not is_condition(form) or not isinstance(atom, Call):
            return sympy.Ne(form.fold(self)(1), 0, evaluate=False)
        if len(atom.parts) == 1:
            left, mark, right = comparison(atom)
            return sympy.Rel(left.fold(self)(1), right.fold(self)(1), mark, evaluate=False)
        join = sympy.And if atom.kind == "min" else sympy.Or
        return join(*map(self.condition, atom.parts), evaluate=False)

    def sum(self, terms: list[tuple[Atom, Int, Any]], const: Int) -> Callable[[Int], Any]:
        def term(a: Atom, c: Int, x: Any, divisor: int = 1) -> Any:
            factor = (
                sympy.Rational(c, divisor) if isinstance(c, int) else size_to_sympy(c, self.named)
            )
            # SymPy would multiply out a number times a sum.
            group = isinstance(a, Digit) and a.is_group and a.operand.is_sum
            return sympy.Mul(factor, x, evaluate=not group) if factor != 1 else x

        def over(divisor: Int) -> Any:
            if isinstance(divisor, SizeExpr):
                return over(1) / size_to_sympy(divisor, self.named)
            if const == 0 and len(terms) == 1 and divisor == 1:
                return term(*terms[0])
            parts = [
                term(a, c, x, divisor)
                if isinstance(c, int)
                else sympy.Mul(sympy.Rational(1, divisor), term(a, c, x))
                for a, c, x in terms
            ]
            return sympy.Add(*parts, size_to_sympy(const, self.named) / divisor)

        return over


def size_to_sympy(value: Int, named: Mapping[str, sympy.Symbol]) -> Any:
    """Return a size as a SymPy expression of positive integer symbols and ``ceiling``."""
    if isinstance(value, int):
        return sympy.Integer(value)
    _ = sympy.Expr
    with importing:
        from morello_layouts.core.expr.sympy_functions import ceiling

    def value_of(name: SizeAtom) -> Any:
        if isinstance(name, str):
            return named.get(name) or sympy.Symbol(name, integer=True, positive=True)
        quotient = size_to_sympy(name.numerator, named) / size_to_sympy(name.divisor, named)
        return quotient if name.exact else ceiling(quotient, evaluate=False)

    return value.fold(value_of)


def number_from_sympy(expr: sympy.Expr) -> Int:
    """Return an integer or a symbolic size from SymPy.

    >>> from sympy import symbols
    >>> number_from_sympy(2 * symbols("N", integer=True, positive=True) - 1)
    SizeExpr(2*N - 1)
    """
    names = {s.name: Interval(1, None) for s in expr.free_symbols}
    number = as_number(form_from_sympy(expr, names))
    if number is None:
        raise LayoutError(
            f"{expr} is not a size",
            "a symbolic bound is a polynomial in sizes, such as N - 1",
            "write it with +, - and * only",
        )
    return number


def form_from_sympy(
    expr: sympy.Expr,
    bounds: Mapping[str, Interval],
    *,
    choices: bool = False,
    sizes: Mapping[str, Int] = MappingProxyType({}),
) -> AffineExpr:
    """Return a SymPy expression as a form; with ``choices`` also ``Max``, ``Min``, ``Piecewise``.

    A variable without an entry in ``bounds`` gets the bounds of its SymPy assumptions. Symbols of
    at least 1 without an upper bound may be divisors, moduli and factors.

    >>> from sympy import floor, symbols
    >>> print(form_from_sympy(3 * floor(symbols("i") / 4), {"i": Interval(0, 7)}))
    3*(i//4)
    """
    reader = _SympyReader(bounds, choices, sizes)
    form, denominator = reader.rational(expr)
    if denominator != 1:
        raise LayoutError(
            f"{expr} is not always an integer",
            "index expressions divide with floor",
            f"write floor({expr})",
        )
    return promote_to_sizes(form, reader.sizes)


class _SympyReader:
    """Read SymPy's tree as form / denominator, and note the symbols that must be sizes."""

    def __init__(
        self, bounds: Mapping[str, Interval], choices: bool, known: Mapping[str, Int]
    ) -> None:
        self.bounds, self.choices, self.known = bounds, choices, known
        self.sizes: set[str] = set()

    def rational(self, expr: Any) -> tuple[AffineExpr, Int]:
        if expr.is_Rational:
            return AffineExpr((), int(expr.p)), int(expr.q)
        if expr.is_Symbol and expr.name in self.known:
            return AffineExpr((), self.known[expr.name]), 1
        if expr.is_Symbol:
            return AffineExpr(((Var(expr.name, _bounds_of(expr, self.bounds)), 1),), 0), 1
        if expr.is_Add:
            return self.sum(expr)
        if expr.is_Mul:
            form = AffineExpr((), 1)
            denominator: Int = 1
            for arg in expr.args:
                other, d = self.rational(arg)
                form, denominator = multiply(form, other, self.sizes), denominator * d
            return form, denominator
        if expr.is_Pow and expr.exp.is_Integer:
            base, d = self.rational(expr.base)
            power = abs(int(expr.exp))
            number = self.number(base, expr.base) ** power
            return (
                (AffineExpr((), number), d**power)
                if expr.exp > 0
                else (AffineExpr((), d**power), number)
            )
        return self.function(expr), 1

    def sum(self, expr: Any) -> tuple[AffineExpr, Int]:
        return add_fractions([self.rational(arg) for arg in expr.args])

    def function(self, expr: Any) -> AffineExpr:
        name = expr.func.__name__
        if name in ("floor", "ceiling"):
            form, d = self.rational(expr.args[0])
            return divide(form, d) if name == "floor" else -divide(-form, d)
        if name == "Mod":
            (form, d), (by, e) = (self.rational(arg) for arg in expr.args)
            if d == e == 1:
                return remainder(form, self.number(by, expr.args[1]))
        if name in ("FloorDiv", "CleanDiv", "ModularIndexing"):  # of PyTorch's Inductor
            (form, d), *others = (self.rational(arg) for arg in expr.args)
            if d == 1 and all(e == 1 for _, e in others):
                forms = (each for each, _ in others)
                numbers = [*map(self.number, forms, expr.args[1:])]
                form = divide(form, numbers[0])
                return form if len(numbers) == 1 else remainder(form, numbers[1])
        if name in ("Max", "Min", "Abs") and self.choices:
            wholes = [self.whole(arg) for arg in expr.args]
            wholes += [-wholes[0]] if name == "Abs" else []
            return call("min" if name == "Min" else "max", *wholes)
        if name == "Piecewise" and self.choices and expr.args[-1][1] == True:  # noqa: E712  # SymPy's own
            found = self.whole(expr.args[-1][0])
            for value, condition in expr.args[-2::-1]:
                found = call("select", self.condition(condition), self.whole(value), found)
            return found
        if name in ("BitXor", "Xor"):  # SymPy's ^ of symbols is Xor, of Booleans by its documents
            parts = [self.rational(arg) for arg in expr.args]
            if len(parts) > 1 and all(d == 1 for _, d in parts):
                return xor(*(form for form, _ in parts))
        raise _unreadable(expr, self.choices)

    def whole(self, expr: Any) -> AffineExpr:
        form, denominator = self.rational(expr)
        if denominator != 1:
            raise _unreadable(expr, self.choices)
        return form

    def condition(self, expr: Any) -> AffineExpr:
        """Return a relation, or ``And``, ``Or`` and ``Not`` of some, as 1 or 0."""
        if expr.is_Relational:
            return compared(expr.rel_op, *map(self.whole, expr.args))
        name = expr.func.__name__
        if name in ("And", "Or"):
            return call("min" if name == "And" else "max", *map(self.condition, expr.args))
        if name == "Not":
            return call("==", self.condition(expr.args[0]))
        if name == "ITE":
            return call("select", *map(self.condition, expr.args))
        if expr.is_Boolean and not expr.args:  # true or false
            return AffineExpr((), int(bool(expr)))
        raise _unreadable(expr, self.choices)

    def number(self, form: AffineExpr, expr: Any) -> Int:
        value = as_number(form)
        if value is None:
            raise LayoutError(
                f"{expr} is not a divisor or factor",
                "these are integers, or sizes of at least 1 without an upper bound",
                "write a number, or give the size's bounds: N=1..",
            )
        self.sizes |= {v.name for v in form.variables()}
        return value


def _unreadable(expr: Any, choices: bool) -> UnsupportedError:
    functions = "floor, Mod, BitXor, Max, Min and Piecewise" if choices else "floor, Mod and BitXor"
    return UnsupportedError(
        f"{expr} is not quasi-affine",
        f"an index expression consists of integers, symbols, +, factors, {functions}; "
        "factors and divisors are integers or positive sizes",
        "replace one variable of each product or quotient by a number",
    )


def _bounds_of(expr: Any, bounds: Mapping[str, Interval]) -> Interval:
    given = bounds.get(expr.name)
    if given is not None:
        return given
    if expr.is_integer is False:
        raise LayoutError(
            f"{expr} is not an integer", "indices are integers", "use an integer symbol"
        )
    if expr.is_positive:
        return Interval(1, None)
    return Interval(0 if expr.is_nonnegative else None, None)
