"""Python, Triton and SymPy: the printed text is run as Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.typing import NDArray
from sympy.logic.boolalg import BooleanAtom

import morello_layouts as ml
from morello_layouts.core.expr.sympy_functions import BitXor
from tests.support.codegen_cases import OPTIONS, Case, cases, signed_cases


def columns(case: Case) -> list[NDArray[Any]]:
    """The arguments as arrays of ints that hold them."""
    largest = max((max(map(abs, (*row, 0))) for row in case.arguments), default=0)
    kind = np.int64 if largest < 2**63 else object
    return [np.array(column, kind) for column in zip(*case.arguments, strict=True)]


def compare(case: Case, found: Any, what: object) -> None:
    """Results over all rows with what they must be."""
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(case.results[0])
    for k, result in enumerate(found):
        values = np.broadcast_to(np.asarray(result), (len(case.results),))
        wanted = [row[k] for row in case.results]
        wrong = [at for at, x in enumerate(wanted) if x is not None and int(values[at]) != x]
        assert not wrong, (what, case.arguments[wrong[0]], values[wrong[0]], wanted[wrong[0]])


def run_lines(case: Case, text: str, values: dict[str, Any], names: dict[str, Any]) -> Any:
    """The value of an expression, or of lines that name their results."""
    scope = {**names, **values}
    if not case.statements:
        return eval(text, scope)
    exec(text, scope)
    return tuple(scope[name] for name in case.outputs)


def function_of(text: str, name: str, modules: dict[str, ModuleType]) -> Callable[..., Any]:
    scope: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        for module, value in modules.items():
            patch.setitem(sys.modules, module, value)
        exec(text, scope)
    found: Callable[..., Any] = scope[name]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_python_on_arrays_and_ints(options: dict[str, Any]) -> None:
    for case in cases():
        text = case.code("python", function=True, asserts=True, name="f", **options)
        function = function_of(text, "f", {})
        arrays = columns(case)
        compare(case, function(*arrays), text)
        expression = case.code("python", **options)
        values = dict(zip(case.names, arrays, strict=True))
        compare(case, run_lines(case, expression, values, {}), expression)
        for at in (0, len(case.arguments) // 2, len(case.arguments) - 1):
            found = function(*case.arguments[at])
            found = found if isinstance(found, tuple) else (found,)
            assert all(type(x) in (int, bool) for x in found)
            for value, wanted in zip(found, case.results[at], strict=True):
                assert wanted is None or value == wanted


class Lane:
    """Integers as a device has them: of 32 or 64 bits, divided towards zero, never past the end."""

    def __init__(self, values: NDArray[Any], bits: int) -> None:
        self.values, self.bits = values, bits
        least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        assert not values.size or (values.min() >= least and values.max() <= most), "overflow"

    def __array__(self, *_: object, **__: object) -> NDArray[Any]:
        return self.values

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Lane:
        if isinstance(other, np.ndarray):  # a condition counts as 0 or 1
            assert other.dtype == bool
            other = Lane(other.astype(int), self.bits)
        bits = max(self.bits, other.bits if isinstance(other, Lane) else 32)
        right = other.values if isinstance(other, Lane) else other
        assert isinstance(other, Lane) or -(2 ** (bits - 1)) <= other < 2 ** (bits - 1), other
        return Lane(operation(self.values.astype(object), right), bits)

    def __add__(self, other: Any) -> Lane:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Lane:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Lane:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Lane:
        return self._with(other, lambda a, b: a * b)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Lane:
        return 0 - self

    def __floordiv__(self, other: Any) -> Lane:
        return self._with(other, lambda a, b: np.sign(a) * (abs(a) // b))

    def __mod__(self, other: Any) -> Lane:
        return self._with(other, lambda a, b: np.sign(a) * (abs(a) % b))

    def __xor__(self, other: Any) -> Lane:
        return self._with(other, lambda a, b: a ^ b)

    __rxor__ = __xor__

    def __lshift__(self, by: int) -> Lane:
        return Lane(self.values.astype(object) << by, self.bits)

    def __rshift__(self, by: int) -> Lane:
        assert self.values.min() >= 0
        return Lane(self.values >> by, self.bits)

    def __and__(self, mask: int) -> Lane:
        assert self.values.min() >= 0
        return Lane(self.values & mask, self.bits)

    def __ge__(self, other: Any) -> NDArray[Any]:
        found = self._with(other, lambda a, b: (a >= b).astype(int)).values
        return np.asarray(found.astype(bool))

    def __lt__(self, other: Any) -> NDArray[Any]:
        return np.asarray(~(self >= other))

    def __le__(self, other: Any) -> NDArray[Any]:
        return ~(self >= other) | np.asarray(self.values == np.asarray(other))  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> Any:
        return self.values == other

    __hash__ = None  # type: ignore[assignment]


def triton() -> dict[str, ModuleType]:
    """As much of Triton as the printed text uses, over NumPy arrays and lanes."""
    language, package = ModuleType("triton.language"), ModuleType("triton")

    def cast(x: Any, bits: int) -> Any:
        return Lane(x.values, bits) if isinstance(x, Lane) else np.asarray(x).astype(f"int{bits}")

    def device_assert(condition: Any) -> None:
        assert np.all(condition)

    language.cast, language.device_assert = cast, device_assert
    language.int32, language.int64 = 32, 64
    package.jit, package.language = (lambda f: f), language
    return {"triton": package, "triton.language": language}


def lanes(arrays: list[NDArray[Any]]) -> list[Lane]:
    """Arguments of 32 bits if they fit, as kernels have them."""
    return [Lane(x, 32 if not x.size or abs(x).max() < 2**31 else 64) for x in arrays]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_triton_as_a_device_computes(options: dict[str, Any]) -> None:
    modules = triton()
    names = {"tl": modules["triton.language"]}
    for case in signed_cases():
        if len(case.arguments) > 3000:
            continue  # objects are slow; the next test has them all
        text = case.code("triton", function=True, asserts=True, name="f", **options)
        arguments = lanes(columns(case))
        compare(case, function_of(text, "f", modules)(*arguments), text)
        expression = case.code("triton", **options)
        values = dict(zip(case.names, arguments, strict=True))
        compare(case, run_lines(case, expression, values, names), expression)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_triton_over_numpy(options: dict[str, Any]) -> None:
    modules = triton()
    for case in signed_cases():
        text = case.code("triton", function=True, asserts=True, name="f", **options)
        arrays = columns(case)
        narrow = [x.astype(np.int32) if not x.size or abs(x).max() < 2**31 else x for x in arrays]
        compare(case, function_of(text, "f", modules)(*narrow), text)


def test_triton_needs_its_conversions() -> None:
    """The judge of overflow sees one."""
    case = next(case for case in signed_cases() if case.label.startswith("f32[90000,70000]"))
    text = case.code("triton").replace("tl.int64", "tl.int32")
    values = dict(zip(case.names, lanes(columns(case)), strict=True))
    with pytest.raises(AssertionError, match="overflow"):
        run_lines(case, text, values, {"tl": triton()["triton.language"]})


def number_of(value: Any) -> int:
    """An int of what SymPy gives."""
    return int(bool(value) if isinstance(value, bool | BooleanAtom) else value)


@pytest.mark.slow
def test_sympy() -> None:
    for number, case in enumerate(cases()):
        if case.label.startswith("random") and number % 4:
            continue  # SymPy takes its time
        at = len(case.arguments) // 3
        row, wanted = case.arguments[at], case.results[at]
        function = function_of(case.code("sympy", function=True, name="f"), "f", {})
        results = function(*row)
        results = tuple(results) if isinstance(results, sympy.Tuple) else (results,)
        names = {"floor": sympy.floor, "Mod": sympy.Mod, "ceiling": sympy.ceiling, "BitXor": BitXor}
        values = dict(zip(case.names, map(sympy.Integer, row), strict=True))
        found = run_lines(case, case.code("sympy"), values, names)
        found = found if isinstance(found, tuple) else (found,)
        for result, value, expected in zip(results, found, wanted, strict=True):
            if expected is not None:
                assert number_of(result) == number_of(value) == expected, (case.label, row)


def test_asserts_fail() -> None:
    for shift in (False, True):
        text = ml.code("f32[3,5]", "python", function=True, asserts=True, shift=shift)
        function = function_of(text, "offset", {})
        assert function(2, 4) == 14
        for row in ((3, 0), (0, 5), (-1, 0), (np.array([0, 3]), 0)):
            with pytest.raises(AssertionError):
                function(*row)
