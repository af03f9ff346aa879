"""Replace operations of a traced function by others that compute the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from morello_layouts.tpu_compiler.program import Program

Rule: TypeAlias = Callable[[Any, list[Any]], Sequence[Any] | None]
"""From an equation of a jaxpr and its operands to its results; None leaves it as it is."""

# Operations whose functions are rewritten too; those of a Pallas kernel, say, are not.
_CALLERS: Final = frozenset(
    {"jit", "pjit", "closed_call", "checkpoint", "remat2", "scan", "while", "cond"}
)
_INLINED: Final = frozenset({"custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"})


@dataclass(frozen=True, slots=True)
class Site:
    """An operation of a function, at one place or at several that look the same.

    Attributes:
        equation: of the jaxpr; the first one.
        signature: what the places have in common: primitive, types, parameters.
        times: how often it runs: places, times the length of the scans around each.
        source: file and line of the first one; empty if the trace does not say.
    """

    equation: Any
    signature: str
    times: int
    source: str

    @property
    def operands(self) -> tuple[Any, ...]:
        """The types of the operands."""
        return tuple(v.aval for v in self.equation.invars)

    @property
    def results(self) -> tuple[Any, ...]:
        """The types of the results."""
        return tuple(v.aval for v in self.equation.outvars)


def sites(program: Program, *primitives: str) -> list[Site]:
    """Return the operations of a program with one of some names, each signature once."""
    found: dict[str, Site] = {}
    for equation, times, source in _equations(program.jaxpr.jaxpr, 1, ""):
        if equation.primitive.name in primitives:
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
    """Return each equation, how often it runs, and its place in the source."""
    for equation in jaxpr.eqns:
        source = _source(equation) or around
        yield equation, times, source
        name = equation.primitive.name
        if name in _CALLERS or name in _INLINED:
            inner = times * (equation.params["length"] if name == "scan" else 1)
            for nested in _nested(equation.params.values()):
                yield from _equations(getattr(nested, "jaxpr", nested), inner, source)


def _source(equation: Any) -> str:
    """Return file and line of the user's code that made an equation."""
    from jax._src import source_info_util

    frame = source_info_util.user_frame(equation.source_info.traceback)
    return "" if frame is None else f"{PurePath(frame.file_name).name}:{frame.start_line}"


def _nested(values: Any) -> Iterator[Any]:
    """Return the jaxprs among the parameters of an equation."""
    for value in values:
        if isinstance(value, tuple | list):
            yield from _nested(value)
        elif hasattr(value, "eqns"):
            yield value


def rewritten(program: Program, rule: Rule) -> Program:
    """Return a program in which a rule replaces operations, those in loops and calls too."""

    def function(*flat: Any) -> list[Any]:
        return _evaluate(program.jaxpr.jaxpr, program.jaxpr.consts, flat, rule)

    return program.with_function(function)


def replaced(program: Program, signature: str, by: Callable[..., Sequence[Any]]) -> Program:
    """Return a program in which a function of equation and operands replaces one operation."""

    def rule(equation: Any, operands: list[Any]) -> Sequence[Any] | None:
        if signature.startswith(equation.primitive.name) and signature_of(equation) == signature:
            return by(equation, *operands)
        return None

    return rewritten(program, rule)


def _evaluate(jaxpr: Any, constants: Sequence[Any], flat: Sequence[Any], rule: Rule) -> list[Any]:
    values: dict[Any, Any] = {}

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    values.update(zip(jaxpr.constvars, constants, strict=True))
    values.update(zip(jaxpr.invars, flat, strict=True))
    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        results = rule(equation, operands)
        if results is None:
            results = _bound(equation, operands, rule)
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _bound(equation: Any, operands: list[Any], rule: Rule) -> Sequence[Any]:
    """Return the results of an equation, whose own functions are rewritten."""
    name, parameters = equation.primitive.name, equation.params
    if name in _INLINED:
        called = next(_nested(parameters.values()))
        return _evaluate(called.jaxpr, called.consts, operands, rule)
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
    structs = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=getattr(a, "weak_type", False))
        for a in (v.aval for v in inner.invars)
    ]
    made = jax.make_jaxpr(lambda *flat: _evaluate(inner, constants, flat, rule))(*structs)
    return made if closed else made.jaxpr
