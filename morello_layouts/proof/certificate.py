"""State what is true of maps as certificates, which ``morello_layouts.check`` checks by itself.

A statement consists of the formulas that the user holds, in Python's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import lcm
from typing import Any, Final, TypeAlias

from morello_layouts.check import CLAIMS, FORMAT, SHARED
from morello_layouts.core.expr import Var, canonicalize, coordinate_variables, variable
from morello_layouts.core.expr.affine import AffineExpr, Digit
from morello_layouts.core.expr.assumptions import Assumption, meet_all
from morello_layouts.core.expr.conversions import size_to_sympy, to_sympy
from morello_layouts.core.expr.sizes import (
    Int,
    Quotient,
    SizeExpr,
    absolute,
    ceil_quotient,
    common_divisor,
    is_nonnegative,
    sign,
)
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import has_inverse, linear_index, physical_coordinates
from morello_layouts.core.recipe.views import with_replicas_as_dims
from morello_layouts.errors import UnsupportedError
from morello_layouts.proof.ask import AnyMap, isl_budget, names_of
from morello_layouts.proof.bitcast import Correspondence, free_correspondence, in_parts
from morello_layouts.proof.certificate_digits import Certificate, certified
from morello_layouts.proof.comparison import as_layout
from morello_layouts.proof.equivalent import have_equal_axes
from morello_layouts.proof.relations import limits_of

_ZERO: Final = AffineExpr((), 0)


def certificate_of_map(m: AnyMap, claim: str) -> Certificate:
    """Return a certificate that a map is injective, surjective, bijective, padded, or verified.

    Of a map with replicas, the last coordinates say which place of an element is meant. Of one
    without an inverse formula, "verified" states that its formulas are equivalent.
    """
    m = m.named()
    if m.recipe is not None and m.replicas != 1 and claim != "bijective":
        m = _with_replicas(m)
    _require_no_replicas(m)
    if m.recipe is None or (claim != "verified" and not has_inverse(m.recipe)):
        return _certificate_of_formula(m, claim)
    if not has_inverse(m.recipe):
        return _proved({**_statement("equivalent", m), "others": _others(m)}, m)
    found = _statement(claim, m)
    found["inverse"] = [python_text(expr) for expr in m.inverse.exprs]
    found["padding"] = _size(m.recipe.size - _product(m.recipe.shape), m)
    if claim == "verified":
        limits = limits_of(m.inverse.padding)
        found["limits"] = [[python_text(x), python_text(n)] for x, n in limits]
        tail = m.recipe.tail_padding
        found["end"] = _size(m.recipe.size - (0 if is_nonnegative(-tail) else tail), m)
        found["others"] = _others(m)
    return _proved(found, m)


def _others(m: IndexMap) -> list[str]:
    """Return the reference formula, and the recipe's, which nothing simplified."""
    return [python_text(m.reference), _form(_slot(m), m)]


def _certificate_of_formula(m: AnyMap, claim: str) -> Certificate:
    """Return a certificate by an inverse of the formula; the checker trusts none of them."""
    for inverse, size, layout in _inverses(m) if len(m.given) == 1 and claim != "verified" else ():
        found = {**_statement(claim, m), "inverse": inverse}
        if m.buffer_size is None:
            found["size"] = _size(size, m)
        found["padding"] = f"{found['size']} - {'*'.join(f'({n})' for n in found['shape'])}"
        with suppress(UnsupportedError):
            return _proved(found, layout)
    raise UnsupportedError(
        f"a certificate that {m} is {claim}: no inverse of the formula was found",
        "only an offset that is a sum of digits in growing or coprime strides has one",
        "compare the formula with a layout: certificate(layout, map)",
    )


def _inverses(m: AnyMap) -> Iterator[tuple[list[str], Int, AnyMap]]:
    """Yield inverses of a formula, each with the size of a buffer that it fills and its map.

    The map of a layout says what a pitch needs, as its recipe does.
    """
    for sized in (m, replace(m, buffer_size=None)) if m.recipe is None else ():
        with isl_budget() as context:
            layout = as_layout(sized, context)
        if layout is not None:
            inverse = [python_text(expr) for expr in layout.inverse.exprs]
            yield inverse, layout.recipe.size, layout
    digits = digits_of(canonicalize(m.given[0]), m.sizes)
    if digits is not None:
        first = end = m.given[0].const
        for factor, *_, count in digits:
            last = factor * (count - 1)
            first, end = (first + last, end) if sign(factor) < 0 else (first, end + last)
        ways = (_inverse(m, digits, first, is_coprime) for is_coprime in (False, True))
        yield from ((way, end + 1, m) for way in ways)


_DigitOf: TypeAlias = tuple[Int, int, int, Int]
"""A digit's factor, its weight in its coordinate, the coordinate's number, and how many values."""


def _inverse(m: AnyMap, digits: list[_DigitOf], first: Int, is_coprime: bool) -> list[str]:
    """Return the coordinates of offset p: each digit in turn is found, and taken out of the rest.

    A digit of the largest stride is a quotient by it; one that is coprime to what the other strides
    share is a remainder by that. A digit whose stride is negative counts from its last value.
    """
    found = [_ZERO for _ in m.sizes]
    left, rest = [digit for digit in digits if digit[0] != 0], variable("p") - first
    while left:
        at, shared, inverse, modulus = _coprime(left) if is_coprime else (0, 0, 1, 0)
        factor, weight, k, count = left.pop(at)
        step = absolute(factor)
        if modulus == 0:
            digit, rest = rest // step, rest % step
        else:
            digit = rest // shared * inverse % modulus
            rest = rest - digit * step
        found[k] = found[k] + (count - 1 - digit if sign(factor) < 0 else digit) * weight
    return [_form(form, m) for form in found]


def _coprime(digits: Sequence[_DigitOf]) -> tuple[int, Int, int, Int]:
    """Return the number of a digit whose stride is coprime to what the other ones share.

    Returns:
        Then what its stride shares with them, the inverse of the rest of it, and the modulus of
        both; or 0, 0, 1 and 0 if there is none.
    """
    for at, (factor, *_, count) in enumerate(digits):
        every: Int = 0
        for other in (*digits[:at], *digits[at + 1 :]):
            every = common_divisor(every, other[0])
        shared = common_divisor(factor, every)
        step, modulus = absolute(factor) // shared, every // shared
        if isinstance(modulus, int) and isinstance(step, int):
            if modulus > 1 and not (isinstance(count, int) and count > modulus):
                return at, shared, pow(step, -1, modulus), modulus
        elif step == 1:
            return at, shared, 1, modulus
    return 0, 0, 1, 0


def digits_of(form: AffineExpr, shape: Sequence[Int]) -> list[_DigitOf] | None:
    """Return the digits whose sum a formula is, the one of the largest stride first.

    Returns:
        Of each digit its factor, its weight in its coordinate, the coordinate's number, and the
        number of its values; None if a quotient or remainder is not of one coordinate, or if the
        weights of a coordinate's digits do not divide each other.
    """
    terms: list[tuple[int, int, int | None, Int]] = []
    for atom, factor in form.terms:
        v = atom.whole if isinstance(atom, Digit) else atom
        divisor, modulus = (atom.divisor, atom.modulus) if isinstance(atom, Digit) else (1, None)
        if not isinstance(v, Var) or not isinstance(divisor, int):
            return None
        if not isinstance(modulus, int | None):
            return None
        end = None if modulus is None else divisor * modulus
        terms.append((int(v.name[1:]), divisor, end, factor))
    found: list[tuple[Int, int, int, Int]] = []
    for k, n in enumerate(shape):
        own = [(divisor, end, factor) for at, divisor, end, factor in terms if at == k]
        cuts = sorted({1, *(x for divisor, end, _ in own for x in (divisor, end) if x)})
        cuts = [x for x in cuts if x == 1 or not isinstance(n, int) or x < n]
        for weight, above in zip(cuts, [*cuts[1:], None], strict=True):
            if above is not None and above % weight:
                return None
            total: Int = 0
            for divisor, end, c in own:
                if divisor <= weight and (end is None or weight < end):
                    total = total + c * (weight // divisor)
            count = ceil_quotient(n, weight) if above is None else above // weight
            if count != 1:
                found.append((total, weight, k, count))
    return sorted(found, key=lambda x: at_seven(absolute(x[0])), reverse=True)


def at_seven(n: Int) -> int:
    """Return a size where each name is 7, for an order of sizes that are seldom compared."""
    return n if isinstance(n, int) else int(n.evaluate(dict.fromkeys(n.names(), 7)))


def certificate_of_equality(a: AnyMap, b: AnyMap) -> Certificate:
    """Return a certificate that two maps give every coordinate the same offset."""
    a, b = a.named(), b.named()
    if a.replicas == b.replicas != 1:
        a, b = (_with_replicas(m) for m in (a, b) if m.recipe is not None)
    _require_no_replicas(a, b)
    _require_equal_axes(a, b)
    return _proved({**_statement("equivalent", a, b), "others": [python_text(b.expr)]}, a, b)


def certificate_of_bitcast(
    a: IndexMap, b: IndexMap, correspondence: Correspondence = "row-major"
) -> Certificate:
    """Return a certificate that each element of b has the slot of the element of a.

    They correspond in row-major order, after the dimensions of both are brought into orders. If
    tiles become dimensions or one array is larger, it states that the views that
    ``is_bitcast`` compares are equivalent.
    """
    a, b = in_parts(a.named(), b.named())
    _require_no_replicas(a, b)
    _require_equal_axes(a, b)
    orders = [[*range(len(m.recipe.shape))] for m in (a, b)]
    as_many = _product(a.recipe.shape) == _product(b.recipe.shape)
    if isinstance(correspondence, str) and not (as_many and correspondence == "row-major"):
        found = free_correspondence(a, b, correspondence)
        if found is not None and found.orders is None:
            return certificate_of_equality(found.first, found.second)
        orders = [[*x] for x in found.orders or orders] if found is not None else orders
    elif correspondence != "row-major":
        orders[0] = [*correspondence]
    return _proved(_bitcast(a, b, *orders), a, b)


def _bitcast(a: IndexMap, b: IndexMap, order: list[int], other: list[int]) -> Certificate:
    """Return the statement about dimensions in two orders."""
    at = coordinate_variables(a.recipe.shape)
    position = linear_index([at[k] for k in order], [a.recipe.shape[k] for k in order], _ZERO)
    view: dict[int, AffineExpr] = {}
    stride: Int = 1
    for k in reversed(other):
        n = b.recipe.shape[k]
        n = 1 if n == 0 else n
        view[k] = position // stride if k == other[0] else position // stride % n
        stride *= n
    found = _statement("bitcast", a, b)
    found["view"] = [_form(view[k], a) for k in sorted(view)]
    found |= {"order": [*map(str, order)], "other_order": [*map(str, other)]}
    found["other_shape"] = [_size(n, b) for n in b.recipe.shape]
    found["others"] = [python_text(b.expr)]
    return found


def certificate_of_relayout(source: IndexMap, target: IndexMap, expr: Any) -> Certificate:
    """Return a certificate that a formula of the target's offset gives the source's offset."""
    source, target = source.named(), target.named()
    _require_no_replicas(target)
    found = {**_statement("relayout", source, target), "source": python_text(expr)}
    return _proved({**found, "others": [python_text(target.expr)]}, source, target)


def certificate_of_number(
    m: AnyMap, number: int, starts: Sequence[tuple[Int, int]], period: Int, outer: int
) -> Certificate:
    """Return a certificate that a formula of the offset says which of several maps it is of.

    The formula is one text for all of the maps: if each has a certificate of another number, no two
    of them share an offset.

    Args:
        m: one of the maps.
        number: its number.
        starts: the offsets from which on a number counts, in growing order.
        period: after how many offsets the numbers come again.
        outer: how many of the first coordinates count periods; the others may be taken singly.
    """
    end, texts, before = _size(period, m), [], 0
    at = f"p % ({end})" if outer else "p"
    for start, k in starts:
        # One from the start on: the room behind it, at least, is added to it and to the offset.
        room = period - start if outer else _unrounded(period - start)
        over = _size(start + room, m)
        texts.append(f"({k - before})*(({at} + ({over}) - ({_size(start, m)}))//({over}))")
        before = k
    found = {**_statement("relayout", m), "source": " + ".join(texts), "offset": str(number)}
    found["others"] = [python_text(m.expr)]
    return _proved(found, m, singly=range(outer, len(m.sizes)))


def _unrounded(n: Int) -> Int:
    """Return a size that is not below a sum of products, without their quotients that round up.

    The checker divides by the sum of it and others, whose first products are then no quotients.
    """
    if isinstance(n, int):
        return n
    found: Int = n.fold(lambda a: a.numerator if isinstance(a, Quotient) else SizeExpr.named(a))
    return found


def _proved(
    statement: Certificate, *maps: AnyMap, singly: Iterable[int] | None = None
) -> Certificate:
    """Return the certificate of a statement; a size that is at least another one is a sum."""
    for m in maps:
        for n, least in m.requires:
            name = str(n)
            free = {"name": name, "multiple_of": "1", "least": "1"}
            is_free = free in statement["sizes"]
            if is_free and not is_nonnegative(n - least) and name not in _names_of(least):
                text = f"{_size(least, m)} + {name}_more - 1"
                statement = _put(statement, name, f"({text})")
                statement["about"].append(f"{name} = {text}")
                statement["sizes"].remove(free)
                statement["sizes"].append({**free, "name": f"{name}_more"})
    keys = SHARED | CLAIMS[statement["claim"]][0] | {"about"}
    return certified({key: x for key, x in statement.items() if key in keys}, singly)


def _names_of(n: Int) -> frozenset[str]:
    return frozenset() if isinstance(n, int) else frozenset(n.names())


def _put(given: Any, name: str, text: str) -> Any:
    """Return a statement with another text for a size."""
    if isinstance(given, str):
        return re.sub(rf"\b{name}\b", text, given)
    if isinstance(given, list):
        return [_put(x, name, text) for x in given]
    told = {"format", "claim", "about", "sizes", "order", "other_order"}
    return {key: x if key in told else _put(x, name, text) for key, x in given.items()}


def _require_no_replicas(*maps: AnyMap) -> None:
    if any(m.replicas != 1 for m in maps):
        raise UnsupportedError(
            "no certificate is about the one place of an element with replicas",
            "each element is on several places",
            "claim 'injective', 'surjective', 'padded' or 'verified', which are about all places",
        )


def _require_equal_axes(a: AnyMap, b: AnyMap) -> None:
    recipes = [m.recipe for m in (a, b) if m.recipe is not None]
    if len(recipes) == 2 and not have_equal_axes(*recipes):
        raise UnsupportedError(
            f"a certificate about {a} and {b}: their named axes have other sizes",
            "equal offsets are equal places only on equal axes",
            "ask whether they are equivalent; are_equivalent compares places",
        )


def _with_replicas(m: IndexMap) -> IndexMap:
    """Return the map from an element and the number of its place; the first has m's formulas."""
    every = replace(m, recipe=with_replicas_as_dims(m.recipe))
    moved = canonicalize(_slot(every)) - canonicalize(_slot(m))
    return replace(every, reference_form=m.reference_form + moved)


def _statement(claim: str, m: AnyMap, *others: AnyMap) -> Certificate:
    """Return what every statement about a map holds."""
    maps = (m, *others)
    facts = {one.name: one for one in meet_all(x for one in maps for x in one.assumptions)}
    numbers = [n for one in maps for n in _numbers(one)]
    names = {name for n in numbers if isinstance(n, SizeExpr) for name in n.names()}
    names |= {*names_of(*maps)}
    assumed = [facts.get(name, Assumption(name)) for name in sorted(names)]
    return {
        "format": FORMAT,
        "claim": claim,
        "about": [one.source for one in maps],
        "sizes": [_assumed(one) for one in assumed],
        "shape": [_size(n, m) for n in m.sizes],
        "size": _size(1 if m.buffer_size is None else m.buffer_size, m),
        "offset": python_text(m.expr),
    }


def _assumed(one: Assumption) -> dict[str, str]:
    """Return what is assumed of a size; a largest one is said where there is one."""
    found = {"name": one.name, "multiple_of": str(one.divisor), "least": str(max(1, one.lo))}
    return found | ({} if one.hi is None else {"most": str(one.hi)})


def _numbers(m: AnyMap) -> Iterable[Int]:
    if m.recipe is not None:
        return m.recipe.numbers
    return m.sizes if m.buffer_size is None else (*m.sizes, m.buffer_size)


def _product(sizes: Sequence[Int]) -> Int:
    total: Int = 1
    for n in sizes:
        total = total * n
    return total


def _size(n: Int, m: AnyMap) -> str:
    return str(n) if isinstance(n, int) else python_text(size_to_sympy(n, m.size_symbols))


def _form(form: AffineExpr, m: AnyMap) -> str:
    return python_text(to_sympy(form, m.size_symbols))


def _slot(m: IndexMap) -> AffineExpr:
    """Return the offset by the recipe."""
    recipe = m.recipe
    at = physical_coordinates(recipe, coordinate_variables(recipe.shape), _ZERO)
    return linear_index(at, recipe.physical_shape, _ZERO) + recipe.offset


def python_text(expr: Any) -> str:
    """Return a SymPy expression of integers in ``+ - * // % ^``.

    >>> from sympy import Mod, Symbol, ceiling, floor
    >>> x = Symbol("x")
    >>> python_text(3 * floor(x / 8) + Mod(x, 8)), python_text(ceiling(x / 4))
    ('x % 8 + 3*(x//8)', '-((-x)//4)')
    """
    return _quotient_text(*_fraction(expr))


def _quotient_text(numerator: str, number: int, others: tuple[str, ...]) -> str:
    divisors = [*([str(number)] if number != 1 else []), *others]
    if not divisors:
        return numerator
    below = divisors[0] if len(divisors) == 1 else f"({'*'.join(divisors)})"
    return f"{_factor(numerator)}//{below}"


def _factor(text: str) -> str:
    """Return a text as an operand of any operator."""
    return text if text.isalnum() else f"({text})"


def _fraction(expr: Any) -> tuple[str, int, tuple[str, ...]]:
    """Return a numerator as text, and a denominator: a number, and texts of sizes."""
    if expr.is_Rational:
        return str(expr.p), int(expr.q), ()
    if expr.is_Symbol:
        return expr.name, 1, ()
    if expr.is_Add:
        return _sum([_fraction(arg) for arg in _ordered(expr)])
    if expr.is_Mul:
        parts = [_fraction(arg) for arg in _ordered(expr)]
        number = 1
        for _, q, _ in parts:
            number *= q
        numerators = [_factor(text) for text, *_ in parts if text != "1"]
        return "*".join(numerators) or "1", number, tuple(x for *_, own in parts for x in own)
    if expr.is_Pow and expr.exp.is_Integer:
        base = _factor(python_text(expr.base))
        if expr.exp > 0:
            return "*".join([base] * int(expr.exp)), 1, ()
        return "1", 1, (base,) * int(-expr.exp)
    inner, *others = expr.args
    match type(expr).__name__:
        case "BitXor":
            return f"({' ^ '.join(map(python_text, expr.args))})", 1, ()
        case "Mod":
            return f"{_factor(python_text(inner))} % {_factor(python_text(others[0]))}", 1, ()
        case "floor":
            return _quotient_text(*_fraction(inner)), 1, ()
        case "ceiling":
            numerator, number, below = _fraction(inner)
            return f"-({_quotient_text(f'-{_factor(numerator)}', number, below)})", 1, ()
    raise TypeError(f"no text of {type(expr).__name__}")


def _ordered(expr: Any) -> list[Any]:
    """Return the parts of a sum or product in an order that is always the same."""
    from sympy import default_sort_key

    return sorted(expr.args, key=default_sort_key)


def _sum(parts: list[tuple[str, int, tuple[str, ...]]]) -> tuple[str, int, tuple[str, ...]]:
    """Return a sum over the common denominator."""
    number = lcm(*(q for _, q, _ in parts))
    sizes = tuple(dict.fromkeys(x for *_, own in parts for x in own))
    texts = []
    for text, q, own in parts:
        factors = [
            *([str(number // q)] if number != q else []),
            *(x for x in sizes if x not in own),
        ]
        texts.append("*".join([*factors, _factor(text)]) if factors else text)
    return " + ".join(texts), number, sizes
