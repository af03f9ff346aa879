"""What the printed formulas are run on: inputs, and what the recipe's array says of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr, variable
from morello_layouts.core.expr.affine import digit
from morello_layouts.core.recipe import linear_index, pack_array, physical_coordinates
from morello_layouts.outputs.codegen import Formulas

OPTIONS: tuple[dict[str, Any], ...] = tuple(
    {"simplified": simplified, "shift": shift}
    for simplified in ("readable", "cheapest")
    for shift in (False, True)
)


@dataclass(frozen=True)
class Case:
    """A value with formulas; rows of arguments; rows of results, None if any result will do.

    Attributes:
        arguments: values of the variables, then of the sizes, in the order of the function's.
        statements: whether code prints lines rather than an expression.
    """

    label: str
    of: Any
    arguments: Sequence[tuple[int, ...]]
    results: Sequence[tuple[int | None, ...]]
    bounds: dict[str, Any] | None = None
    names: tuple[str, ...] = ()
    statements: bool = False

    def code(self, target: str, **options: Any) -> str:
        return ml.code(self.of, target, self.bounds, **options)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names that the lines give to the results."""
        if isinstance(self.of, dict):
            return tuple(self.of)
        rank = len(self.results[0]) - 1
        if isinstance(self.of, ml.maps.Inverse):
            return (*(f"d{k}" for k in range(rank)), "is_padding")
        return ("source_offset", "is_padding")


def offsets(m: ml.IndexMap) -> dict[tuple[int, ...], int]:
    """The offset of each coordinate, from the recipe's reading of arrays."""
    count = int(np.prod(m.shape))
    numbered = np.arange(1, count + 1).reshape(m.shape)
    buffer = pack_array(m.recipe, numbered, 0)
    return {
        tuple(int(x) for x in np.unravel_index(n - 1, m.shape)): p
        for p, n in enumerate(buffer.tolist())
        if n
    }


SMALL = [
    ("f32[7,9]{1,0}", None),
    ("f32[7,9]{0,1}", None),
    ("f32[19,300]{1,0:T(8,128)}", None),
    ("bf16[19,140]{1,0:T(8,128)(2,1)}", None),
    ("s8[70,130]{1,0:T(32,128)(4,1)}", None),
    ("f32[2,5,7]{2,0,1:T(2,4)}", None),
    ("f32[3,5,7]{2,1,0:T(2,*,4)}", None),
    ("f32[20,20]{1,0:T(6,6)(4,4)}", None),
    ("f32[11]{0:L(16)}", None),
    ("f32[1,1]{1,0:T(8,128)}", None),
    ("f32[1,5]{1,0}", None),
    ("f32[]", None),
    ("[1, 0, 1 p(4)]", (6, 8)),
    ("[0, 1, 0 oe(4)]", (8, 6)),
    ("NCHW", (2, 3, 4, 5)),
    ("[0, 1, 2, 3, 1 p(4)]", (2, 8, 3, 3)),
]

LARGE = [
    "s8[50000,50001]{1,0:T(8,128)}",  # between 2^31 and 2^32
    "f32[90000,70000]{1,0:T(8,128)}",
    "bf16[70000,80001]{0,1:T(8,128)(2,1)}",
    "s8[3,5000000000]{1,0:T(2,128)}",  # a dimension past 2^32
    "s8[5000000007,3]{0,1:T(3,5)}",
    "s8[300000,7,300000]{2,1,0:T(2,*,100)}",
]

SYMBOLIC = [
    "f32[{M},{N}]{{1,0}}",
    "f32[{M},{N}]{{1,0:T(8,128)}}",
    "bf16[{M},{N}]{{0,1:T(8,128)(2,1)}}",
    "f32[{M},{N}]{{1,0:T(3,5)}}",
]

RELAYOUTS = [
    ("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}"),
    ("f32[9,11]{0,1:T(3,5)}", "f32[9,11]{1,0:T(4,2)}"),
    ("bf16[19,130]{1,0:T(8,128)}", "bf16[19,130]{1,0:T(8,128)(2,1)}"),
]

EXPRESSIONS: list[tuple[str, dict[str, tuple[int | None, int | None]]]] = [
    ("(32*i + j)//8", {"i": (0, 31), "j": (0, 31)}),
    ("(i - 40)//7 + (i - 40)%7", {"i": (0, 100)}),
    ("i//8", {"i": (None, None)}),
    ("i%6 - 3*(j//5)", {"i": (None, None), "j": (None, 30)}),
    ("(i//7)%5 + 3*((i + j)//64)", {"i": (None, None), "j": (-5, None)}),
    ("-(i//3) - 2*j", {"i": (0, 50), "j": (0, 2**33)}),
    ("(-i)//3 + (-i)%8", {"i": (0, 50)}),
    ("-(i//3)", {"i": (0, 50)}),
    ("-(i%7) - 1", {"i": (0, 50)}),
    ("15 - i%16", {"i": (0, 99)}),
    ("8*i + (j ^ i%8)", {"i": (0, 99), "j": (0, 7)}),
    ("3*((i - 40) ^ j) - ((i + j) ^ 5)//3", {"i": (0, 100), "j": (-5, 9)}),
    ("(i ^ 2*((i//8)%4)) + (j ^ i)%6", {"i": (0, 2**33), "j": (0, 99)}),
    ("1000000*i - 999999*j", {"i": (0, 3000), "j": (0, 3000)}),
    ("65536*i + j", {"i": (0, 65535), "j": (0, 65535)}),
    ("65536*i + j", {"i": (0, 65536), "j": (0, 65535)}),
    ("32768*i + j", {"i": (0, 65535), "j": (0, 32767)}),
    ("(7*i - 3*j)//4 % 5", {"i": (-10, 10), "j": (-10, 10)}),
    ("i%4294967296 + j", {"i": (0, 2**40), "j": (0, 9)}),
    ("(i//3)%1000 + (i//7)%11", {"i": (0, 10**12)}),
    ("i - 2147483648", {"i": (0, 2**32 - 1)}),
    ("i + j", {"i": (-(2**31), 2**31 - 1), "j": (0, 1)}),
    ("i + 1", {"i": (0, 2**63 - 2)}),
    ("i//2", {"i": (0, 2**64 - 1)}),
    ("((3*i + 5*j)//7)%4 + 16*((3*i + 5*j)//28)", {"i": (0, 99), "j": (0, 99)}),
    ("-4294967296*(i//5) + i", {"i": (-7, 7)}),
    ("5*i - 4294967300", {"i": (0, 7)}),
    ("(i - j)//8", {"i": (0, 10), "j": (0, None)}),  # negative, of variables that are not
    ("-i - j//3", {"i": (0, 2**32 - 1), "j": (None, None)}),
    ("3000000000 - i", {"i": (0, 2**31)}),
    ("7", {}),
    ("-7", {}),
    ("-2147483649", {}),
    ("-9223372036854775807 - 1", {}),
    ("-4294967297*(i//8)", {"i": (8, 15)}),  # nothing is left but a number
]


# At the end of 64 bits: a step too far would be undefined behaviour.
EXTREMES = [
    "i//7", "i//8", "i%7", "i//2", "i//(2**62)", "i%(2**62)", "(i//7)%5", "i//7 - 3*(i//1000)",
    "i%(2**31 - 1)", "i//(2**31 - 1)", "(i//3)%(2**31 - 5)",
]  # fmt: skip


def _of_extremes() -> Iterator[Case]:
    end = 2**63
    near = [-1, 0, 1, *range(-end, -end + 9), *range(end - 9, end), -(2**31), 2**31 - 1]
    for text in EXTREMES:
        edges = [(None, None), (-end, end - 1), (-7, None), (-7, end - 1), (None, 7)]
        for bounds in (*edges, (-(2**31), 2**31 - 1)):
            lo = -end if bounds[0] is None else bounds[0]
            hi = end - 1 if bounds[1] is None else bounds[1]
            rows = [(i,) for i in near if lo <= i <= hi]
            values = [(eval(text, {}, {"i": i}),) for (i,) in rows]
            yield Case(f"{text} {bounds}", text, rows, values, {"i": bounds}, ("i",))


def _corner_values(lo: int | None, hi: int | None, r: random.Random) -> list[int]:
    least = -(10**12) if lo is None else lo
    most = 10**12 if hi is None else hi
    near = [least, least + 1, most - 1, most, 0, -1, 1, 7, 8]
    near += [r.randint(least, most) for _ in range(24)]
    return sorted({x for x in near if least <= x <= most})


def _of_expressions() -> Iterator[Case]:
    r = random.Random(6)
    for text, bounds in EXPRESSIONS:
        rows = list(product(*(_corner_values(*ends, r) for ends in bounds.values())))
        values = [(eval(text, {}, dict(zip(bounds, row, strict=True))),) for row in rows]
        named = tuple(bounds)
        yield Case(f"{text} {bounds}", text, rows, values, bounds, named)


def _of_small() -> Iterator[Case]:
    for text, shape in SMALL:
        m = ml.index_map(text, shape)
        found = offsets(m)
        names = tuple(f"d{k}" for k in range(len(m.shape)))
        yield Case(text, m, list(found), [(p,) for p in found.values()], names=names)
        at = {p: x for x, p in found.items()}
        padding = ((None,) * len(m.shape)) + (1,)
        rows = [(*at[p], 0) if p in at else padding for p in range(m.size)]
        offsets_ = [(p,) for p in range(m.size)]
        yield Case(f"{text} back", m.inverse, offsets_, rows, names=("p",), statements=True)


def _of_relayouts() -> Iterator[Case]:
    for a, b in RELAYOUTS:
        r = ml.relayout(a, b)
        source, target = offsets(r.source), offsets(r.target)
        at = {p: source[x] for x, p in target.items()}
        rows = [(at[p], 0) if p in at else (None, 1) for p in range(r.target.size)]
        count = [(p,) for p in range(r.target.size)]
        yield Case(f"{a} to {b}", r, count, rows, names=("p",), statements=True)


def _of_formula_maps() -> Iterator[Case]:
    mine = ml.from_sympy({"shape": (6, 8)}, "24*(d1//4) + 4*((d0 + 2)%6) + d1%4 - 7")
    rows = list(product(range(6), range(8)))
    found = [(24 * (j // 4) + 4 * ((i + 2) % 6) + j % 4 - 7,) for i, j in rows]
    yield Case("a user's map", mine, rows, found, names=("d0", "d1"))


PRODUCTS = [
    ("f32[{i},{k}]{{1,0:T(8,128)}}", "f32[{k},{j}]{{1,0:T(8,128)}}", "f32[{i},{j}]{{0,1}}"),
    ("bf16[{i},{k}]{{1,0:T(8,128)(2,1)}}", "bf16[{k},{j}]{{0,1:T(4,8)}}", "f32[{i},{j}]"),
]


def _of_several() -> Iterator[Case]:
    """The three arrays of a matrix product, of numbers and of symbolic sizes."""
    numbers = {"i": 9, "k": 7, "j": 10}
    rows = list(product(*map(range, numbers.values())))
    for texts in PRODUCTS:
        given = [ml.index_map(text.format(**numbers)) for text in texts]
        results = [(given[0](i, k), given[1](k, j), given[2](i, j)) for i, k, j in rows]
        for sizes in (numbers, {"i": "I", "k": "K", "j": "J"}):
            names = zip(("i, k", "k, j", "i, j"), texts, strict=True)
            maps = [ml.index_map(text.format(**sizes), names=own) for own, text in names]
            of = dict(zip("abc", maps, strict=True))
            is_symbolic = sizes is not numbers
            arguments = [(*row, 9, 10, 7) for row in rows] if is_symbolic else rows
            named = (*numbers, *("I", "J", "K")[: 3 * is_symbolic])
            yield Case(f"{texts} {sizes}", of, arguments, results, names=named, statements=True)


def _of_large() -> Iterator[Case]:
    r = random.Random(31)
    for text in LARGE:
        m = ml.index_map(text)
        ends = [[0, 1, n // 2, n - 2, n - 1, *(r.randrange(n) for _ in range(3))] for n in m.shape]
        rows = sorted(set(product(*ends)))
        physical = m.recipe.physical_shape
        found = [linear_index(physical_coordinates(m.recipe, x, 0), physical, 0) for x in rows]
        assert max(found) > 2**31
        names = tuple(f"d{k}" for k in range(len(m.shape)))
        yield Case(text, m, rows, [(p,) for p in found], names=names)
        back = [(*x, 0) for x in rows]
        more = [r.randrange(m.size) for _ in range(50)] + [m.size - 1]
        padding = ((None,) * len(m.shape)) + (1,)
        back += [padding if (x := m.coordinates(p)) is None else (*x, 0) for p in more]
        ps = [(p,) for p in (*found, *more)]
        yield Case(f"{text} back", m.inverse, ps, back, names=("p",), statements=True)


AT_THE_EDGE = [
    ("f32[M,N]{1,0:T(8,128)}", {"M": 60000, "N": 70000}),  # offsets up to 2^32
    ("f32[M,N]{1,0:T(8,128)}", {"M": 90000, "N": 70000}),
    ("f32[M,N]{0,1:T(3,5)}", {"M": 46000, "N": 46600}),  # up to 2^31
    ("bf16[M,N]{0,1:T(8,128)(2,1)}", {"M": 46000, "N": 46600}),
    ("f32[N,M,N]{2,0,1:T(2,4)}", {"M": 1000, "N": 2050}),
]


def _of_bounded_sizes() -> Iterator[Case]:
    """At the largest sizes that are assumed: types that were too small would overflow."""
    r = random.Random(32)
    for text, most in AT_THE_EDGE:
        m = ml.index_map(text, assuming={name: (1, n) for name, n in most.items()})
        given = m.at(**most)
        label = f"{text} up to {most}"
        ends = [[0, n - 1, n // 2, r.randrange(n)] for n in given.shape]
        at = sorted(set(product(*ends)))
        physical = given.recipe.physical_shape
        found = [linear_index(physical_coordinates(given.recipe, x, 0), physical, 0) for x in at]
        names = tuple(f"d{k}" for k in range(len(m.shape)))
        sizes = tuple(most.values())
        rows = [(*x, *sizes) for x in at]
        yield Case(label, m, rows, [(p,) for p in found], names=(*names, *most))
        more = [r.randrange(given.size) for _ in range(50)] + [given.size - 1]
        padding = ((None,) * len(m.shape)) + (1,)
        back = [(*x, 0) for x in at]
        back += [padding if (x := given.coordinates(p)) is None else (*x, 0) for p in more]
        ps = [(p, *sizes) for p in (*found, *more)]
        named = ("p", *most)
        yield Case(f"{label} back", m.inverse, ps, back, names=named, statements=True)


def _of_symbolic() -> Iterator[Case]:
    for text in SYMBOLIC:
        m = ml.index_map(text.format(M="M", N="N"))
        small = ml.index_map(text.format(M="M", N="N"), assuming="M <= 40, N <= 300")
        rows, results, back, coordinates = [], [], [], []
        for sizes in ((1, 1), (8, 128), (19, 130), (3, 257)):
            given = ml.index_map(text.format(M=sizes[0], N=sizes[1]))
            found = offsets(given)
            at = {p: x for x, p in found.items()}
            rows += [(*x, *sizes) for x in found]
            results += [(p,) for p in found.values()]
            back += [(p, *sizes) for p in range(given.size)]
            coordinates += [(*at[p], 0) if p in at else (None, None, 1) for p in range(given.size)]
        names = ("d0", "d1", "M", "N")
        yield Case(text, m, rows, results, names=names)
        yield Case(f"{text} small", small, rows, results, names=names)
        # The inverse of a layout whose formula needs no M has none either, but for the padding.
        inverse = ("p", "M", "N")
        yield Case(f"{text} back", m.inverse, back, coordinates, names=inverse, statements=True)


def _random_form(r: random.Random, *, swizzled: bool) -> AffineExpr:
    """A sum of digits of sums of digits, which nobody has simplified."""
    ends = [(0, 31), (-7, 9), (-40, -3), (0, 70000), (-(2**31), 2**31 - 1), (0, 2**33)]
    operands = [variable(name, *r.choice(ends)) for name in ("i", "j", "k")]
    for _ in range(4):
        form = AffineExpr((), r.choice([0, 1, -4, 100]))
        for part in r.sample(operands, 2):
            form = form + part * r.choice([1, -1, 2, 3, -5, 8, 64, -1000])
        form = form // r.choice([1, 2, 3, 8, 1000])
        form = form ^ r.choice(operands) if swizzled else form
        operands.append(form % r.choice([2, 7, 16, 1024]) if r.random() < 0.5 else form)
    return operands[-1]


def _awkward_forms() -> list[AffineExpr]:
    i, j = variable("i", 0, 4 * 10**9), variable("j", 0, 2**64 - 1)
    return [
        i + i // 2 - 4 * (i // 8),  # a partial sum is past 2^32, the result is not
        j % 10**19,  # no literal without a suffix
        j // 10**19 + i,
        # The product of the two numbers would overflow, the product of each and what follows not.
        65536 * digit(65536 * variable("k", 0, 2**20), 1, None),
    ]


def _of_random() -> Iterator[Case]:
    r = random.Random(4)
    forms = _awkward_forms()
    forms += [_random_form(r, swizzled=k >= 24) for k in range(36)]
    for k, form in enumerate(forms):
        formulas = Formulas("f", str(form), form.variables(), (("value", form),))
        names = tuple(var.name for var in form.variables())
        ends = [var.interval for var in form.variables()]
        rows = [
            tuple(r.choice([lo, hi, r.randint(lo, hi)]) for lo, hi in ends)  # type: ignore[arg-type]
            for _ in range(60)
        ]
        found = [(int(form.evaluate(dict(zip(names, row, strict=True)))),) for row in rows]
        yield Case(f"random {k}: {form}", formulas, rows, found, names=names)  # type: ignore[arg-type]


@cache
def cases() -> tuple[Case, ...]:
    """All cases, made once."""
    makers = (
        _of_small, _of_relayouts, _of_expressions, _of_formula_maps, _of_large, _of_symbolic,
        _of_bounded_sizes, _of_random, _of_extremes, _of_several,
    )  # fmt: skip
    return tuple(case for maker in makers for case in maker())


@cache
def signed_cases() -> tuple[Case, ...]:
    """The cases that MLIR and Triton can write."""
    return tuple(filter(has_signed_words, cases()))


def has_signed_words(case: Case) -> bool:
    """Whether the bounds of all values fit 64 bits with a sign, as MLIR and Triton have them."""
    try:
        case.code("mlir", function=True)
    except ml.UnsupportedError:
        return False
    return True
