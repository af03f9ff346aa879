"""Changes of values inside a program: their layouts, forms and types, and when they are computed.

Only values are changed whose elements the compiled program holds in HBM (``Program.held``): those
inside a fusion take no bytes. The most bytes come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any, Final, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import nearest_type
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError
from morello_layouts.machines.tpu_layouts import default_layout
from morello_layouts.programs.tpu_compiler.arguments import orders
from morello_layouts.programs.tpu_compiler.operations import (
    bound,
    compute,
    evaluate,
    given,
    nested,
    read,
    rewritten,
    sites,
    source_of,
    variables,
    where_of,
)
from morello_layouts.programs.tpu_compiler.program import LARGEST, LEAST, Change, Program

_GAP: Final = 8  # operations between two uses of a value that is computed twice
_CHAIN: Final = 24  # operations that are computed again for one value

# Operations that compute each element of a result from those at the same place.
_ELEMENTWISE: Final = regex(
    "abs|add|add_any|and|atan2|cbrt|ceil|clamp|convert_element_type|copy|cosh?|div|eq|erf|exp|exp2|"
    "expm1|floor|g[et]|integer_pow|is_finite|l[et]|log|log1p|logistic|max|min|mul|ne|neg|not|or|pow|"
    "rem|round|rsqrt|select_n|sign|sinh?|sqrt|square|sub|tanh?|xor"
)
_REDUCTIONS: Final = frozenset({"reduce_sum", "reduce_max", "reduce_min"})


def inlined(program: Program) -> Program:
    """Return a program whose calls of functions under ``jax.jit`` are their operations."""

    def rule(equation: Any, operands: list[Any]) -> Sequence[Any] | None:
        if equation.primitive.name not in ("jit", "pjit"):
            return None
        called = equation.params["jaxpr"]
        return evaluate(called.jaxpr, called.consts, operands, rule)

    return rewritten(program, rule)


def _shapes(program: Program) -> list[tuple[int, ...]]:
    """Return the shapes of the largest values, arguments and results among them."""
    found = {a.shape: program.bytes_of(a) for a in (*program.avals, *program.result_avals)}
    for site in sites(program):
        found.update({a.shape: program.bytes_of(a) for a in site.results if hasattr(a, "shape")})
    large = [s for s, n in found.items() if len(s) > 1 and n >= LEAST]
    return sorted(large, key=lambda s: -found[s])[:LARGEST]


@frozen
class Form:
    """Another shape that an array is kept in: flat, or rows."""

    shape: tuple[int, ...]  #: as the function has it.
    kept: tuple[int, ...]  #: as it is kept.

    @property
    def words(self) -> str:
        """What to write."""
        return f"jnp.reshape(x, {self.kept})"

    def encode(self, x: Any) -> Any:
        """Return an array in this form."""
        return x.reshape(self.kept)

    def decode(self, x: Any) -> Any:
        """Return an array in its shape."""
        return x.reshape(self.shape)


Pick: TypeAlias = Callable[[int], Form | None]
"""From the position of a value of an inlined function to its form, if it has that shape still."""


def folded_forms(shape: tuple[int, ...]) -> list[Form]:
    """Return the folded forms of a shape whose last dimension does not fill its tiles.

    >>> [form.kept for form in folded_forms((20, 7, 33))], folded_forms((8, 128))
    ([(4620,), (20, 231)], [])
    """
    if len(shape) < 2 or not shape[-1] % 128 or not prod(shape):
        return []
    rows = [(shape[0], prod(shape[1:]))] if len(shape) > 2 else []
    return [Form(shape, kept) for kept in ((prod(shape),), *rows)]


def folded_shapes(program: Program) -> Iterator[Change]:
    """All arrays of one shape folded: arguments, results, and what is computed in between."""
    for shape in () if program.mesh else _shapes(program):
        for form in folded_forms(shape):
            where = f"all arrays of shape {shape}"
            words = f"keep them as {form.words}"
            apply = partial(kept_in_forms, pick=partial(_everywhere, form))
            yield Change("folding throughout", words, where, apply)


def _everywhere(form: Form, _position: int) -> Form:
    return form


def kept_in_forms(program: Program, pick: Pick) -> Program:
    """Return an inlined program that keeps some values in other forms, arguments and results too.

    What is computed for each element alone is computed in the form of its result; other operations
    read and make arrays in their own shapes.
    """
    whole = inlined(program)
    jaxpr = whole.jaxpr.jaxpr
    of = {
        v: form
        for k, v in enumerate(values_of(jaxpr))
        if (form := pick(k)) and getattr(v.aval, "shape", ()) == form.shape
    }
    avals = [_kept_aval(v.aval, of.get(v)) for v in jaxpr.invars]

    def function(*flat: Any) -> list[Any]:
        values = given(jaxpr, whole.jaxpr.consts, flat)

        def in_form(atom: Any, form: Form | None) -> Any:
            (value,) = read(values, [atom])
            own = None if hasattr(atom, "val") else of.get(atom)
            if hasattr(atom, "val") or own == form:
                return value
            plain = own.decode(value) if own else value
            return form.encode(plain) if form and plain.shape == form.shape else plain

        for equation in jaxpr.eqns:
            form = _form_of(equation, of)
            operands = [in_form(atom, form) for atom in equation.invars]
            if form is None:
                plain = zip(equation.outvars, bound(equation, operands), strict=True)
                values.update((v, of[v].encode(x) if v in of else x) for v, x in plain)
            else:
                values[equation.outvars[0]] = _in_form(equation, operands, form)
        return read(values, jaxpr.outvars)

    encoders = [(k, of[v].encode) for k, v in enumerate(jaxpr.invars) if v in of]
    results = [(k, v) for k, v in enumerate(jaxpr.outvars) if not hasattr(v, "val")]
    decoders = [(k, of[v].decode) for k, v in results if v in of]
    return whole.in_forms(function, avals, encoders, decoders)


def values_of(jaxpr: Any) -> list[Any]:
    """Return the values of a jaxpr: its arguments, and the results of its operations."""
    return [*jaxpr.invars, *(v for equation in jaxpr.eqns for v in equation.outvars)]


def _kept_aval(aval: Any, form: Form | None) -> Any:
    return aval if form is None else aval.update(shape=form.kept)


def _form_of(equation: Any, of: Mapping[Any, Form]) -> Form | None:
    """Return the form that an operation can be computed in; None for its own shapes."""
    name, result = equation.primitive.name, next(iter(equation.outvars), None)
    shapes = [v.aval.shape for v in equation.invars if hasattr(v.aval, "shape")]
    if name in _REDUCTIONS and len(equation.params["axes"]) == len(shapes[0]):
        return None if hasattr(equation.invars[0], "val") else of.get(equation.invars[0])
    form = of.get(result)
    is_filled = name == "broadcast_in_dim" and shapes[0] == ()
    own = getattr(getattr(result, "aval", None), "shape", None)
    is_alone = _ELEMENTWISE.fullmatch(name) and all(s in ((), own) for s in shapes)
    return form if is_filled or is_alone else None


def _in_form(equation: Any, operands: Sequence[Any], form: Form) -> Any:
    parameters = dict(equation.params)
    if equation.primitive.name == "broadcast_in_dim":
        parameters["shape"] = form.kept
    elif equation.primitive.name in _REDUCTIONS:
        parameters["axes"] = tuple(range(len(form.kept)))
    return equation.primitive.bind(*operands, **parameters)


def chosen_forms(program: Program) -> Iterator[Change]:
    """Forms of all large values, chosen together: the fewest bytes of arrays and of copies."""
    whole = inlined(program)
    values = values_of(whole.jaxpr.jaxpr)
    seen: list[dict[int, Form]] = []
    for weight in () if program.mesh else _COPY_WEIGHTS:
        chosen = _solved(whole, weight)
        if not chosen or chosen in seen:
            continue
        seen.append(chosen)
        kept = {id(values[k]) for k in chosen}
        jaxpr = whole.jaxpr.jaxpr
        doors = [n for n, v in zip(program.arguments, jaxpr.invars, strict=True) if id(v) in kept]
        doors += [n for n, v in zip(program.results, jaxpr.outvars, strict=True) if id(v) in kept]
        words = "; ".join(dict.fromkeys(f.words for f in chosen.values()))
        where = f"{', '.join(doors[:6])} and what is computed of them alone"
        apply = partial(kept_in_forms, pick=chosen.get)
        yield Change("forms chosen together", f"keep them as {words}", where, apply)


# What a byte that is copied counts beside one that is held: copies are made and held as well.
_COPY_WEIGHTS: Final = (2.0, 0.5, 0.1)


def _solved(program: Program, weight: float) -> dict[int, Form]:
    """Return the forms of values that take the fewest bytes, by integer programming.

    An argument or result costs the bytes that its form takes by default, another value nothing: it
    mostly stays in a fusion. An operation that is not computed element by element wants its
    operands as they are. Where two values of an operation have different forms, one is copied.
    """
    import numpy as np
    from scipy.optimize import LinearConstraint, milp
    from scipy.sparse import coo_array

    jaxpr = program.jaxpr.jaxpr
    values = values_of(jaxpr)
    doors = {*variables((*jaxpr.invars, *jaxpr.outvars))}
    forms: dict[Any, tuple[Form | None, ...]] = {
        v: (None, *folded_forms(v.aval.shape))
        for v in values
        if (program.bytes_of(v.aval) or v in doors) and _reserved(v.aval) >= LEAST
    }
    if not forms:
        return {}
    pairs = [(v, form) for v in forms for form in forms[v]]
    column = {pair: at for at, pair in enumerate(pairs)}
    cost = [float(_reserved(_kept_aval(v.aval, form)) * (v in doors)) for v, form in pairs]
    rows = [{column[v, form]: 1 for form in forms[v]} for v in forms]
    integral, equal = len(cost), len(rows)
    for equation in jaxpr.eqns:
        result = next(iter(equation.outvars), None)
        any_form = dict.fromkeys(variables((*equation.invars, *equation.outvars)), Form((), ()))
        is_alone = _form_of(equation, any_form) is not None
        for atom in variables(equation.invars):
            copied = weight * _reserved(atom.aval)
            for form in forms.get(atom, ()):
                if is_alone and (result, form) in column:  # differs from the result's form
                    rows.append({column[atom, form]: 1, column[result, form]: -1, len(cost): -1})
                    cost.append(copied)
                elif form is not None and not is_alone:
                    cost[column[atom, form]] += copied
        for v in () if is_alone else equation.outvars:
            for form in forms.get(v, ())[1:]:
                cost[column[v, form]] += weight * _reserved(v.aval)
    places = [(r, c, x) for r, row in enumerate(rows) for c, x in row.items()]
    r, c, x = (np.array(part) for part in zip(*places, strict=True))
    matrix = coo_array((x, (r, c)), shape=(len(rows), len(cost)))
    low = [1] * equal + [-np.inf] * (len(rows) - equal)
    high = [1] * equal + [0] * (len(rows) - equal)
    found = milp(
        np.array(cost) / (1 << 10),
        integrality=[1] * integral + [0] * (len(cost) - integral),
        bounds=(0, 1),
        constraints=LinearConstraint(matrix, low, high),
        options={"time_limit": 10},  # seconds
    )
    if found.x is None:
        return {}
    number = {v: k for k, v in enumerate(values)}
    return {number[v]: form for (v, form), at in column.items() if form and found.x[at] > 0.5}


def _reserved(aval: Any) -> int:
    """Return the bytes that the compiler reserves for a parameter of a type."""
    name = nearest_type(str(aval.dtype)) if hasattr(aval, "shape") else None
    try:
        return 0 if name is None else default_layout(name, aval.shape, "v5e").byte_size
    except LayoutError:
        return 0


def constrained_values(program: Program) -> Iterator[Change]:
    """Values of one shape inside a program in an order of dimensions."""
    for shape in _shapes(program):
        if not any(a.shape == shape for site in sites(program) for a in site.results):
            continue
        for order in orders(len(shape)):
            words = f"with_layout_constraint(y, Layout(major_to_minor={order}))"
            where = f"values of shape {shape} inside"
            apply = partial(_laid_out, shape=shape, order=order)
            yield Change("layout inside", f"{words} of jax.experimental.layout", where, apply)


def _laid_out(program: Program, shape: tuple[int, ...], order: tuple[int, ...]) -> Program:
    from jax.experimental.layout import Layout, with_layout_constraint

    def rule(equation: Any, operands: list[Any]) -> Sequence[Any] | None:
        found = bound(equation, operands, rule)
        layout = Layout(major_to_minor=order)
        return [with_layout_constraint(x, layout) if x.shape == shape else x for x in found]

    return rewritten(program, rule)


def stored_values(program: Program) -> Iterator[Change]:
    """Values that are written as they are, or in bf16, between what makes them and what reads them.

    Otherwise the compiler may compute one in each fusion that reads it, in the layout of each.
    """
    large = [
        site
        for site in sites(program)
        if site.equation.primitive.name != "broadcast_in_dim"
        and max(map(program.bytes_of, site.results), default=0) >= LEAST
        and not list(nested(site.equation.params.values()))
    ]
    large.sort(key=lambda site: -site.times * max(map(program.bytes_of, site.results)))
    barrier = "jax.lax.optimization_barrier"
    for site in large[:LARGEST]:
        apply, where = partial(site.replaced, by=partial(_written, "")), where_of(site)
        yield Change("value written", f"{barrier}(y)", where, apply)
        if all(str(a.dtype) == "float32" for a in site.results):
            words = f"{barrier}(y.astype(jnp.bfloat16)).astype(jnp.float32)"
            apply = partial(site.replaced, by=partial(_written, "bfloat16"))
            yield Change("value in bf16", words, where, apply, exact=False)


def _written(dtype: str, equation: Any, *operands: Any) -> Sequence[Any]:
    from jax import lax

    found = bound(equation, list(operands))
    return [lax.optimization_barrier(x.astype(dtype or x.dtype)).astype(x.dtype) for x in found]


def recomputed_values(program: Program) -> Iterator[Change]:
    """Values that are computed a second time before a use that comes much later."""
    whole = inlined(program)
    jaxpr = whole.jaxpr.jaxpr
    made = {v: k for k, e in enumerate(jaxpr.eqns) for v in e.outvars}
    uses: dict[Any, list[int]] = {}
    for k, equation in enumerate(jaxpr.eqns):
        for atom in variables(equation.invars):
            uses.setdefault(atom, []).append(k)
    found = []
    for value in (v for v in uses if v in made):
        steps = pairwise([made[value], *uses[value]])
        late = next((k for j, k in steps if k - j > _GAP), None)
        if late is not None and whole.bytes_of(value.aval) >= LEAST:
            found.append((value, late))
    found.sort(key=lambda pair: -whole.bytes_of(pair[0].aval))
    for value, late in found[:LARGEST]:
        equation = jaxpr.eqns[made[value]]
        where = f"{equation.primitive.name} to {value.aval.str_short()} at {source_of(equation)}"
        words = (
            "compute it again where it is used later, from jax.lax.optimization_barrier of its "
            f"operands: at {source_of(jaxpr.eqns[late])}; jax.checkpoint around the operation"
        )
        again = partial(_recomputed, made=made[value], late=late)
        yield Change("recomputed value", words, where, again)


def _recomputed(program: Program, made: int, late: int) -> Program:
    """Return the inlined program that computes a result again before a later equation."""
    whole = inlined(program)
    jaxpr = whole.jaxpr.jaxpr
    first = {v: k for k, e in enumerate(jaxpr.eqns) for v in e.outvars}
    chain = [jaxpr.eqns[k] for k in _chain(jaxpr, first, made, late)]
    inside = {v for equation in chain for v in equation.outvars}
    taken = variables(a for e in (*chain, jaxpr.eqns[late]) for a in e.invars)
    outside = [v for v in taken if v not in inside]

    def function(*flat: Any) -> list[Any]:
        from jax import lax

        values = given(jaxpr, whole.jaxpr.consts, flat)
        for k, equation in enumerate(jaxpr.eqns):
            if k == late:
                passed = lax.optimization_barrier(read(values, outside))
                again = dict(zip(outside, passed, strict=True))
                for each in chain:
                    compute(again, each)
                values.update({v: again[v] for v in jaxpr.eqns[made].outvars})
            compute(values, equation)
        return read(values, jaxpr.outvars)

    return whole.with_function(function)


def _chain(jaxpr: Any, first: dict[Any, int], made: int, late: int) -> list[int]:
    """Return equations to compute again: of values that nothing else needs so late."""
    last: dict[Any, int] = {}
    for k, equation in enumerate(jaxpr.eqns):
        last.update(dict.fromkeys(variables(equation.invars), k))
    last.update(dict.fromkeys(variables(jaxpr.outvars), len(jaxpr.eqns)))
    chain, pending = {made}, [made]
    while pending and len(chain) < _CHAIN:
        for atom in variables(jaxpr.eqns[pending.pop()].invars):
            if atom in first and last[atom] < late:
                if first[atom] not in chain:
                    pending.append(first[atom])
                chain.add(first[atom])
    return sorted(chain)


def boundary_conversions(program: Program) -> Iterator[Change]:
    """Arguments that are only read converted, transposed or reshaped: stored so by the caller."""
    whole = inlined(program)
    jaxpr = whole.jaxpr.jaxpr
    for k, variable in enumerate(jaxpr.invars):
        uses = [e for e in jaxpr.eqns if any(a is variable for a in e.invars)]
        primitives = {e.primitive.name for e in uses}
        types = {tuple(str(v.aval) for v in e.outvars) for e in uses}
        is_one = len(primitives) == len(types) == 1 and primitives <= set(_CONVERSIONS)
        at_end = any(a is variable for a in jaxpr.outvars)
        if not is_one or at_end or whole.bytes_of(variable.aval) < LEAST or k in program.donated:
            continue
        (name,) = primitives
        words = f"store it {_CONVERSIONS[name]}, as {uses[0].outvars[0].aval.str_short()}"
        where = f"{program.arguments[k]}, which is only read so"
        # Inside one program the compiler may leave the rounding out, outside it cannot.
        is_exact = uses[0].outvars[0].aval.dtype.itemsize >= variable.aval.dtype.itemsize
        apply = partial(_stored, position=k)
        yield Change("conversion at the boundary", words, where, apply, is_exact)


_CONVERSIONS: Final = {
    "convert_element_type": "converted",
    "transpose": "transposed",
    "reshape": "reshaped",
}


def _stored(program: Program, position: int) -> Program:
    whole = inlined(program)
    jaxpr = whole.jaxpr.jaxpr
    variable = jaxpr.invars[position]
    uses = [e for e in jaxpr.eqns if any(a is variable for a in e.invars)]
    avals = list(whole.avals)
    avals[position] = uses[0].outvars[0].aval

    def function(*flat: Any) -> list[Any]:
        def rule(equation: Any, _operands: list[Any]) -> Sequence[Any] | None:
            return [flat[position]] if any(equation is use for use in uses) else None

        return evaluate(jaxpr, whole.jaxpr.consts, flat, rule)

    return whole.in_forms(function, avals, [(position, lambda x: bound(uses[0], [x])[0])])


VALUE_KINDS: Final = (
    chosen_forms,
    folded_shapes,
    constrained_values,
    recomputed_values,
    boundary_conversions,
    stored_values,
)
"""Each gives candidates that change values inside a program."""
