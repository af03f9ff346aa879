"""Views of an array, beside NumPy's own indexing."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.tables import each_row
from tests.support.views import BASES, random_chain


def check_chain(seed: int, steps: int | None = None) -> None:
    """Compare a random chain with NumPy's; of ``steps`` views, else of 1 to 5."""
    random = Random(seed)
    base = random.choice(BASES)
    m = ml.index_map(base)
    chain, offsets = random_chain(m(*np.indices(m.shape)), random, steps or random.randint(1, 5))
    for name, argument in chain:
        m = m.view(**{name: argument})
    what = f"{seed}: {base} {chain}"
    assert m.shape == offsets.shape, what
    assert (m(*np.indices(m.shape)) == offsets).all(), what
    first, counts = np.unique(offsets, return_counts=True)
    assert m.padding == m.size - len(first), what
    if (counts == 1).all():
        slots = np.full(m.size, -1)
        slots[offsets.reshape(-1)] = np.arange(offsets.size)
        found = m.coordinates(np.arange(m.size))
        right = np.unravel_index(np.maximum(slots, 0), offsets.shape)
        for x, y in zip(found, right, strict=True):
            assert (x == np.where(slots < 0, -1, y)).all(), what


def test_chains_of_views_are_numpys() -> None:
    for seed in range(150):
        check_chain(seed)


@pytest.mark.slow
def test_many_chains_of_views_are_numpys() -> None:
    for seed in range(1000, 6000):
        check_chain(seed)


TILED = "f32[M,N]{1,0:T(8,128)}"


@each_row(
    ("operations", "sizes", "text"),
    [
        ({"index": (slice(None, 4),)}, (4, "N"), "1024*(d1//128) + 128*d0 + d1%128"),
        ({"index": (2, slice(None, 5))}, (5,), "d0 + 256"),
        ({"reverse": 0}, ("M", "N"), None),
        ({"windows": {0: (3, 2)}}, None, None),
        ({"index": (slice("s"), slice("s")), "diagonal": (0, 1)}, ("s",), None),
        ({"broadcast": ("K", "M", "N")}, ("K", "M", "N"), None),
        ({"index": (slice("s", None), ...)}, None, None),
        ({"transpose": (1, 0), "index": (None, 3)}, (1, "M"), None),
    ],
)
def test_symbolic_sizes(operations: Any, sizes: Any, text: str | None) -> None:
    m = ml.index_map(TILED)
    view = m.view(**operations)
    if sizes is not None:
        assert tuple(map(str, view.shape)) == tuple(map(str, sizes))
    assert text is None or str(view).endswith(f"-> {text}")
    numbers = {"M": 21, "N": 300, "K": 2, "s": 5}
    own = {name: numbers[name] for name in view.recipe.names}
    own |= {name: numbers[name] for name in view.reference_form.sizes()}
    concrete = {k: v for k, v in numbers.items() if k in ("M", "N")}
    at = {
        name: tuple(numbers.get(n, n) if isinstance(n, str) else n for n in given)
        if isinstance(given, tuple) and name == "broadcast"
        else given
        for name, given in operations.items()
    }
    if "s" in own:
        five = slice(5, None), ...
        at["index"] = five if "diagonal" not in at else (slice(5), slice(5))
    right = m.at(**concrete).view(**at)
    found = view.at(**own)
    assert found.shape == right.shape
    grid = np.indices(found.shape)
    assert (found(*grid) == right(*grid)).all()


PLACES = (("i:i+8", ":"), ("8*i:8*i + 8", "128*j:128*j + 128"), ("i", "j:j+5"), ("i:", ":j"))


@each_row("text, index", [(x, p) for x in (TILED, "f32[M,N]{0,1}", "bf16[M,N]{1,0:T(8,128)(2,1)}")
                          for p in PLACES])  # fmt: skip
def test_starts_with_names(text: str, index: tuple[str, str]) -> None:
    def part(given: str, values: dict[str, int]) -> Any:
        ends = [end.strip() or None for end in given.split(":")]
        at = [end and (eval(end, {}, values) if values else end) for end in ends]
        return at[0] if len(at) == 1 else slice(*at)

    m = ml.index_map(text)
    view = m[tuple(part(given, {}) for given in index)]
    for i, j in ((0, 0), (1, 0), (0, 1), (3, 2)):
        given = {"M": 40, "N": 512, "i": i, "j": j}
        own = {name: given[name] for name in view.recipe.names}
        if j == 0 and index[1] == ":j":
            continue
        right = m.at(M=40, N=512)[tuple(part(one, given) for one in index)]
        grid = np.indices(right.shape)
        assert (view.at(**own)(*grid) == right(*grid)).all()
        values = {**given, **{f"d{k}": x for k, x in enumerate(grid)}}
        assert (view.form.evaluate(values) == right(*grid)).all()


def test_a_tile_at_a_block_is_plain() -> None:
    tile = ml.index_map(TILED)["8*i":"8*i + 8", "128*j":"128*j + 128"]
    assert str(tile) == "(d0, d1) -> 128*d0 + d1 + 1024*ceil(N/128)*i + 1024*j"
    assert [str(one) for one in tile.assumptions] == ["i >= 0", "j >= 0"]
    assert ml.verify(tile).holds


def test_an_index_of_integers_is_an_offset() -> None:
    m = ml.index_map("f32[16,256]{1,0:T(8,128)}")
    assert m[2, 3] == m(2, 3) == m[2:, 3][0] == m[-14, ::-1][252]
    assert m[2:10, ::2].shape == (8, 128)


def test_views_are_proved() -> None:
    m = ml.index_map(TILED)
    assert ml.is_injective(m[::2, ::-1]).holds
    assert str(ml.is_injective(m.view(windows={0: (3, 1)})).condition) == "M <= 3"
    assert ml.verify(m.view(windows={0: (3, 1)})).holds
    assert ml.verify(m[3:, 1::3].at(M=20, N=150)).holds


def test_slices_of_more_elements_than_64_bits_count() -> None:
    m = ml.index_map("{0}", (10**30,))
    assert m[5::3].shape == ((10**30 - 5) // 3 + 1,)
    assert m[9::-7].shape == (2,)
    assert m[5:9:-7].shape == (0,)


def test_empty_views_and_new_dimensions() -> None:
    m = ml.index_map("f32[4,6]{1,0:T(2,4)}")
    for view in (m[1:1], m[:, 5:2], m[2:2, None], m[0:0].view(broadcast=(3, 0, 6))):
        proof = ml.is_injective(view)
        assert (proof.holds, proof.assumptions, view.padding) == (True, (), view.size)
        assert ml.verify(view).holds
    assert m[3, None, 5].shape == (1,)
    assert m[3, None, 5](0) == m(3, 5)


@each_row(
    "text, operations, shape",
    [
        ("f32[3,0]{1,0}", {"reshape": (0, 5)}, (0, 5)),
        ("f32[3,0]{1,0:T(2,2)}", {"reshape": (2, -1)}, (2, 0)),
        ("f32[0,4]{1,0}", {"tiles": (3, 2)}, (0, 2, 3, 2)),
        ("f32[1,1]{1,0:T(2,2)}", {"reshape": ()}, ()),
        ("f32[]", {"reshape": (1, 1)}, (1, 1)),
    ],
)
def test_reshapes_of_nothing_and_of_one_element(
    text: str, operations: Any, shape: tuple[int, ...]
) -> None:
    view = ml.index_map(text).view(**operations)
    assert view.shape == shape
    assert np.shape(view(*np.indices(shape))) == shape
    assert ml.verify(view).holds


def test_a_formula_is_a_map() -> None:
    formula = ml.from_sympy(("M", "N"), "16*((N + 15)//16)*d0 + d1")
    m = ml.index_map(formula)
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds
    assert m.at(M=3, N=20).coordinates(33) == (1, 1)
    view = m[::2, 3:]
    assert str(view.shape) == "(ceiling(M/2), N - 3)"


def test_a_composition_is_a_view() -> None:
    tiled = ml.index_map("f32[4,6]{1,0:T(2,2)}")
    turned = tiled.compose(ml.from_sympy({"shape": (6, 2)}, ("3 - 2*d1", "d0")))
    assert [turned(i, j) for i in range(6) for j in range(2)] == [
        tiled(3 - 2 * j, i) for i in range(6) for j in range(2)
    ]
    assert turned.coordinates(tiled(1, 4)) == (4, 1)


@each_row(
    "text, chain",
    [
        ("f32[M,N]{1,0:T(4,8)}", {"reshape": "M*N"}),
        ("f32[M,N]{0,1}", {"reshape": -1}),
        ("f32[M,N]{1,0:T(4,8)}", {"reshape": ("N", "M"), "transpose": (1, 0)}),
        ("f32[M,N,3]{1,2,0}", {"transpose": (1, 0, 2), "reshape": ("M*N", 3), "reverse": 0}),
        ("f32[M,N,3]{2,1,0:T(4,8)}", {"reshape": ("M", "3*N")}),
    ],
)
def test_reshapes_by_symbolic_sizes(text: str, chain: dict[str, Any]) -> None:
    m = ml.index_map(text)
    view = m.view(**chain)
    assert ml.is_injective(view).holds is not False
    for sizes in ({"M": 5, "N": 9}, {"M": 1, "N": 7}, {"M": 6, "N": 1}):
        base = m.at(**sizes)
        expected = base(*np.indices(base.shape))
        for name, given in chain.items():
            if name == "reshape":
                names = [str(n) for n in (given if isinstance(given, tuple) else (given,))]
                products = [[sizes.get(x) or int(x) for x in n.split("*")] for n in names]
                expected = expected.reshape([int(np.prod(each)) for each in products])
            elif name == "transpose":
                expected = expected.transpose(given)
            else:
                expected = np.flip(expected, given)
        sized = view.at(**sizes)
        assert np.array_equal(sized(*np.indices(sized.shape)), expected), sizes
