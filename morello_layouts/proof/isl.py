"""Spaces of coordinates and quasi-affine values over them, as ISL objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import accumulate
from operator import mul

from morello_layouts.core.expr import AffineExpr, Call, Digit, Interval
from morello_layouts.core.expr.affine import with_operands
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, Monomial, Quotient, SizeExpr
from morello_layouts.core.expr.substitution import replace_atoms, value_of
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import ISL_BITS
from morello_layouts.core.recipe import Recipe, linear_index, physical_coordinates
from morello_layouts.errors import UnsupportedError
from morello_layouts.proof.library import isl

_PRESBURGER = "products of symbols are outside of Presburger arithmetic"
_ASK_NUMBERS = "ask at given sizes"


class NotAffineError(UnsupportedError):
    """A value that is not a sum of quasi-affine functions times symbolic sizes."""


@frozen(slots=False)
class Parameters:
    """The ISL parameters for symbolic sizes, and the assumptions about them.

    A product of sizes is a parameter of its own; ISL only knows that it is positive.
    """

    monomials: tuple[Monomial, ...] = ()  #: the name or the product behind each parameter.
    assumptions: tuple[Assumption, ...] = ()  #: facts about names, also about those in products.
    required: tuple[tuple[Int, Int], ...] = ()  #: pairs (n, m) of which n >= m is assumed.

    @staticmethod
    def of(
        numbers: Iterable[Int],
        assumptions: Iterable[Assumption] = (),
        required: Iterable[tuple[Int, Int]] = (),
    ) -> Parameters:
        """Return the parameters in some numbers."""
        found: dict[Monomial, None] = {}
        for number in numbers:
            if isinstance(number, SizeExpr):
                found.update(dict.fromkeys(_parameters(number)))
        return Parameters(tuple(found), tuple(assumptions), tuple(required))

    @property
    def are_names(self) -> bool:
        """True if each parameter is the size of one name."""
        return all(_is_name(monomial) for monomial in self.monomials)

    def sizes(self) -> list[SizeExpr]:
        """Return each parameter as a symbolic size."""
        return [SizeExpr(((monomial, 1),)) for monomial in self.monomials]


def _parameters(number: SizeExpr) -> Iterable[Monomial]:
    for monomial, _ in number.terms:
        match monomial:
            case ((Quotient(divisor=int(), numerator=SizeExpr() as numerator), 1),):
                yield from _parameters(numerator)
            case ():
                pass
            case _:
                yield monomial


def _is_name(monomial: Monomial) -> bool:
    return len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], str)


@frozen(slots=False)
class Space:
    """Integer variables within bounds, in one ISL context."""

    context: isl.Context  #: the context, which counts the budget.
    domain: isl.Set  #: the set of values that the variables take together.
    #: each variable, by name, as an affine function on the domain.
    variables: Mapping[str, isl.Aff]
    parameters: Parameters = Parameters()  #: the symbolic sizes in the bounds.
    #: the sizes of the array whose coordinates the variables are, if they are.
    shape: tuple[Int, ...] = ()

    @staticmethod
    def of(
        shape: Sequence[Int], context: isl.Context, parameters: Parameters | None = None
    ) -> Space:
        """Return the coordinates of an array: ``d0, d1, …`` with 0 ≤ d_k < shape[k]."""
        bounds = {f"d{k}": Interval(0, n - 1) for k, n in enumerate(shape)}
        return Space.within(bounds, context, parameters or Parameters.of(shape), shape)

    @staticmethod
    def within(
        bounds: Mapping[str, Interval],
        context: isl.Context,
        parameters: Parameters = Parameters(),  # noqa: B008
        shape: Sequence[Int] = (),
    ) -> Space:
        """Return named variables within their bounds, either of which may be None."""
        context = getattr(context, "opened", context)
        space = isl.Space.set_alloc(context, len(parameters.monomials), len(bounds))
        for k in range(len(parameters.monomials)):
            space = space.set_dim_name(isl.dim_type.param, k, f"p{k}")
        local = isl.LocalSpace.from_space(space)
        variables = {
            name: isl.Aff.var_on_domain(local, isl.dim_type.set, k) for k, name in enumerate(bounds)
        }
        empty = Space(context, isl.Set.universe(space), variables, parameters)
        parts = [empty.domain]
        for x, (lo, hi) in zip(empty.coordinates, bounds.values(), strict=True):
            if lo is not None:
                parts.append(x.ge_set(empty.number(lo)))
            if hi is not None:
                parts.append(x.le_set(empty.number(hi)))
        domain = intersection(parts)
        if parameters.monomials:
            domain = domain.intersect_params(empty.sizes)
        found = Space(context, domain, variables, parameters, tuple(shape))
        vars(found)["sizes"] = empty.sizes
        return found

    @cached_property
    def coordinates(self) -> tuple[isl.Aff, ...]:
        """The variables in order."""
        return tuple(self.variables.values())

    @cached_property
    def _local(self) -> isl.LocalSpace:
        return isl.LocalSpace.from_space(self.domain.get_space())

    @cached_property
    def sizes(self) -> isl.Set:
        """The assumed values of the parameters, as a parameter set."""
        known = isl.Set.universe(self.domain.get_space().params())
        assumed = {one.name: one for one in self.parameters.assumptions}
        local = isl.LocalSpace.from_space(known.get_space())
        for k, monomial in enumerate(self.parameters.monomials):
            name = monomial[0][0]
            one = assumed.get(name) if _is_name(monomial) and isinstance(name, str) else None
            size = isl.Aff.var_on_domain(local, isl.dim_type.param, k)
            known = known.intersect(at_least(size, one.lo if one else 1).params())
            if one and one.hi is not None:
                known = known.intersect(at_least(size.neg(), -one.hi).params())
            if one and one.divisor > 1:
                known = known.intersect(
                    size.mod_val(self.val(one.divisor)).to_pw_aff().zero_set().params()
                )
        for n, m in self.parameters.required:
            known = known.intersect(at_least(self.number(n - m), 0).params())
        return known

    @cached_property
    def _numbers(self) -> dict[Int, isl.Aff]:
        return {}

    def number(self, value: Int) -> isl.Aff:
        """Return a function of the parameters alone."""
        if value not in self._numbers:
            self._numbers[value] = self._number(value)
        return self._numbers[value]

    def _number(self, value: Int) -> isl.Aff:
        if isinstance(value, int):
            return isl.Aff.val_on_domain(self._local, self.val(value))
        first, *others = (
            scaled(self._monomial(m), c) if m else self.number(c) for m, c in value.terms
        )
        return reduce(isl.Aff.add, others, first)

    def _monomial(self, monomial: Monomial) -> isl.Aff:
        if monomial in self.parameters.monomials:
            k = self.parameters.monomials.index(monomial)
            return isl.Aff.var_on_domain(self._local, isl.dim_type.param, k)
        match monomial:
            case ((Quotient(divisor=int() as d) as quotient, 1),):
                raised = quotient.numerator + (0 if quotient.exact else d - 1)
                return self.number(raised).scale_down_val(self.val(d)).floor()
        what = f"ISL cannot decide with the symbolic factor or bound {SizeExpr(((monomial, 1),))}"
        raise NotAffineError(what, _PRESBURGER, _ASK_NUMBERS)

    def val(self, value: int) -> isl.Val:
        """Return a number in the context."""
        return _val(self.context, value)


def intersection(sets: list[isl.Set]) -> isl.Set:
    """Return what some sets share; in pairs, since each step copies both sides."""
    while len(sets) > 1:
        pairs = zip(sets[::2], sets[1::2], strict=False)
        sets = [a.intersect(b) for a, b in pairs] + sets[len(sets) - len(sets) % 2 :]
    return sets[0]


def at_least(function: isl.Aff, least: int) -> isl.Set:
    """Return the points at which a function is at least a number."""
    if least not in (0, 1):
        function = function.add_constant_val(_val(function.get_ctx(), -least))
    values = function.to_pw_aff()
    return values.pos_set() if least == 1 else values.nonneg_set()


def scaled(function: isl.Aff, factor: int) -> isl.Aff:
    """Return a multiple of a function."""
    return function if factor == 1 else function.scale_val(_val(function.get_ctx(), factor))


def _val(context: isl.Context, value: int) -> isl.Val:
    if value.bit_length() > ISL_BITS:
        raise UnsupportedError(
            f"number in a proof: expected at most {ISL_BITS} bits, got {value.bit_length()}",
            "ISL reads numbers as text",
            "ask at smaller sizes",
        )
    if -(2**63) <= value < 2**63:
        return isl.Val.int_from_si(context, value)
    # ISL's integers are unbounded, but only text carries one past 64 bits.
    return isl.Val.read_from_str(context, str(value))


@frozen
class Value:
    """``Σ monomial · function`` over a space."""

    #: the function by which each monomial is multiplied; ``()`` is the monomial 1.
    parts: Mapping[Monomial, isl.Aff]
    space: Space  #: the space on which the functions are defined.

    @staticmethod
    def of(function: isl.Aff, space: Space) -> Value:
        """Return a quasi-affine function as a value."""
        return Value({(): function}, space)

    @staticmethod
    def constant(number: Int, space: Space) -> Value:
        """Return a number or a symbolic size as a value."""
        return Value.of(space.number(1), space) * number

    @property
    def function(self) -> isl.Aff:
        """The value as one quasi-affine function, of the parameters too."""
        total = self.parts.get((), self.space.number(0))
        for monomial, function in self.parts.items():
            if monomial:
                size = SizeExpr(((monomial, 1),))
                if not function.is_cst():
                    raise NotAffineError(
                        f"a value with the factor {size}", _PRESBURGER, _ASK_NUMBERS
                    )
                total = total.add(self.space.number(size).scale_val(function.get_constant_val()))
        return total

    def __add__(self, other: Value | MixedRadix | Int) -> Value:
        if isinstance(other, MixedRadix):
            other = other.value
        if not isinstance(other, Value):
            other = Value.constant(other, self.space)
        parts = dict(self.parts)
        for monomial, function in other.parts.items():
            known = parts.get(monomial)
            parts[monomial] = function if known is None else known.add(function)
        return Value(parts, self.space)

    def __sub__(self, other: Value | Int) -> Value:
        return self + other * -1

    def __mul__(self, factor: Int) -> Value:
        if isinstance(factor, int):
            return Value({m: scaled(f, factor) for m, f in self.parts.items()}, self.space)
        total = Value({}, self.space)
        for monomial, c in factor.terms:
            for own, function in self.parts.items():
                ((product, _),) = _product(own, monomial).terms
                total = total + Value({product: scaled(function, c)}, self.space)
        return total

    def __floordiv__(self, divisor: Int) -> Value:
        """Return the floor of the quotient; symbolic factors must leave no remainder."""
        if isinstance(divisor, SizeExpr):
            self._require_below(divisor)
            return Value.of(self.space.number(0), self.space)
        down = self.space.val(divisor)
        multiples, rest = self._divided(divisor)
        return Value({**multiples, (): rest.scale_down_val(down).floor()}, self.space)

    def __xor__(self, other: Value | MixedRadix | int) -> Value:
        raise _no_xor("an exclusive or")

    def __mod__(self, modulus: Int) -> Value:
        """Return the remainder; symbolic factors must leave none."""
        if isinstance(modulus, SizeExpr):
            self._require_below(modulus)
            return self
        _, rest = self._divided(modulus)
        return Value.of(rest.mod_val(self.space.val(modulus)), self.space)

    def _require_below(self, size: SizeExpr) -> None:
        """Raise NotAffineError unless 0 <= value < size everywhere."""
        x = self.function
        wrong = x.lt_set(self.space.number(0)).union(x.ge_set(self.space.number(size)))
        if not wrong.is_disjoint(self.space.domain):
            raise NotAffineError(
                f"a floor of a quotient by {size}",
                "quotients by symbols are outside of Presburger arithmetic",
                _ASK_NUMBERS,
            )

    def _divided(self, divisor: int) -> tuple[dict[Monomial, isl.Aff], isl.Aff]:
        """Return the quotients of what a divisor divides, and the rest as one function."""
        val = self.space.val(divisor)
        quotients: dict[Monomial, isl.Aff] = {}
        rest: dict[Monomial, isl.Aff] = {(): self.parts.get((), self.space.number(0))}
        for monomial, function in self.parts.items():
            if not monomial:
                continue
            remainder = function.mod_val(val).to_pw_aff().intersect_domain(self.space.domain)
            if remainder.non_zero_set().is_empty():
                quotients[monomial] = function.scale_down_val(val)
            elif function.is_cst():
                rest[monomial] = function
            else:
                raise floor_of_product()
        return quotients, Value(rest, self.space).function


def floor_of_product() -> NotAffineError:
    """Return the error about a symbolic product that a divisor may not divide."""
    return NotAffineError(
        "a floor of a product of symbolic sizes",
        _PRESBURGER,
        "ask at given sizes, or assume divisors of them",
    )


def _product(a: Monomial, b: Monomial) -> SizeExpr:
    product = SizeExpr(((a, 1),)) * SizeExpr(((b, 1),)) if a and b else SizeExpr(((a or b, 1),))
    assert isinstance(product, SizeExpr)
    return product


def differ(one: isl.Aff, other: isl.Aff, domain: isl.Set) -> isl.Set:
    """Return the points of a domain at which two functions differ."""
    # Two halves: ISL's own non_zero_set takes ten times as long if there are many floors.
    if one.sub(other).plain_is_zero():
        return isl.Set.empty(domain.get_space())
    return one.gt_set(other).intersect(domain).union(one.lt_set(other).intersect(domain))


def relation(functions: Sequence[isl.Aff], space: Space) -> isl.Map:
    """Return the relation of the points of a space to the values of some functions."""
    first, *others = map(isl.Map.from_aff, functions)
    for one in others:
        first = first.flat_range_product(one)
    return first.intersect_domain(space.domain)


def first_point(points: isl.Set) -> tuple[int, ...]:
    """Return the lexicographically first point of a set; any point if it is unbounded."""
    return coordinates_of((points.lexmin() if points.is_bounded() else points).sample_point())


def _no_xor(what: object) -> NotAffineError:
    """Return the error about an exclusive or."""
    return NotAffineError(
        f"ISL does not read {what}",
        "it is not quasi-affine: ISL would need a variable for each bit",
        "ask about layouts by their steps, or at sizes up to which elements are enumerated",
    )


def coordinates_of(point: isl.Point) -> tuple[int, ...]:
    """Return the coordinates of a point as ints."""
    rank = point.get_space().dim(isl.dim_type.set)
    values = (point.get_coordinate_val(isl.dim_type.set, k) for k in range(rank))
    return tuple(value.to_python() for value in values)


def union(sets: Iterable[isl.Set], space: isl.Space) -> isl.Set:
    """Return the union of some sets of one space."""
    joined = isl.Set.empty(space)
    for one in sets:
        joined = joined.union(one)
    return joined


def axis_values(recipe: Recipe, space: Space) -> list[Value]:
    """Return the coordinate over each physical axis as a function of the logical ones."""
    # The recipe's own reading will do: the formulas to verify come from the notation, not from it.
    at = [Value.of(x, space) for x in space.coordinates]
    return list(physical_coordinates(recipe, at, Value.constant(0, space)))


def row_major(coordinate: Sequence[Value], sizes: Sequence[Int], space: Space) -> Value:
    """Return the row-major position of a coordinate in a box."""
    return linear_index(coordinate, sizes, Value.constant(0, space))


def offset_value(recipe: Recipe, space: Space) -> Value:
    """Return the offset in the buffer: row-major order of the axes, from the recipe's offset on."""
    position = row_major(axis_values(recipe, space), recipe.physical_shape, space)
    return position if recipe.offset == 0 else position + recipe.offset


def value_of_form(form: AffineExpr, space: Space) -> Value:
    """Return an affine expression over the space's variables and sizes as a value."""
    for atom in form.atoms():
        if isinstance(atom, Call):
            raise _no_xor(atom)
    values = {name: Value.of(x, space) for name, x in space.variables.items()}
    return value_of(form, values, partial(Value.constant, space=space))  # type: ignore[no-any-return]


def regions(form: AffineExpr, space: Space) -> Iterator[tuple[isl.Set, isl.Aff]]:
    """Yield parts of the domain, and the function that an expression is on each.

    On each part every comparison, min, max and choice is decided.
    """
    calls = (a for a in form.atoms() if isinstance(a, Call) and a.kind != "xor")
    call = min(calls, key=lambda a: a.depth, default=None)
    if call is None:
        yield space.domain, value_of_form(form, space).function
        return
    for conditions, value in _cases(call):
        here = space.domain
        for condition in conditions:
            here = here.intersect(at_least(value_of_form(condition, space).function, 0))
        if not here.is_empty():
            yield from regions(_replaced(form, call, value), replace(space, domain=here))


def _cases(call: Call) -> Iterator[tuple[list[AffineExpr], AffineExpr]]:
    """Yield the values of an operation, each with forms that are at least 0 where it has it."""
    one, zero = AffineExpr((), 1), AffineExpr((), 0)
    first = call.parts[0]
    if call.kind in ("min", "max"):
        up = 1 if call.kind == "max" else -1
        for part in call.parts:
            yield [(part - other) * up for other in call.parts if other is not part], part
    elif call.kind == ">=":
        yield [first], one
        yield [-first - 1], zero
    else:
        other, same = call.parts[1:] if call.kind == "select" else (zero, one)
        if call.kind == "!=":
            other, same = same, other
        yield [first, -first], same
        yield from (([x - 1], other) for x in (first, -first))


def _replaced(form: AffineExpr, call: Call, value: AffineExpr) -> AffineExpr:
    def change(atom: Digit | Call) -> AffineExpr:
        if atom == call:
            return value
        return AffineExpr(((with_operands(atom, lambda x: _replaced(x, call, value)), 1),), 0)

    return replace_atoms(form, change)


@frozen(slots=False)
class MixedRadix:
    """A number by its mixed-radix digits, the most major first."""

    digits: tuple[Value, ...]  #: values from 0 to below their sizes.
    sizes: tuple[Int, ...]  #: the radices.
    space: Space  #: the space of the digits.

    @property
    def value(self) -> Value:
        """The number as a sum of its digits times strides."""
        return row_major(self.digits, self.sizes, self.space)

    def __add__(self, other: Value | MixedRadix | Int) -> Value:
        return self.value + other

    def __mul__(self, factor: Int) -> Value:
        return self.value * factor

    def __xor__(self, other: object) -> Value:
        raise _no_xor("an exclusive or")

    def __floordiv__(self, divisor: Int) -> MixedRadix | Value:
        """Return the outer digits if inner ones make up the divisor, else a quotient."""
        place = self._places.get(divisor)
        if place is not None:
            return MixedRadix(self.digits[:place], self.sizes[:place], self.space)
        cut = self._cut(divisor)
        return cut[0] if cut is not None else self.value // divisor

    def __mod__(self, modulus: Int) -> MixedRadix | Value:
        """Return the inner digits if they make up the modulus, else a remainder."""
        cut = self._cut(modulus)
        return cut[1] if cut is not None else self.value % modulus

    @cached_property
    def _places(self) -> dict[Int, int]:
        """The number of outer digits for each product of the sizes of inner ones."""
        strides = accumulate(reversed(self.sizes), mul, initial=1)
        return {stride: len(self.sizes) - k for k, stride in enumerate(strides)}

    def _cut(self, size: Int) -> tuple[MixedRadix, MixedRadix] | None:
        """Split into outer and inner digits, the inner ones of a size; a digit may be cut."""
        outer = list(zip(self.digits, self.sizes, strict=True))
        inner: list[tuple[Value, Int]] = []
        while size != 1:
            if not outer:
                return None
            x, n = outer.pop()
            if size % n == 0:
                inner.insert(0, (x, n))
                size = size // n
            elif isinstance(size, int) and n % size == 0:
                outer.append((x // size, n // size))
                inner.insert(0, (x % size, size))
                size = 1
            else:
                return None
        return self._of(outer), self._of(inner)

    def _of(self, pairs: list[tuple[Value, Int]]) -> MixedRadix:
        return MixedRadix(tuple(x for x, _ in pairs), tuple(n for _, n in pairs), self.space)
