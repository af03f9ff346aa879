"""The texts themselves: types at their edges, shared parts, names, comments, refusals; LaTeX."""

from __future__ import annotations

import re
from typing import Any, get_args

import numpy as np
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


def function(of: Any, target: str, bounds: Any = None, **options: Any) -> str:
    """The lines of a function that are code, without its comment."""
    text = ml.code(of, target, bounds, function=True, name="f", **options)
    return "\n".join(x for x in text.splitlines() if x and not x.startswith(("/", "#")))


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


@pytest.mark.parametrize(("lo", "hi"), [(0, 2**64), (-1, 2**63), (-(2**63) - 1, 0)])
def test_values_past_64_bits_are_refused(lo: int, hi: int) -> None:
    with pytest.raises(ml.UnsupportedError, match="does not fit 64 bits"):
        Widths().kind(Interval(lo, hi))
    assert ml.code("i + 1", "python", {"i": (lo, hi)}) == "i + 1"
    with pytest.raises(ml.UnsupportedError):
        ml.code("i + 1", "c", {"i": (lo, hi)})


def test_an_intermediate_that_overflows_is_wide() -> None:
    """The result fits 32 bits, a product on the way does not."""
    bounds = {"i": (0, 2**20), "j": (0, 2**20)}
    text = function("(8192*i + j)//8193", "c", bounds)
    assert text == (
        "static inline uint64_t f(uint32_t i, uint32_t j) {\n"
        "    return (8192 * (uint64_t)i + j) / 8193;\n"
        "}"
    )
    assert "uint64_t" not in function("(8192*i + j)//8193", "c", {"i": (0, 9), "j": (0, 9)})


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


def test_operands_are_raised_above_zero() -> None:
    assert ml.code("(i - 4)//8", "c", {"i": (0, 31)}) == "(int32_t)((i + 4) / 8) - 1"
    assert ml.code("(i - 4)%8", "c", {"i": (0, 31)}) == "(i + 4) % 8"
    assert ml.code("(i - 16)%8", "rust", {"i": (0, 31)}) == "i % 8"
    # As it is written, without the simplifier, which raises operands by rules of its own.
    i, j = variable("i", 0, 31), variable("j")
    for form, target, shift, text in (
        ((i - 4) // 8, "c", False, "(int32_t)((i + 4) / 8) - 1"),
        ((i - 4) // 8, "c", True, "(int32_t)((i + 4) >> 3) - 1"),
        ((i - 4) % 8, "c", True, "(i + 4) & 7"),
        ((i - 32) // 8, "c", False, "(int32_t)(i / 8) - 4"),
        ((i - 33) // 8, "c", False, "(int32_t)((i + 7) / 8) - 5"),
        ((i - 4) // 8, "python", False, "(i - 4)//8"),
        ((i - 4) // 8, "python", True, "(i - 4)//8"),
        ((i - 4) // 8, "mlir", False, "affine_map<(i) -> ((i - 4) floordiv 8)>"),
        (j // 8, "rust", False, "j / 8 - i64::from(j % 8 < 0)"),
        (j // 8, "rust", True, "j / 8 - i64::from(j % 8 < 0)"),
        (j // 8, "c", True, "(int64_t)j / 8 - ((int64_t)j % 8 < 0)"),
    ):
        formulas = Formulas("f", "", form.variables(), (("value", form),))
        assert print_formulas(formulas, target, shift=shift) == text


@pytest.mark.parametrize(
    ("lo", "hi", "text"),
    [
        (-1, 2**31 - 8, "(i + 7) / 7 - 1"),  # 2^31 - 1 at most
        (-1, 2**31 - 7, "i / 7 - (i % 7 < 0)"),
        (-(2**31), 2**31 - 1, "i / 7 - (i % 7 < 0)"),
        (-1, 2**31, "((int64_t)i + 7) / 7 - 1"),
        (-(2**31) - 1, 2**31 - 1, "((int64_t)i + 2147483653ll) / 7 - 306783379"),
        (-1, 2**63 - 8, "((int64_t)i + 7) / 7 - 1"),
        (-1, 2**63 - 7, "(int64_t)i / 7 - ((int64_t)i % 7 < 0)"),
        (-1, None, "(int64_t)i / 7 - ((int64_t)i % 7 < 0)"),
        (None, None, "(int64_t)i / 7 - ((int64_t)i % 7 < 0)"),
    ],
)
def test_nothing_is_raised_past_the_type_that_holds_it(
    lo: int | None, hi: int | None, text: str
) -> None:
    assert ml.code("i//7", "c", {"i": (lo, hi)}) == text


def test_a_truncated_quotient_may_be_zero() -> None:
    node = Lowering(TargetArithmetic()).form(variable("i", None, -3) // 7)
    assert node.interval == (None, -1)
    assert node.args[0].interval == (None, 0)


def test_unsigned_operands_without_a_bound_are_raised() -> None:
    bounds = {"i": (0, None), "j": (-5, None)}
    assert function("(i - 4)//7", "c", bounds).count("(int64_t)((i + 3) / 7) - 1") == 1
    assert "% 7 < 0" in function("(2*i + j)//7", "c", bounds)


def test_positive_terms_come_first_where_this_avoids_a_sign() -> None:
    assert ml.code("15 - i%16", "c", {"i": (0, 99)}) == "15 - i % 16"
    assert ml.code("j - 8*i", "c", {"i": (0, 3), "j": (30, 40)}) == "j - 8 * i"


def test_what_is_used_twice_has_a_name() -> None:
    text = function("((3*i + 5*j)//7)%4 + 16*((3*i + 5*j)//28)", "c", {"i": (0, 99), "j": (0, 99)})
    assert text.splitlines()[1:-1] == [
        "    const uint32_t t0 = 5 * j + 3 * i;",
        "    return 12 * (t0 / 28) + t0 / 7;",
    ]


def test_names_of_parts_avoid_the_user_s() -> None:
    text = function("((3*t0 + 5*t1)//7)%4 + 16*((3*t0 + 5*t1)//28)", "python",
                    {"t0": (0, 99), "t1": (0, 99)})  # fmt: skip
    assert "t2 = 5*t1 + 3*t0" in text


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
    with pytest.raises(ml.LayoutError, match="'d0' names two things"):
        ml.code("f32[3]", "c", function=True, name="d0")
    with pytest.raises(ml.LayoutError, match="'is_padding' names two things"):
        ml.code(ml.index_map("f32[3]").inverse, "c", function=True, name="is_padding")
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


def test_values_in_mlir_have_names_of_their_own() -> None:
    text = ml.code("r0 + r2", "mlir", {"r0": (0, 9), "r2": (0, 9)}, function=True)
    assert re.findall(r"%(\w+) =", text) == ["r1"]
    assert "return %r1 : index" in text


def test_every_bounded_variable_is_an_argument() -> None:
    bounds = {"k": (0, 3), "i": (0, 9), "j": (0, 2**40)}
    assert "f(k, i, j)" in ml.code("i//3 + 0*j", "python", bounds, function=True, name="f")
    assert function("i//3", "c", bounds).splitlines() == [
        "static inline uint32_t f(uint32_t k, uint32_t i, uint64_t j) {",
        "    (void)k;",
        "    (void)j;",
        "    return i / 3;",
        "}",
    ]
    with_size = ml.code("i//3", "mlir", {"i": (0, "N - 1"), "N": (1, None)})
    assert with_size == "affine_map<(i)[N] -> (i floordiv 3)>"


def test_formulas_of_users() -> None:
    mine = ml.from_sympy({"i": 6, "j": 8}, "24*(j//4) + 4*i + j%4")
    assert ml.code(mine, "c") == "24 * (j / 4) + 4 * i + j % 4"
    assert ml.code(mine, "rust", function=True).splitlines()[:2] == [
        "/// (i, j) -> 24*(j//4) + 4*i + j%4",
        "/// 0 <= i <= 5, 0 <= j <= 7",
    ]
    first = ml.from_sympy((6, "N"), "4*d0")
    assert "offset(uint32_t d0, uint64_t d1, uint64_t N)" in ml.code(first, "c", function=True)


def test_several_formulas_of_users() -> None:
    mine = ml.from_sympy((6, 8), ("d1//4", "4*d0 + d1%4"))
    assert ml.code(mine, "python") == "x0 = d1//4\nx1 = 4*d0 + d1%4"
    assert function(mine, "c").splitlines() == [
        "static inline void f(uint32_t d0, uint32_t d1, uint32_t *x0, uint32_t *x1) {",
        "    *x0 = d1 / 4;",
        "    *x1 = 4 * d0 + d1 % 4;",
        "}",
    ]
    assert "-> (u32, u32) {" in function(mine, "rust")
    assert ml.code(mine, "mlir") == "affine_map<(d0, d1) -> (d1 floordiv 4, 4 * d0 + d1 mod 4)>"
    scope: dict[str, Any] = {}
    exec(ml.code(mine, "python", function=True, name="f"), scope)
    assert scope["f"](5, 7) == (1, 23) == mine(5, 7)
    for target in TARGETS:
        for whole in (False, True):
            assert ml.code(mine, target, function=whole)


def test_integers_of_numpy_are_bounds_and_dimensions() -> None:
    assert ml.code("i//8", "c", {"i": (np.int64(0), np.int32(31))}) == "i / 8"
    assert ml.index_map("f32[3,5]").modes(np.int64(-1)).contiguous == 5


def test_sizes_in_functions() -> None:
    text = function("(N*i + j)//8", "c", {"i": (0, 7), "j": (0, "N - 1")}, asserts=True)
    assert "f(uint32_t i, uint64_t j, uint64_t N)" in text
    assert "assert(N >= 1);" in text
    assert "assert(j <= N - 1);" in text
    known = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="N % 128 == 0, N <= 4096, M <= 9")
    assert function(known, "rust", asserts=True).splitlines()[1:] == [
        "    assert!(M >= 1);",
        "    assert!(M <= 9);",
        "    assert!(N >= 1);",
        "    assert!(N <= 4096);",
        "    assert!(N % 128 == 0);",
        "    assert!(d0 <= 8);",
        "    assert!(d1 <= N - 1);",
        "    8 * N * (d0 / 8) + 1024 * (d1 / 128) + 128 * (d0 % 8) + d1 % 128",
        "}",
    ]


def test_asserts_of_bounds_that_types_do_not_imply() -> None:
    lines = function("i + j + k", "c", {"i": (1, 9), "j": (0, 2**32 - 1), "k": (-(2**31), 0)},
                     asserts=True).splitlines()  # fmt: skip
    assert [line.strip() for line in lines if "assert" in line] == [
        "assert(i >= 1);",
        "assert(i <= 9);",
        "assert(k <= 0);",
    ]


def test_the_inverse_knows_what_is_assumed() -> None:
    m = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="N % 128 == 0, N <= 4096, M <= 4096")
    text = ml.code(m.inverse, "c", function=True, asserts=True)
    assert "assert(N % 128 == 0);" in text
    assert "assert(M <= 4096);" in text
    assert "coordinates(uint32_t p, uint32_t M, uint32_t N," in text
    assert "of f32[M,N]{1,0:T(8,128)}." in text


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


def test_a_quotient_of_sizes_as_a_divisor() -> None:
    form = variable("i", 0, 99) // exact_quotient(SizeExpr.named("N"), 8)
    formulas = Formulas("f", "", form.variables(), (("value", form),))
    assert print_formulas(formulas, "python") == "i//(N//8)"
    assert print_formulas(formulas, "rust") == "((i as u64) / (N / 8))"[1:-1]


def test_literals_have_the_type_that_is_computed_in() -> None:
    assert function("3000000000 - i", "c", {"i": (0, 2**31)}).count("3000000000u - i") == 1
    form = variable("i", 0, 2**64 - 1) % 10**19
    formulas = Formulas("f", "", form.variables(), (("value", form),))
    assert "i % 10000000000000000000ull;" in print_formulas(formulas, "c", function=True)
    text = function("i - 3000000000", "c", {"i": (0, 2**31)})
    assert "return (int64_t)i - 3000000000ll;" in text


def test_a_partial_sum_past_32_bits_is_wide() -> None:
    i = variable("i", 0, 4 * 10**9)
    form = i + i // 2 - 4 * (i // 8)
    formulas = Formulas("f", "", form.variables(), (("value", form),))
    assert "fn f(i: u32) -> u64 {" in print_formulas(formulas, "rust", function=True)
    less = form - i // 2
    formulas = Formulas("f", "", less.variables(), (("value", less),))
    assert "fn f(i: u32) -> u32 {" in print_formulas(formulas, "rust", function=True)


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


@pytest.mark.parametrize(
    ("assumed", "line"),
    [
        (None, r"& N \ge 1"),
        ("N % 128 == 0", r"& 128 \mid N"),
        ("N % 128 == 0, N <= 4096", r"& 128 \mid N,\ N \le 4096"),
        ("N >= 7", r"& N \ge 7"),
        ("N >= 300, N % 128 == 0", r"& 128 \mid N,\ N \ge 384"),
        ("N <= 7", r"& N \le 7"),
    ],
)
def test_latex_says_what_is_assumed(assumed: str | None, line: str) -> None:
    m = ml.index_map("f32[3,N,N]{2,1,0}", assuming=assumed)
    assert ml.code(m, "latex", function=True).splitlines()[-2] == line


def test_latex_of_multiples_of_exact_quotients() -> None:
    m = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="N % 128 == 0")
    assert ml.code(m, "latex").startswith(r"8 N \left\lfloor \frac{d_{0}}{8} \right\rfloor + 1024")


def test_the_options_differ() -> None:
    """Else the cases would run one text four times."""
    case: Case = next(c for c in cases() if c.label.startswith("bf16[19,140]"))
    assert len({case.code("c", **options) for options in OPTIONS}) == len(OPTIONS)


def test_the_cheapest_form_depends_on_shifts() -> None:
    """A mask costs less than a product; a remainder does not."""
    text, bounds = "32*(i//8) + i%8", {"i": (0, 63)}
    assert ml.code(text, "c", bounds, simplified="cheapest") == "24 * (i / 8) + i"
    shifted = ml.code(text, "c", bounds, simplified="cheapest", shift=True)
    assert shifted == "((i >> 3) << 5) + (i & 7)"


def test_few_cases_need_unsigned_words() -> None:
    unsigned = [case.label for case in cases() if not has_signed_words(case)]
    assert len(unsigned) == 3, unsigned


def product_of_matrices() -> dict[str, ml.IndexMap]:
    a = ml.index_map("bf16[64,32]{1,0:T(8,128)(2,1)}", names="i, k")
    b = ml.index_map("[1, 0, 1 p(16)]", (32, 48), names="k, j")
    return {"a": a, "b": b, "c": ml.index_map("[0, 1]", (64, 48), names="i, j")}


def test_several_maps_in_one_function() -> None:
    maps = product_of_matrices()
    assert ml.code(maps, "c", function=True, name="places").splitlines()[2:7] == [
        "// a: Offset of element (i, k) of bf16[64,32]{1,0:T(8,128)(2,1)}, in elements.",
        "// b: Offset of element (k, j) of [1, 0, 1 p(16)] at 32x48, in elements.",
        "// c: Offset of element (i, j) of [0, 1] at 64x48, in elements.",
        "// Results: 0 <= a <= 7999, 0 <= b <= 1535, 0 <= c <= 3071",
        "// 0 <= i <= 63, 0 <= k <= 31, 0 <= j <= 47",
    ]
    assert ml.code(list(maps.values())[1:], "python").splitlines() == [
        "offset0 = 512*(j//16) + 16*k + j%16",
        "offset1 = 48*i + j",
    ]


def test_several_maps_share_their_parts() -> None:
    a = ml.index_map("[1, 0, 1 p(16)]", (32, 48), names="k, j")
    text = ml.code({"a": a, "bytes": a.address(bits=16)}, "rust", function=True)
    assert text.count("j / 16") == 1
    assert text.count("j % 16") == 1


def test_a_name_is_one_coordinate_in_all_maps() -> None:
    maps = product_of_matrices()
    with pytest.raises(ml.ShapeError, match=r"i: expected one range in all maps, got 0\.\.63 and"):
        ml.code({**maps, "d": ml.index_map("[0, 1]", (8, 48), names="i, j")})
    with pytest.raises(ml.LayoutError, match="inverse: expected a map from coordinates"):
        ml.code({"inverse": maps["a"].inverse})
    with pytest.raises(ml.LayoutError, match="'i' names two things"):
        ml.code({"i": maps["a"], "b": maps["b"]}, "c", function=True)
    with pytest.raises(ml.LayoutError, match="'int' is not a name in C"):
        ml.code({"int": maps["a"], "b": maps["b"]}, "c", function=True)
