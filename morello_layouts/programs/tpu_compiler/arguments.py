"""Changes of how arguments and results are stored: donation, layouts, forms, types, shardings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from operator import methodcaller
from typing import Any, Final, TypeAlias

from morello_layouts.programs.tpu_compiler.program import (
    AUTO,
    LARGEST,
    LEAST,
    Change,
    Modes,
    Program,
    own_bytes,
)

_LANES: Final = 128


def _large(avals: Sequence[Any]) -> list[int]:
    """Return the positions of the largest arrays, the largest first."""
    found = [k for k, aval in enumerate(avals) if own_bytes(aval) >= LEAST]
    return sorted(found, key=lambda k: -own_bytes(avals[k]))[:LARGEST]


def _arrays(program: Program) -> Iterator[tuple[bool, int, str, tuple[int, ...]]]:
    """Yield the largest arguments, then results: whether it is one, position, name and shape."""
    sides = ((program.arguments, program.avals), (program.results, program.result_avals))
    for is_result, (names, avals) in enumerate(sides):
        yield from ((bool(is_result), k, names[k], avals[k].shape) for k in _large(avals))


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def donations(program: Program) -> Iterator[Change]:
    """Arguments whose buffers results take: all of them, then each."""
    free = [k for k in range(len(program.avals)) if k not in program.donated]
    pairs: list[tuple[int, int]] = []
    results = enumerate(program.result_avals)
    for j, result in sorted(results, key=lambda pair: -own_bytes(pair[1])):
        same = [k for k in free if _type(program.avals[k]) == _type(result)]
        if same:
            free.remove(same[0])
            pairs.append((same[0], j))
    if len(pairs) > 1:
        yield _donation(program, pairs)
    for pair in pairs[:LARGEST]:
        yield _donation(program, [pair])


def _type(aval: Any) -> Any:
    return aval.shape, aval.dtype


def _donation(program: Program, pairs: Sequence[tuple[int, int]]) -> Change:
    positions = frozenset(k for k, _ in pairs)
    return Change(
        "donation",
        "jax.jit(f, donate_argnums=…): the result takes the argument's buffer, which the caller "
        "then no longer has",
        _first_names([f"{program.arguments[k]} for {program.results[j]}" for k, j in pairs]),
        lambda p: replace(p, donated=p.donated | positions),
    )


def chosen_layouts(program: Program) -> Iterator[Change]:
    """Layouts of arguments, of results, or of both as the compiler likes them best."""
    arguments = tuple((k, AUTO) for k in range(len(program.avals)))
    results = tuple((k, AUTO) for k in range(len(program.result_avals)))
    for where, parameter_modes, result_modes in (
        ("arguments", arguments, ()),
        ("results", (), results),
        ("arguments and results", arguments, results),
    ):
        yield Change(
            "layout",
            "jax.jit(f, in_shardings=Format(Layout.AUTO), out_shardings=…) of "
            "jax.experimental.layout, and jax.device_put(x, compiled.input_formats)",
            where,
            partial(_with_modes, parameter_modes, result_modes),
            chosen=True,
        )


def _with_modes(parameter_modes: Modes, result_modes: Modes, program: Program) -> Program:
    return replace(
        program,
        parameter_modes=parameter_modes or program.parameter_modes,
        result_modes=result_modes or program.result_modes,
    )


def ordered_layouts(program: Program) -> Iterator[Change]:
    """Orders of the dimensions of an argument or a result in memory."""
    for is_result, k, name, shape in _arrays(program):
        for order in orders(len(shape)):
            yield _ordered(k, order, name, is_result)


def orders(rank: int) -> list[tuple[int, ...]]:
    """Return orders of dimensions, major to minor: each dimension last once, and row-major.

    >>> orders(3)
    [(0, 1, 2), (0, 2, 1), (1, 2, 0)]
    """
    if rank < 2:
        return []
    lasts = [(*(d for d in range(rank) if d != last), last) for last in range(rank)]
    return lasts[::-1][:4]


def _ordered(k: int, order: tuple[int, ...], name: str, is_result: bool) -> Change:
    text = f"{{{','.join(map(str, reversed(order)))}}}"
    side = "out_shardings" if is_result else "in_shardings"

    def apply(p: Program) -> Program:
        if is_result:
            return replace(p, result_modes=_with(p.result_modes, k, text))
        return replace(p, parameter_modes=_with(p.parameter_modes, k, text))

    return Change(
        "layout",
        f"jax.jit(f, {side}=…) with Format(Layout(major_to_minor={order})) of "
        "jax.experimental.layout",
        name,
        apply,
    )


def _with(modes: Modes, k: int, text: str) -> Modes:
    return (*(pair for pair in modes if pair[0] != k), (k, text))


def other_forms(program: Program) -> Iterator[Change]:
    """Arguments and results that are padded, or with a long dimension last."""
    for is_result, k, name, shape in _arrays(program):
        for kind, change, encode, decode in _forms(shape):
            verb = "return" if is_result else "store"
            apply = methodcaller("returning" if is_result else "storing", k, encode, decode)
            yield Change(kind, f"{verb} it as {change}", name, apply)


_Form: TypeAlias = tuple[str, str, Callable[[Any], Any], Callable[[Any], Any]]


def _forms(shape: tuple[int, ...]) -> Iterator[_Form]:
    """Return forms of an array that take less padding: kind, words, and the functions both ways."""
    from jax import lax, numpy as jnp

    rank = len(shape)
    if rank < 2 or not prod(shape):
        return
    if shape[-1] % _LANES:
        longest = max(range(rank), key=lambda d: shape[d])
        if longest != rank - 1:
            yield (
                "axis order",
                f"jnp.moveaxis(x, {longest}, -1)",
                lambda x: jnp.moveaxis(x, longest, -1),
                lambda x: jnp.moveaxis(x, -1, longest),
            )
    odd = [d for d in range(rank) if shape[d] > _LANES and shape[d] % _LANES]
    for d in odd[:2]:
        n, more = shape[d], -shape[d] % _LANES
        widths = tuple((0, more if k == d else 0) for k in range(rank))
        yield (
            "padding",
            f"jnp.pad(x, {widths}): dimension {d} of {n:,} becomes {n + more:,}",
            partial(jnp.pad, pad_width=widths),
            partial(lax.slice_in_dim, start_index=0, limit_index=n, axis=d),
        )


def narrow_types(program: Program) -> Iterator[Change]:
    """Arguments of f32 stored in bf16: all large ones, then each."""
    wide = [k for k in _large(program.avals) if str(program.avals[k].dtype) == "float32"]
    for positions in ([wide] if len(wide) > 1 else []) + [[k] for k in wide]:
        yield Change(
            "element type",
            "store it as bf16: x.astype(jnp.bfloat16)",
            ", ".join(program.arguments[k] for k in positions),
            partial(_narrowed, positions=positions),
            exact=False,
        )


def _narrowed(program: Program, positions: Sequence[int]) -> Program:
    for k in positions:
        program = program.storing(k, lambda x: x.astype("bfloat16"), lambda x: x.astype("float32"))
    return program


def moved_shardings(program: Program) -> Iterator[Change]:
    """Arguments sharded along another dimension, or along one more axis of the mesh."""
    if program.mesh is None:
        return
    seen: set[tuple[Any, Any]] = set()
    for k in _large(program.avals):
        aval, spec = program.avals[k], program.specs[k]
        if (key := (str(aval), str(spec))) in seen:
            continue
        seen.add(key)
        alike = [j for j, a in enumerate(program.avals) if (str(a), str(program.specs[j])) == key]
        for other in _specs(aval.shape, spec, dict(program.mesh.shape)):
            yield Change(
                "sharding",
                f"shard it by {other} instead of {spec}",
                _first_names([program.arguments[j] for j in alike]),
                partial(_sharded, positions=frozenset(alike), spec=other),
            )


def _sharded(program: Program, positions: frozenset[int], spec: Any) -> Program:
    specs = (spec if k in positions else old for k, old in enumerate(program.specs))
    return replace(program, specs=tuple(specs))


def _specs(shape: tuple[int, ...], spec: Any, mesh: dict[str, int]) -> Iterator[Any]:
    """Return other shardings of an array: one axis of the mesh at another dimension, or added."""
    from jax.sharding import PartitionSpec

    given = list(spec or ()) + [None] * (len(shape) - len(spec or ()))
    used = {name for part in given for name in _axes(part)}
    for axis, size in mesh.items():
        rest = [_without(part, axis) for part in given]
        for d, n in enumerate(shape):
            held = prod(mesh[name] for name in _axes(rest[d]))
            if axis in _axes(given[d]) or n % (held * size):
                continue
            if axis in used or size > 1:
                yield PartitionSpec(
                    *((*_axes(p), axis) if k == d and p else axis if k == d else p
                      for k, p in enumerate(rest))
                )  # fmt: skip


def _axes(part: Any) -> tuple[str, ...]:
    if part is None:
        return ()
    return (part,) if isinstance(part, str) else tuple(part)


def _without(part: Any, axis: str) -> Any:
    """Return a part of a ``PartitionSpec`` without an axis of the mesh, as JAX prints it.

    >>> _without("x", "x"), _without(("x", "y"), "x"), _without(("x", "y", "z"), "x")
    (None, 'y', ('y', 'z'))
    """
    left = tuple(name for name in _axes(part) if name != axis)
    return None if not left else left[0] if len(left) == 1 else left


ARGUMENT_KINDS: Final = (
    donations,
    chosen_layouts,
    moved_shardings,
    other_forms,
    ordered_layouts,
    narrow_types,
)
"""Each gives candidates that change how arguments and results are stored."""
