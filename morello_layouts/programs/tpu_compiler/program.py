"""A JAX function with its arguments, as a program that can be changed and lowered for a TPU.

This and the modules that change programs are the only ones that import JAX, and only on use.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import os
import re
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout, nearest_type
from morello_layouts.errors import LayoutError
from morello_layouts.notations import parse
from morello_layouts.notations.xla import XlaShape

if TYPE_CHECKING:
    import jax


AUTO: Final = "auto"
"""The layout mode that leaves a parameter's layout to the compiler."""

LARGEST: Final = 4
"""Arrays of one kind of change: those with the most bytes."""

LEAST: Final = 1 << 16
"""Bytes of an array that is worth a change."""

Modes: TypeAlias = tuple[tuple[int, str], ...]
"""Positions of parameters or results, and the text of their layout, such as ``{0,1}``."""

Conversion: TypeAlias = tuple[int, Callable[[Any], Any]]
"""The position of an argument or a result, and a function of it."""


@frozen
class Program:
    """A traced function of flat arguments."""

    name: str  #: of the function.
    jaxpr: Any  #: the function; a ``ClosedJaxpr``.
    arguments: tuple[str, ...]  #: the arguments' names, such as ``params['w']``.
    results: tuple[str, ...]  #: the results' names, such as ``result[0]``.
    #: positions of arguments whose buffers results may take.
    donated: frozenset[int] = frozenset()
    parameter_modes: Modes = ()  #: layouts of arguments, other than the default.
    result_modes: Modes = ()  #: layouts of results, other than the default.
    specs: tuple[Any, ...] = ()  #: for each argument its ``PartitionSpec``, or None.
    mesh: Any = field(default=None, compare=False)  #: an ``AbstractMesh``, or None.
    #: how arguments are stored, in the order of the changes: positions, and functions from an
    #: argument as it was before.
    encoders: tuple[Conversion, ...] = ()
    #: positions of results, and functions that give them as they were before.
    decoders: tuple[Conversion, ...] = ()
    #: the types of the arguments before any was stored in another form; else empty.
    first_avals: tuple[Any, ...] = ()
    #: bytes that arrays take in HBM and that copies write, by the number of elements, as the
    #: compiler left them; empty if it was not asked.
    held: Mapping[int, int] = field(default_factory=dict, compare=False, repr=False)

    def bytes_of(self, aval: Any) -> int:
        """Return what arrays with a type's number of elements take, or its own bytes."""
        if not hasattr(aval, "shape"):
            return 0
        return self.held.get(prod(aval.shape), 0) if self.held else own_bytes(aval)

    @property
    def avals(self) -> tuple[Any, ...]:
        """The types of the arguments."""
        return tuple(self.jaxpr.in_avals)

    @property
    def result_avals(self) -> tuple[Any, ...]:
        """The types of the results."""
        return tuple(self.jaxpr.out_avals)

    def call(self, *flat: Any) -> list[Any]:
        """Call the function on flat arguments."""
        from jax.extend.core import jaxpr_as_fun

        return list(jaxpr_as_fun(self.jaxpr)(*flat))

    def with_function(
        self, function: Callable[..., Sequence[Any]], avals: Sequence[Any] | None = None
    ) -> Program:
        """Return the program with another function of flat arguments."""
        import jax

        structs = map(struct_of, self.avals if avals is None else avals)
        with in_mesh(self.mesh):
            jaxpr = jax.make_jaxpr(function)(*structs)
        return replace(self, jaxpr=jaxpr)

    def in_forms(
        self,
        function: Callable[..., Sequence[Any]],
        avals: Sequence[Any],
        encoders: Sequence[Conversion] = (),
        decoders: Sequence[Conversion] = (),
    ) -> Program:
        """Return the program with another function, of arguments and results in other forms."""
        stored, returned = ({k for k, _ in pairs} for pairs in (encoders, decoders))
        return replace(
            self.with_function(function, avals),
            parameter_modes=tuple(pair for pair in self.parameter_modes if pair[0] not in stored),
            result_modes=tuple(pair for pair in self.result_modes if pair[0] not in returned),
            encoders=(*self.encoders, *encoders),
            decoders=(*decoders, *self.decoders),
            first_avals=self.first_avals or (self.avals if encoders else ()),
        )

    def storing(
        self, position: int, encode: Callable[[Any], Any], decode: Callable[[Any], Any]
    ) -> Program:
        """Return the program whose argument is stored in another form, with its own layout."""
        import jax

        def function(*flat: Any) -> list[Any]:
            return self.call(*flat[:position], decode(flat[position]), *flat[position + 1 :])

        avals = list(self.avals)
        avals[position] = jax.eval_shape(encode, struct_of(avals[position]))
        return self.in_forms(function, avals, [(position, encode)])

    def returning(
        self, position: int, encode: Callable[[Any], Any], decode: Callable[[Any], Any]
    ) -> Program:
        """Return the program whose result has another form, with its own layout."""

        def function(*flat: Any) -> list[Any]:
            found = self.call(*flat)
            found[position] = encode(found[position])
            return found

        return self.in_forms(function, self.avals, decoders=[(position, decode)])

    def stored(self, *flat: Any) -> list[Any]:
        """Return arguments, given in their first form, as the program takes them."""
        return _converted(flat, self.encoders)

    def returned(self, *results: Any) -> list[Any]:
        """Return results of the program in their first form."""
        return _converted(results, self.decoders)

    def lower(self) -> Any:
        """Return the function lowered for a TPU; every argument is a parameter of it."""
        import jax

        def function(*flat: Any) -> list[Any]:
            return self.call(*flat)

        function.__name__ = function.__qualname__ = self.name
        function.__signature__ = _signature(self.arguments)  # type: ignore[attr-defined]
        jitted = jax.jit(function, donate_argnums=sorted(self.donated), keep_unused=True)
        specs = self.specs or (None,) * len(self.avals)
        structs = [struct_of(a, s, self.mesh) for a, s in zip(self.avals, specs, strict=True)]
        with in_mesh(self.mesh):
            traced = jitted.trace(*structs)
            return guarded(lambda: traced.lower(lowering_platforms=("tpu",)), self.name, "lowered")

    def stablehlo(self) -> Any:
        """Return the program for a TPU, with the layouts of parameters and results."""
        ir = self.lower().compiler_ir("stablehlo")
        _set_modes(ir, "arg_attrs", self.parameter_modes, len(self.avals))
        _set_modes(ir, "res_attrs", self.result_modes, len(self.result_avals))
        return ir

    def module(self) -> bytes:
        """Return the program for a TPU as bytes."""
        return bytecode(self.stablehlo())

    @property
    def devices(self) -> int:
        """The number of devices that the program runs on."""
        return 1 if self.mesh is None else int(self.mesh.size)


def own_bytes(aval: Any) -> int:
    """Return the bytes of an array of a type, without padding."""
    size: int = prod(aval.shape) * getattr(aval.dtype, "itemsize", 4)
    return size


def _converted(arrays: Sequence[Any], conversions: Sequence[Conversion]) -> list[Any]:
    found = list(arrays)
    for position, convert in conversions:
        found[position] = convert(found[position])
    return found


def _signature(names: Sequence[str]) -> inspect.Signature:
    """Return a signature by which the program's parameters have an identifier each.

    >>> _signature(["x", "params['w']"])
    <Signature (x, params_w, /)>
    """
    plain = ["".join(c if c.isalnum() else "_" for c in name).rstrip("_") for name in names]
    plain = [re.sub("__+", "_", name) for name in plain]
    if len(set(plain)) < len(plain) or not all(map(str.isidentifier, plain)):
        plain = [f"argument_{k}" for k in range(len(names))]
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(name, kind) for name in plain])


def in_mesh(mesh: Any) -> Any:
    """Return a context in which names of a mesh's axes stand for it."""
    if mesh is None:
        return nullcontext()
    import jax

    return jax.sharding.use_abstract_mesh(mesh)


def struct_of(aval: Any, spec: Any = None, mesh: Any = None) -> jax.ShapeDtypeStruct:
    import jax

    sharding = None if spec is None else jax.sharding.NamedSharding(mesh, spec)
    return jax.ShapeDtypeStruct(
        aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False), sharding=sharding
    )


def key_of(module: Any) -> str:
    """Return a text that tells modules apart, but not the places of one in the source."""
    return hashlib.sha256(module.operation.get_asm().encode()).hexdigest()


def _set_modes(module: Any, attribute: str, modes: Modes, count: int) -> None:
    """Set layouts of the main function's last arguments or results; before them are constants."""
    if not modes:
        return
    from jax._src.lib.mlir import ir

    with module.context:
        (main,) = (f for f in module.body.operations if f.attributes["sym_name"].value == "main")
        dicts = list(main.attributes[attribute])
        first = len(dicts) - count
        for position, mode in modes:
            old = {a.name: a.attr for a in dicts[first + position]}
            old["mhlo.layout_mode"] = ir.StringAttr.get(mode)
            dicts[first + position] = ir.DictAttr.get(old)
        main.attributes[attribute] = ir.ArrayAttr.get(dicts)


def bytecode(module: Any) -> bytes:
    """Return a module of MLIR as bytes."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def partitions(module: Any) -> int:
    """Return the number of devices that a module of StableHLO is for."""
    attributes = module.operation.attributes
    name = "mhlo.num_partitions"
    return int(attributes[name].value) if name in attributes else 1


def trace(function: Callable[..., Any], arguments: Sequence[Any], mesh: Any = None) -> Program:
    """Trace a function at the types of its arguments.

    Args:
        function: of arrays, or of trees of arrays; one under ``jax.jit`` keeps its donations.
        arguments: for each one an array, a ``jax.ShapeDtypeStruct``, the text of a shape such as
            ``f32[8,128]``, or a tree of these. A layout in a text is the parameter's layout.
        mesh: a mesh of JAX, or a mapping from the names of its axes to their sizes.
    """
    import jax

    modes: list[str] = []
    if isinstance(mesh, Mapping):
        mesh = jax.sharding.AbstractMesh(tuple(mesh.values()), tuple(mesh))
    mesh = getattr(mesh, "abstract_mesh", mesh)
    structs = jax.tree.map(lambda leaf: argument_struct(leaf, modes), tuple(arguments))
    shardings = [getattr(x, "sharding", None) for x in jax.tree.leaves(structs)]
    mesh = mesh or next((s.mesh.abstract_mesh for s in shardings if s is not None), None)
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    name = getattr(function, "__name__", type(function).__name__)
    with in_mesh(mesh):
        traced = guarded(lambda: jitted.trace(*structs), name)
    flat, _ = jax.tree.flatten(traced.args_info)
    names = _names(function, arguments)
    if len(names) != len(flat):
        names = tuple(f"argument {k}" for k in range(len(flat)))
    outs = jax.tree_util.tree_flatten_with_path(traced.out_info)[0]
    return Program(
        "".join(c if c.isalnum() else "_" for c in name) or "f",
        traced.jaxpr,
        names,
        tuple(f"result{jax.tree_util.keystr(path)}" for path, _ in outs),
        frozenset(k for k, info in enumerate(flat) if info.donated),
        tuple((k, mode) for k, mode in enumerate(modes) if mode),
        (),
        tuple(None if s is None else s.spec for s in shardings),
        mesh,
    )


def guarded(call: Callable[[], Any], name: str, done: str = "traced") -> Any:
    """Trace or lower a function; turn what that raises into a LayoutError with its words."""
    try:
        return call()
    except LayoutError:
        raise
    except Exception as error:
        said = str(error).strip().partition("\n")[0][:300]
        raise LayoutError(
            f"{name} could not be {done}: {type(error).__name__}: {said}",
            "JAX calls the function with the types of its arguments, and lowers it for a TPU",
            "give arguments of the shapes and types that it takes; leave callbacks to Python out",
        ) from error


def argument_struct(leaf: Any, modes: list[str]) -> jax.ShapeDtypeStruct:
    """Return the type of an argument, and append the text of its layout, empty for the default."""
    import jax
    import numpy as np

    mode, sharding = "", None
    if isinstance(leaf, str | Layout):
        shape = parse(leaf) if isinstance(leaf, str) else leaf
        if not isinstance(shape, XlaShape):
            raise LayoutError(
                f"argument: expected the text of an array, got {leaf}",
                "an argument has an element type and sizes",
                "write for example f32[8,128] or f32[8,128]{0,1}",
            )
        # A text without a layout leaves the choice to the compiler.
        mode = str(shape.layout) if not isinstance(leaf, str) or "{" in leaf else ""
        shape_, dtype = shape.shape, np.dtype(_dtype(shape.element_type))
    elif hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        shape_, dtype = tuple(leaf.shape), leaf.dtype
        sharding = getattr(leaf, "sharding", None)
    elif isinstance(leaf, bool | int | float | complex):
        shape_, dtype = (), jax.dtypes.canonicalize_dtype(type(leaf))
    else:
        raise LayoutError(
            f"argument: expected an array or its type, got {type(leaf).__name__}",
            "a function is compiled for the shapes and types of its arguments",
            "give arrays, jax.ShapeDtypeStruct, or texts such as f32[8,128]; bind other values "
            "with functools.partial",
        )
    modes.append(mode)
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return jax.ShapeDtypeStruct(shape_, dtype)
    placed = jax.sharding.NamedSharding(sharding.mesh.abstract_mesh, sharding.spec)
    return jax.ShapeDtypeStruct(shape_, dtype, sharding=placed)


def _dtype(element_type: str) -> Any:
    """Return NumPy's type of elements of an XLA type."""
    import ml_dtypes
    import numpy as np

    names = (*dir(ml_dtypes), *(t.__name__ for t in np.sctypeDict.values()))
    (name, *_) = (name for name in names if nearest_type(name) == element_type)
    return np.dtype(getattr(ml_dtypes, name, name))


def _names(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of flat arguments, from the function's parameters and paths in trees."""
    import jax

    try:
        parameters: Iterable[str] = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = ()
    firsts = [*parameters, *(f"argument {k}" for k in range(len(arguments)))]
    return tuple(
        f"{firsts[k]}{jax.tree_util.keystr(path)}"
        for k, argument in enumerate(arguments)
        for path, _ in jax.tree_util.tree_flatten_with_path(argument)[0]
    )


def load_function(place: str) -> Callable[..., Any]:
    """Return the function of ``FILE.py:FUNCTION``; the file is run as Python."""
    found: Any = _value_of(place)
    if not callable(found):
        name = place.rpartition(":")[2]
        raise LayoutError(f"{name} is not a function", "a function is compiled", _PLACE)
    return found  # type: ignore[no-any-return]


def load_arguments(place: str, name: str) -> tuple[Any, ...]:
    """Return the arguments that a value of the file of ``FILE.py:FUNCTION`` holds or returns."""
    found = _value_of(f"{place.rpartition(':')[0]}:{name}")
    if callable(found):
        found = guarded(found, name)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


_PLACE: Final = "give FILE.py:FUNCTION, such as model.py:step"


def _value_of(place: str) -> Any:
    file, _, name = place.rpartition(":")
    if not file or not name:
        raise LayoutError(f"function: expected FILE.py:FUNCTION, got {place}", "", _PLACE)
    if not os.path.isfile(file):
        raise LayoutError(f"{file} is not a file", "the function is read from a file", _PLACE)
    values = _run_file(os.path.abspath(file))
    if name not in values:
        names = ", ".join(k for k, v in values.items() if callable(v) and not k.startswith("_"))
        raise LayoutError(
            f"{file} has nothing named {name}", f"it has {names or 'no functions'}", _PLACE
        )
    return values[name]


@cache
def _run_file(file: str) -> Mapping[str, Any]:
    try:
        return runpy.run_path(file, run_name="<morello_layouts>")
    except Exception as error:
        raise LayoutError(
            f"{file} fails: {type(error).__name__}: {str(error).partition(chr(10))[0]}",
            "the file is run to get the function",
            "correct the file until Python runs it",
        ) from error


@frozen
class Change:
    """A change that may cost less."""

    kind: str  #: such as ``donation``.
    change: str  #: what to write, in a line.
    where: str  #: the argument, result or operation that it changes.
    #: from a program to the changed one.
    apply: Callable[[Program], Program] = field(compare=False, repr=False)
    #: whether results stay the same, but for the order of sums; else values are rounded, and the
    #: change is not combined with others.
    exact: bool = True
    chosen: bool = False  #: whether the compiler chooses layouts, which the change then names.
