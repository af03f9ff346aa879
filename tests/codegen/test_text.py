"""The texts themselves: types at their edges, shared parts, names, comments, refusals; LaTeX."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.expr import Interval, variable
from morello_layouts.core.expr.sizes import SizeExpr, ceil_quotient, exact_quotient
from morello_layouts.outputs.codegen import TARGETS, Formulas, Target, print_formulas
from morello_layouts.outputs.codegen.operations import Lowering, TargetArithmetic
from morello_layouts.outputs.codegen.printer import IntType, Printer, Widths
from tests.support.codegen_cases import OPTIONS, Case, cases, has_signed_words
from tests.support.tables import each_row


@pytest.mark.parametrize(
    ("most", "declared", "kind"),
    [
        (2**31 - 1, True, IntType.U32),
        (2**31, True, IntType.U32),
        (2**32 - 1, True, IntType.U32),
        (2**32, True, IntType.U64),
        (2**64 - 1, True, IntType.U64),
        (2**31 - 1, False, IntType.U32),
        (2**31, False, IntType.U64),
        (2**64 - 1, False, IntType.U64),
        (None, True, IntType.U64),
    ],
)
def test_unsigned_types_at_their_edges(most: int | None, declared: bool, kind: IntType) -> None:
    assert Widths(declared).kind(Interval(0, most)) is kind


@pytest.mark.parametrize(
    ("lo", "hi", "kind"),
    [
        (-1, 2**31 - 1, IntType.I32),
        (-1, 2**31, IntType.I64),
        (-(2**31), 0, IntType.I32),
        (-(2**31) - 1, 0, IntType.I64),
        (-(2**63), 2**63 - 1, IntType.I64),
        (None, 5, IntType.I64),
    ],
)
def test_signed_types_at_their_edges(lo: int | None, hi: int, kind: IntType) -> None:
    assert Widths().kind(Interval(lo, hi)) is kind


def test_known_bounds_of_sizes_make_types_small() -> None:
    widths = Widths(sizes={"N": Interval(1, 1000)})
    n = SizeExpr.named("N")
    for size, most in (
        (n, 1000), (n * n - n, 999999), (5 - n, 4),
        (ceil_quotient(n, 8), 125), (ceil_quotient(n, 7), 143),
    ):  # fmt: skip
        assert widths._ends(size)[1] == most
    assert widths._ends(5 - n)[0] == -995
    assert widths._ends(SizeExpr.named("M") + n) == (2, None)
    assert Widths(sizes={"N": Interval(3, 5)})._ends(n * n - n) == (4, 22)
    assert widths.kind(Interval(0, 4_294_967 * n)) is IntType.U32
    assert widths.kind(Interval(0, 4_294_968 * n)) is IntType.U64
    assert widths.kind(Interval(0, exact_quotient(n, 8))) is IntType.U32


def test_quotients_by_sizes_are_bounded_by_their_operands() -> None:
    """⌈x/s⌉ has no bound that is a polynomial, but it is no larger than x."""
    sizes = {"N": Interval(2, 1000), "M": Interval(1, 1000)}
    n, m = SizeExpr.named("N"), SizeExpr.named("M")
    p = variable("p", 0, 10**6 * m - 1)
    i = variable("i", 0, 10**4)
    for form, most in (
        (p // (16 * ceil_quotient(n, 8)), (10**9 - 1) // 16),
        ((p // (3 * n)) % (n * m), 10**6 - 1),
        ((i - 7 * n) % (5 * n), 5000 - 1),
        (p % (5 * n), 5000 - 1),
        (i // m, 10**4),
        (i % (10**7 * n), 10**4),
        (2 * (i // (n + m)) + 5, 2 * (10**4 // 3) + 5),
        (3 * (p // (3 * n)) + p, 3 * ((10**9 - 1) // 6) + 10**9 - 1),
        (100 - i // (n + m), 100),
    ):
        widths = Widths(sizes=sizes)
        found = widths.bounds(Lowering(TargetArithmetic(floors=True), sizes).form(form))
        assert found.hi == most, str(form)
        assert isinstance(found.lo, int)
    assert found.lo == 100 - 10**4 // 3
    free = Lowering(TargetArithmetic(), {}).form(i // n + p // n)
    assert Widths().bounds(free).hi is None
    assert Widths().operation(free) is IntType.U64


def test_symbolic_quotients_are_computed_in_32_bits() -> None:
    a = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="M <= 4000, N <= 3000")
    b = ml.index_map("f32[M,N]{0,1:T(16,128)}", assuming="M <= 4000, N <= 3000")
    text = ml.code(ml.relayout(a, b), "c", function=True)
    assert "p / (16384 * " in text
    assert "64" not in text
    assert "64" not in ml.code(a.inverse, "c", function=True)


def test_a_truncated_quotient_may_be_zero() -> None:
    node = Lowering(TargetArithmetic()).form(variable("i", None, -3) // 7)
    assert node.interval == (None, -1)
    assert node.args[0].interval == (None, 0)


def test_a_long_expression_of_shared_parts_is_refused_but_not_its_function() -> None:
    x = variable("i", 0, 10**6)
    for k in range(3, 33):
        x = x // k * 2 + x % k
    formulas = Formulas("f", "", x.variables(), (("value", x),))
    with pytest.raises(
        ml.UnsupportedError, match="the expression is longer than 1,000,000 characters"
    ):
        print_formulas(formulas, "python")
    assert len(print_formulas(formulas, "python", function=True)) < 10_000


def test_type_checkers_know_every_target() -> None:
    assert get_args(Target) == TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_prints_every_kind(target: str) -> None:
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    for of in (m, m.inverse, ml.relayout(m, "f32[3,5]")):
        for whole in (False, True):
            text = ml.code(of, target, function=whole)
            assert text
            assert not re.search(r"\d\.\d|float|double", text)
    assert ml.code("f32[3,5]{1,0:T(2,2)}", target) == ml.code(m, target)
    assert ml.code("[0, 1]", target, shape=(3, 5)) == ml.code("f32[3,5]", target)


@pytest.mark.parametrize("target", [t for t in TARGETS if t not in ("latex",)])
def test_a_function_tells_its_layout_and_bounds(target: str) -> None:
    text = ml.code("bf16[10,200]{1,0:T(8,128)(2,1)}", target, function=True)
    assert "bf16[10,200]{1,0:T(8,128)(2,1)}" in text
    assert "0 <= d0 <= 9, 0 <= d1 <= 199" in text


def test_a_layout_s_text_stays_in_its_comment() -> None:
    m = ml.index_map("f32[4]")
    hostile = ml.IndexMap(m.recipe, m.reference_form, 'a \\\n*/ int x; """ \\u0041 \\')
    for target in ("c", "cuda", "rust", "mlir", "sympy"):
        lines = ml.code(hostile, target, function=True).splitlines()
        found = [line for line in lines if "int x" in line]
        assert len(found) == 1
        assert found[0].startswith(("//", "#"))
        assert not [line for line in lines if target in ("c", "cuda") and line.endswith("\\")]
    scope: dict[str, Any] = {}
    exec(ml.code(hostile, "python", function=True), scope)
    assert '*/ int x; """ \\u0041' in scope["offset"].__doc__
    assert scope["offset"](3) == 3


@each_row(
    ("name", "target"),
    [("int", "c"), ("_Bool", "c"), ("INT32_MAX", "c"), ("uint8_t", "c"), ("class", "cuda"),
     ("and_eq", "cuda"), ("__shared__", "cuda"), ("fn", "rust"), ("None", "rust"),
     ("lambda", "python"), ("tl", "triton"), ("mod", "mlir"), ("lambda", "sympy"),
     ("Symbol", "sympy")],
)  # fmt: skip
def test_reserved_words_are_not_names(name: str, target: str) -> None:
    with pytest.raises(ml.LayoutError, match=f"'{name}' is not a name in"):
        ml.code(f"{name} + 1", target, {name: (0, 9)})
    with pytest.raises(ml.LayoutError, match="is not a name in"):
        ml.code("f32[3]", target, function=True, name=name)
    assert ml.code(f"{name} + 1", "latex", {name: (0, 9)})


def test_names_that_are_taken() -> None:
    for target in TARGETS:
        for name in ("", 3, "f(); int g\n"):
            with pytest.raises(ml.LayoutError, match="is not a name in"):
                ml.code("f32[3]", target, function=True, name=name)
    hostile = sympy.Symbol("x\nimport os\n#", integer=True)
    for target in TARGETS:
        with pytest.raises(ml.LayoutError, match="is not a name in"):
            ml.code(sympy.floor(hostile / 3), target, {hostile: (0, 9)})
    greek = sympy.Symbol(r"\lambda", integer=True)
    assert ml.code(greek + 1, "latex", {greek: (0, 9)}) == r"\lambda + 1"


@pytest.mark.parametrize("target", TARGETS)
def test_a_size_and_a_variable_of_one_name(target: str) -> None:
    """Else one argument would be both."""
    p = variable("p", 0, SizeExpr.named("p") - 1)
    formulas = Formulas("f", "", p.variables(), (("value", p // 8),))
    for whole in (False, True):
        with pytest.raises(ml.LayoutError, match="'p' names two things"):
            print_formulas(formulas, target, function=whole)


def test_several_formulas_of_users() -> None:
    mine = ml.from_sympy((6, 8), ("d1//4", "4*d0 + d1%4"))
    scope: dict[str, Any] = {}
    exec(ml.code(mine, "python", function=True, name="f"), scope)
    assert scope["f"](5, 7) == (1, 23) == mine(5, 7)
    for target in TARGETS:
        for whole in (False, True):
            assert ml.code(mine, target, function=whole)


def test_sizes_as_operations() -> None:
    n, m = SizeExpr.named("N"), SizeExpr.named("M")
    lowering = Lowering(TargetArithmetic())
    from morello_layouts.outputs.codegen.targets import PythonLanguage

    printer = Printer(PythonLanguage(), None)
    for size, text in (
        (n, "N"),
        (3 * n * n - m, "3*N*N - M"),
        (5 - n, "5 - N"),
        (-n, "-N"),
        (ceil_quotient(n, 8), "(N + 7)//8"),
        (4 * exact_quotient(n, 8), "N//2"),
        (24 * exact_quotient(n, 8), "3*N"),
        (m * ceil_quotient(n + m, 6), "M*((M + N + 5)//6)"),
    ):
        node = lowering.number(size)
        assert printer.write([node], {})[node] == text
        for values in ({"N": 8, "M": 3}, {"N": 24, "M": 1}):
            assert eval(text, {}, values) == size.evaluate(values)


def from_latex(text: str) -> str:
    """LaTeX as Python, from the inside out."""
    text = re.sub(r"_\{(\d+)\}", r"\1", text)
    braces = r"((?:[^{}])*)"
    rules = [
        (rf"\\left\\lfloor \\frac\{{{braces}\}}\{{{braces}\}} \\right\\rfloor", r"((\1)//(\2))"),
        (
            rf"\\left\\lceil \\frac\{{{braces}\}}\{{{braces}\}} \\right\\rceil",
            r"(-((-(\1))//(\2)))",
        ),
        (r"\\left\(", "("),
        (r"\\right\)", ")"),
        (r"\\bmod", "%"),
        (r"\\oplus", "^"),
    ]
    before = ""
    while before != text:
        before = text
        for pattern, new in rules:
            text = re.sub(pattern, new, text)
    text = text.replace(r"\ge", ">=").replace(r"\lor", "|").replace(r"\mathrm{false}", "False")
    return re.sub(r"(?<=[\w)]) (?=[\w(])", "*", text)


@pytest.mark.slow
@pytest.mark.parametrize("simplified", ["readable", "cheapest"])
def test_latex_read_back(simplified: str) -> None:
    checked = 0
    for case in cases():
        if case.statements:
            continue
        text = from_latex(case.code("latex", simplified=simplified))
        for at in range(0, len(case.arguments), max(1, len(case.arguments) // 40)):
            values = dict(zip(case.names, case.arguments[at], strict=True))
            assert eval(text, {}, values) == case.results[at][0], (case.label, text)
            checked += 1
    assert checked > 500


def test_latex_of_the_inverse() -> None:
    for case in [c for c in cases() if c.statements and len(c.names) == 1]:
        rows = case.code("latex").splitlines()[1:-1]
        formulas = [from_latex(row.split("&= ")[1].removesuffix(r" \\")) for row in rows[:-1]]
        condition = from_latex(rows[-1].split(r"\iff ")[1]).replace("|", "or")
        for at in range(0, len(case.arguments), max(1, len(case.arguments) // 40)):
            p = {"p": case.arguments[at][0]}
            found = [eval(text, {}, p) for text in formulas] + [eval(condition, {}, p)]
            for value, wanted in zip(found, case.results[at], strict=True):
                assert wanted is None or value == wanted


def test_the_options_differ() -> None:
    """Else the cases would run one text four times."""
    case: Case = next(c for c in cases() if c.label.startswith("bf16[19,140]"))
    assert len({case.code("c", **options) for options in OPTIONS}) == len(OPTIONS)


def test_few_cases_need_unsigned_words() -> None:
    unsigned = [case.label for case in cases() if not has_signed_words(case)]
    assert len(unsigned) == 3, unsigned
