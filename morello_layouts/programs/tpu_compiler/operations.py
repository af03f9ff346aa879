"""Changes of operations: each computes the same, and the compiler may lay it out better.

A rule rewrites a jaxpr: it replaces some of its equations, in functions inside it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.programs.tpu_compiler.program import Change, Program, struct_of

Rule: TypeAlias = Callable[[Any, list[Any]], Sequence[Any] | None]
"""From an equation of a jaxpr and its operands to its results; None leaves it as it is."""

# Operations whose functions are rewritten too; those of a Pallas kernel, say, are not.
_CALLERS: Final = frozenset(
    {"jit", "pjit", "closed_call", "checkpoint", "remat2", "scan", "while", "cond"}
)
_INLINED: Final = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"})


@frozen
class Site:
    """An operation of a function, at one place or at several that look the same."""

    equation: Any  #: of the jaxpr; the first one.
    signature: str  #: what the places have in common: primitive, types, parameters.
    times: int  #: how often it runs: places, times the length of the scans around each.
    source: str  #: file and line of the first one; empty if the trace does not say.

    @property
    def operands(self) -> tuple[Any, ...]:
        """The types of the operands."""
        return tuple(v.aval for v in self.equation.invars)

    @property
    def results(self) -> tuple[Any, ...]:
        """The types of the results."""
        return tuple(v.aval for v in self.equation.outvars)

    def replaced(self, program: Program, by: Callable[..., Sequence[Any]]) -> Program:
        """Return a program in which a function of equation and operands takes its place."""

        def rule(equation: Any, operands: list[Any]) -> Sequence[Any] | None:
            if equation.primitive.name != self.equation.primitive.name:
                return None
            return by(equation, *operands) if signature_of(equation) == self.signature else None

        return rewritten(program, rule)


def sites(program: Program, *primitives: str) -> list[Site]:
    """Return the operations of a program, or those with some names, each signature once."""
    found: dict[str, Site] = {}
    for equation, times, source in _equations(program.jaxpr.jaxpr, 1, ""):
        if equation.primitive.name in primitives or not primitives:
            signature = signature_of(equation)
            first = found.setdefault(signature, Site(equation, signature, 0, source))
            found[signature] = replace(first, times=first.times + times)
    return list(found.values())


def signature_of(equation: Any) -> str:
    """Return the name, the types and the parameters of an equation, as text."""
    types = ", ".join(str(v.aval) for v in equation.invars)
    parameters = ", ".join(f"{k}={v}" for k, v in sorted(equation.params.items()))
    return f"{equation.primitive.name}({types}) {parameters}"


def _equations(jaxpr: Any, times: int, around: str) -> Iterator[tuple[Any, int, str]]:
    for equation in jaxpr.eqns:
        source = source_of(equation) or around
        yield equation, times, source
        name = equation.primitive.name
        if name in _CALLERS or name in _INLINED:
            repeats = times * (equation.params["length"] if name == "scan" else 1)
            for inner in nested(equation.params.values()):
                yield from _equations(getattr(inner, "jaxpr", inner), repeats, source)


def source_of(equation: Any) -> str:
    """Return file and line of the user's code that made an equation."""
    from jax._src import source_info_util

    frame = source_info_util.user_frame(equation.source_info.traceback)
    return "" if frame is None else f"{PurePath(frame.file_name).name}:{frame.start_line}"


def nested(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from nested(value)
        elif hasattr(value, "eqns"):
            yield value


def rewritten(program: Program, rule: Rule) -> Program:
    """Return a program in which a rule replaces operations, those in loops and calls too."""

    def function(*flat: Any) -> list[Any]:
        return evaluate(program.jaxpr.jaxpr, program.jaxpr.consts, flat, rule)

    return program.with_function(function)


def evaluate(jaxpr: Any, constants: Sequence[Any], flat: Sequence[Any], rule: Rule) -> list[Any]:
    """Return the results of a jaxpr, in which a rule replaces operations."""
    values = given(jaxpr, constants, flat)
    for equation in jaxpr.eqns:
        compute(values, equation, rule)
    return read(values, jaxpr.outvars)


def given(jaxpr: Any, constants: Sequence[Any], flat: Sequence[Any]) -> dict[Any, Any]:
    """Return the values of a jaxpr's variables before its first equation."""
    pairs = zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *flat), strict=True)
    return dict(pairs)


def read(values: Mapping[Any, Any], atoms: Sequence[Any]) -> list[Any]:
    """Return the values of variables and of numbers in equations."""
    return [atom.val if hasattr(atom, "val") else values[atom] for atom in atoms]


def variables(atoms: Iterable[Any]) -> list[Any]:
    """Return the variables among what equations take, each once."""
    return list(dict.fromkeys(atom for atom in atoms if not hasattr(atom, "val")))


def as_it_is(_equation: Any, _operands: list[Any]) -> None:
    """Replace nothing, as a rule."""


def compute(values: dict[Any, Any], equation: Any, rule: Rule = as_it_is) -> None:
    """Add the results of an equation, as a rule gives them, to the values of variables."""
    from jax._src import source_info_util

    operands = read(values, equation.invars)
    with source_info_util.user_context(equation.source_info.traceback):
        results = rule(equation, operands)
        if results is None:
            results = bound(equation, operands, rule)
    values.update(zip(equation.outvars, results, strict=True))


def bound(equation: Any, operands: list[Any], rule: Rule = as_it_is) -> Sequence[Any]:
    """Return the results of an equation, whose own functions are rewritten."""
    name, parameters = equation.primitive.name, equation.params
    if name in _INLINED:
        called = next(nested(parameters.values()))
        return evaluate(called.jaxpr, called.consts, operands, rule)
    if name in _CALLERS:
        parameters = {key: _inside(value, rule) for key, value in parameters.items()}
    parameters = equation.primitive.get_bind_params(parameters)
    found = equation.primitive.bind(*operands, **parameters)
    return found if equation.primitive.multiple_results else [found]


def _inside(value: Any, rule: Rule) -> Any:
    """Return a parameter of an equation with its functions rewritten."""
    import jax

    if isinstance(value, tuple) and value and all(hasattr(each, "eqns") for each in value):
        return tuple(_inside(each, rule) for each in value)
    if not hasattr(value, "eqns"):
        return value
    closed = hasattr(value, "consts")
    inner, constants = (value.jaxpr, value.consts) if closed else (value, ())
    structs = [struct_of(v.aval) for v in inner.invars]
    made = jax.make_jaxpr(lambda *flat: evaluate(inner, constants, flat, rule))(*structs)
    return made if closed else made.jaxpr


_SUMS: Final = 16  # terms of a product of matrices that is written as a sum
_NETWORK: Final = 32  # elements that a network of comparisons sorts
_SITES: Final = 6  # operations of one kind that are changed, the costliest first


Rewrite: TypeAlias = Callable[..., Sequence[Any]]
"""From an equation and its operands to its results, computed in another way."""


def _kind(
    name: str, primitives: Sequence[str], change: Callable[[Site], tuple[str, Rewrite] | None]
) -> Callable[[Program], Iterator[Change]]:
    """Return a kind of candidates, from what to write at a site and the function that does it."""

    def candidates(program: Program) -> Iterator[Change]:
        def cost(pair: tuple[Site, tuple[str, Rewrite]]) -> int:
            site, _ = pair
            return -site.times * sum(map(program.bytes_of, (*site.operands, *site.results)))

        found = [(site, what) for site in sites(program, *primitives) if (what := change(site))]
        for site, (words, by) in sorted(found, key=cost)[:_SITES]:
            apply = partial(site.replaced, by=by)
            yield Change(name, words, where_of(site), apply)

    return candidates


def _types(site: Site) -> str:
    return " and ".join(a.str_short() for a in site.operands[:2])


def _swapped_product(site: Site) -> tuple[str, Rewrite]:
    """Write a product of matrices with its operands in the other order."""
    words = (
        "write the product the other way round, b.T @ a.T, and transpose the result: "
        f"jnp.einsum with the operands exchanged, for {_types(site)}"
    )
    return words, swapped_dot


def swapped_dot(equation: Any, a: Any, b: Any) -> Sequence[Any]:
    """Return a product computed with its operands in the other order."""
    from jax import lax

    parameters = dict(equation.params)
    (ca, cb), (ba, bb) = parameters.pop("dimension_numbers")
    precision = parameters.get("precision")
    if isinstance(precision, tuple):
        parameters["precision"] = tuple(reversed(precision))
    parameters.pop("out_sharding", None)
    found = lax.dot_general(b, a, ((cb, ca), (bb, ba)), **parameters)
    batch, free_a = len(ba), a.ndim - len(ba) - len(ca)
    free_b = found.ndim - batch - free_a
    order = [*range(batch), *range(batch + free_b, found.ndim), *range(batch, batch + free_b)]
    return [lax.transpose(found, order)]


def _summed_product(site: Site) -> tuple[str, Rewrite] | None:
    """Write a product of small matrices as a sum of products of numbers."""
    terms = _terms(site.equation, *site.operands)
    words = (
        "write the product of small matrices as sums, sum(a[..., :, k, None] * b[..., k, None, "
        f":] for k in range({terms})), for {_types(site)}"
    )
    return (words, summed_dot) if 1 <= terms <= _SUMS else None


def _terms(equation: Any, a: Any, _b: Any) -> int:
    (ca, _), _ = equation.params["dimension_numbers"]
    return prod(a.shape[k] for k in ca)


def summed_dot(equation: Any, a: Any, b: Any) -> Sequence[Any]:
    """Return a product as a sum over the contracted elements, one after the other."""
    from jax import lax

    (ca, cb), (ba, bb) = equation.params["dimension_numbers"]
    dtype = equation.outvars[0].aval.dtype
    free_a = [k for k in range(a.ndim) if k not in {*ca, *ba}]
    free_b = [k for k in range(b.ndim) if k not in {*cb, *bb}]
    terms = _terms(equation, a, b)
    a = lax.transpose(a, [*ca, *ba, *free_a]).astype(dtype)
    b = lax.transpose(b, [*cb, *bb, *free_b]).astype(dtype)
    a, b = a.reshape(terms, *a.shape[len(ca) :]), b.reshape(terms, *b.shape[len(cb) :])
    batch = a.shape[1 : 1 + len(ba)]
    rows, columns = a.shape[1 + len(ba) :], b.shape[1 + len(bb) :]
    left = a.reshape(terms, *batch, *rows, *(1,) * len(columns))
    right = b.reshape(terms, *batch, *(1,) * len(rows), *columns)
    total = left[0] * right[0]
    for k in range(1, terms):
        total = total + left[k] * right[k]
    return [total]


def _sorting_network(site: Site) -> tuple[str, Rewrite] | None:
    """Sort few elements by comparisons of whole arrays."""
    size = int(site.operands[0].shape[site.equation.params["dimension"]])
    words = (
        f"sort the {size} elements by a network: compare and exchange neighbours, "
        "whole arrays at a time, with jnp.where"
    )
    return (words, network_sort) if 1 < size <= _NETWORK else None


def network_sort(equation: Any, *operands: Any) -> Sequence[Any]:
    """Return arrays sorted by exchanges of neighbours: stable, as only greater ones move up."""
    import jax.numpy as jnp
    from jax import lax

    axis, keys = equation.params["dimension"], equation.params["num_keys"]
    n = operands[0].shape[axis]
    rows = [[lax.index_in_dim(x, k, axis, keepdims=False) for x in operands] for k in range(n)]
    for phase in range(n):
        for k in range(phase % 2, n - 1, 2):
            low, high = rows[k], rows[k + 1]
            moves = _is_less(high[:keys], low[:keys])
            rows[k] = [jnp.where(moves, y, x) for x, y in zip(low, high, strict=True)]
            rows[k + 1] = [jnp.where(moves, x, y) for x, y in zip(low, high, strict=True)]
    return [jnp.stack([row[j] for row in rows], axis) for j in range(len(operands))]


def _is_less(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return where the keys of a stand before those of b, in the order that JAX sorts by."""
    import jax.numpy as jnp

    less = False
    for x, y in zip(reversed(a), reversed(b), strict=True):
        before, after = x < y, y < x
        if jnp.issubdtype(x.dtype, jnp.floating):  # NaN stands last
            before, after = (
                before | (~jnp.isnan(x) & jnp.isnan(y)),
                after | (jnp.isnan(x) & ~jnp.isnan(y)),
            )
        less = before | (~after & less)
    return less


def _moved_sort(site: Site) -> tuple[str, Rewrite] | None:
    """Sort along a short last dimension with that dimension first, so that a long one is last."""
    shape, parameters = site.operands[0].shape, site.equation.params
    axis = parameters.get("dimension", parameters.get("axis"))
    if axis is None or axis != len(shape) - 1 or len(shape) < 2 or shape[axis] >= 128:
        return None
    name = site.equation.primitive.name
    words = f"move dimension {axis} of size {shape[axis]} to the front before the {name}, and back"
    return f"{words} after it", moved_first


def moved_first(equation: Any, *operands: Any) -> Sequence[Any]:
    """Return an operation along dimension 0 of arrays whose dimension was moved there."""
    import jax.numpy as jnp

    parameters = dict(equation.params)
    name = "dimension" if "dimension" in parameters else "axis"
    axis, parameters[name] = parameters[name], 0
    found = equation.primitive.bind(*(jnp.moveaxis(x, axis, 0) for x in operands), **parameters)
    results = found if equation.primitive.multiple_results else [found]
    return [jnp.moveaxis(x, 0, axis) for x in results]


def _blocked_scan(site: Site) -> tuple[str, Rewrite] | None:
    """Scan over blocks of steps, whose stacked arrays are flat: a step's own part is small."""
    length = site.equation.params["length"]
    block = _block(length)
    if block is None or not _worth_blocks(site.equation):
        return None
    words = (
        f"scan over {length // block:,} blocks of {block} steps, an inner scan over the steps "
        "of each, with what it reads and stacks flat, (blocks, elements of a block)"
    )
    return words, _blocked(block)


def _worth_blocks(equation: Any) -> bool:
    """Whether a scan reads or stacks arrays whose steps fill less than half of their tiles."""
    parts = [v.aval for v in _stacked(equation)]
    return any(len(a.shape) > 1 and 0 < a.shape[-1] < 64 for a in parts)


def _stacked(equation: Any) -> list[Any]:
    first = equation.params["num_consts"] + equation.params["num_carry"]
    return [*equation.invars[first:], *equation.outvars[equation.params["num_carry"] :]]


def _block(length: int) -> int | None:
    """Return the divisor of a number of steps that is nearest to 128.

    >>> _block(100000), _block(4096), _block(10007)
    (125, 128, None)
    """
    divisors = [k for k in range(16, min(length // 2, 1024) + 1) if length % k == 0]
    return min(divisors, key=lambda k: max(k / 128, 128 / k), default=None)


def _blocked(block: int) -> Any:
    """Return a function that computes a scan in blocks of some steps."""

    def scan(equation: Any, *operands: Any) -> Sequence[Any]:
        from jax import lax
        from jax.extend.core import jaxpr_as_fun

        parameters = equation.params
        consts, carries = parameters["num_consts"], parameters["num_carry"]
        body = jaxpr_as_fun(parameters["jaxpr"])
        first, carry, stacks = (
            operands[:consts],
            operands[consts : consts + carries],
            operands[consts + carries :],
        )
        blocks, reverse = parameters["length"] // block, parameters["reverse"]

        def step(carry: Any, parts: Any) -> tuple[Any, Any]:
            found = body(*first, *carry, *parts)
            return found[:carries], found[carries:]

        def of_block(carry: Any, flat: Any) -> tuple[Any, Any]:
            outer = () if block == 1 else (block,)
            parts = [x.reshape(*outer, *s.shape[1:]) for x, s in zip(flat, stacks, strict=True)]
            if block == 1:
                carry, stacked = step(carry, parts)
            else:
                carry, stacked = lax.scan(step, carry, parts, length=block, reverse=reverse)
            return carry, [x.reshape(-1) for x in stacked]

        flat = [x.reshape(blocks, -1) for x in stacks]
        carry, stacked = lax.scan(of_block, list(carry), flat, length=blocks, reverse=reverse)
        shapes = [v.aval.shape for v in equation.outvars[carries:]]
        return [*carry, *(x.reshape(s) for x, s in zip(stacked, shapes, strict=True))]

    return scan


def _flat_scan(site: Site) -> tuple[str, Rewrite] | None:
    """Scan over stacks whose steps are flat: an update in place writes whole tiles."""
    parts = [v.aval for v in _stacked(site.equation)]
    words = (
        "let a step of the scan take its parts flat and return them as x.reshape(-1), and reshape "
        "what it stacked after the loop"
    )
    return (words, _blocked(1)) if any(len(a.shape) > 2 for a in parts) else None


def _unrolled_scan(site: Site) -> tuple[str, Rewrite] | None:
    """Scan several steps at a time, with fewer passes over what they carry."""
    length, unroll = site.equation.params["length"], site.equation.params["unroll"]
    words = f"unroll=4 in the scan of {length:,} steps"
    return (words, _unrolled) if length > 8 and unroll == 1 else None


def _unrolled(equation: Any, *operands: Any) -> Sequence[Any]:
    parameters = {**equation.params, "unroll": 4}
    return list(equation.primitive.bind(*operands, **parameters))


def where_of(site: Site) -> str:
    """Return the operation's name, its types, and the line of the program."""
    often = "" if site.times == 1 else f", {site.times:,} times"
    results = ", ".join(a.str_short() for a in site.results[:2])
    place = f" at {site.source}" if site.source else ""
    return f"{site.equation.primitive.name} to {results}{place}{often}"


OPERATION_KINDS: Final = (
    _kind("product as sums", ("dot_general",), _summed_product),
    _kind("sorting network", ("sort",), _sorting_network),
    _kind("scan in blocks", ("scan",), _blocked_scan),
    _kind("long dimension last", ("sort", "cumsum", "cummax"), _moved_sort),
    _kind("operand order", ("dot_general",), _swapped_product),
    _kind("flat stacks", ("scan",), _flat_scan),
    _kind("scan unrolled", ("scan",), _unrolled_scan),
)
"""Each gives candidates that change operations."""
