"""Vectors of CPUs, tiles of ZA and NKI's tensors: the loops and tables of their documents."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import elements_by_slot
from morello_layouts.notations.fragments import FragmentLayout
from tests.support.paths import rows
from tests.support.tables import each_row

RANDOM = np.random.default_rng(33)


def fragment(text: str) -> FragmentLayout:
    layout = ml.parse(text)
    assert isinstance(layout, FragmentLayout)
    return layout


# MLIR's TileAllocation.cpp: the tiles of 128 bits that a tile overlaps, the first one highest.
MASKS = {
    "b": [0xFFFF],
    "h": [0xAAAA, 0x5555],
    "s": [0x8888, 0x4444, 0x2222, 0x1111],
    "d": [0x8080, 0x4040, 0x2020, 0x1010, 0x0808, 0x0404, 0x0202, 0x0101],
}


@each_row("length", [128, 256, 512, 2048])
def test_tiles_of_za_overlap_as_llvm_says(length: int) -> None:
    def taken(text: str) -> np.ndarray:
        m = ml.index_map(f"svl{length} {text}")
        found = np.zeros(m.size, bool)
        found[m(*np.indices(m.shape))] = True
        return np.repeat(found, fragment(f"svl{length} {text}").element.bits // 8)

    quads = [taken(f"za{q}.q") for q in range(16)]
    assert (sum(quads, np.zeros(length * length // 64, int)) == 1).all()
    for letter, masks in MASKS.items():
        for tile, mask in enumerate(masks):
            own = [quads[q] for q in range(16) if mask >> (15 - q) & 1]
            assert (taken(f"za{tile}.{letter}") == np.logical_or.reduce(own)).all()


@each_row("text, places", rows("qemu_vectors.tsv.xz"))
def test_vectors_of_qemu(text: str, places: str) -> None:
    """The element in each place of ZA after ``str za``, and of registers after ``vid`` or loads."""
    layout = fragment(text)
    first, count = elements_by_slot(layout.recipe(layout.shape))
    assert np.where(count, first, -1).reshape(-1).tolist() == [int(x) for x in places.split()]


def test_rows_of_a_tile_of_za_take_turns() -> None:
    m = ml.index_map("svl512 za1.s")
    assert dict(m.place(2, 3)) == {"vector": 9, "element": 3}
    assert m.element(vector=8, element=3) is None
    assert ml.index_map("SVL128 ZA0.B").size == 256


OUTER = [
    ("svmopa_za32_s8_m", 4), ("svmopa_za32[_bf16]_m", 2), ("svmops_za64_f64_m", 1),
    ("svusmopa_za64_u16_m", 4), ("svmopa_za32_s16_m", 2), ("svmopa_za16_f16_m", 1),
]  # fmt: skip


@each_row("name, k", OUTER)
def test_outer_products_of_sme(name: str, k: int) -> None:
    """DDI 0602: a container of a vector holds k elements of a row of A, or of a column of B."""
    first, second = (ml.index_map(f"svl256 {name} {x}") for x in "AB")
    n = first.shape[0]
    assert (first.shape, second.shape) == ((n, k), (k, n))
    a, b = RANDOM.integers(9, size=(n, k)), RANDOM.integers(9, size=(k, n))
    one, other = ml.pack(first, a).reshape(n, k), ml.pack(second, b).reshape(n, k)
    tile = np.array([[(one[row] * other[column]).sum() for column in range(n)] for row in range(n)])
    assert (tile == a @ b).all()


def test_signs_of_an_outer_product() -> None:
    names = "svsumopa_za32_s8_m A", "svsumopa_za32_s8_m B", "svusmopa_za32_u8_m B"
    assert [str(fragment(f"svl256 {name}").element) for name in names] == ["s8", "u8", "s8"]


# RISC-V's manual, "Mapping of Vector Elements to Vector Register State": VLEN, the elements of
# each register from the lowest byte on. None are bytes of no element.
REGISTERS = [
    ("zvl64b vint32m2_t", 2, [[0, 1], [2, 3]]),
    ("zvl128b vint32m4_t", 4, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]),
    ("zvl128b vuint8mf4_t", 16, [[0, 1, 2, 3]]),
    ("zvl128b vfloat16mf4_t", 8, [[0, 1]]),
    ("zvl128b vint32mf2_t", 4, [[0, 1]]),
    ("zvl128b vint64m4_t", 2, [[0, 1], [2, 3], [4, 5], [6, 7]]),
    ("zvl256b vbfloat16m1_t", 16, [[*range(16)]]),
]


@each_row("text, places, registers", REGISTERS)
def test_register_groups_of_risc_v(text: str, places: int, registers: list[list[int]]) -> None:
    m = ml.index_map(text)
    assert m.physical_shape == (len(registers), places)
    for vreg, held in enumerate(registers):
        for place in range(places):
            wanted = (held[place],) if place < len(held) else None
            assert m.element(vreg=vreg, element=place) == wanted


def test_a_tuple_of_risc_v_has_a_group_for_each_field() -> None:
    m = ml.index_map("zvl128b vint16m2x3_t")
    assert m.shape == (3, 16)
    assert [dict(m.place(f, 9)) for f in range(3)] == [
        {"vreg": 2 * f + 1, "element": 1} for f in range(3)
    ]
    assert dict(ml.index_map("zvl128b vint16mf2x3_t").place(2, 3)) == {"vreg": 2, "element": 3}


# SpacemiT's table "MAC unit for different vl and SEW": M, K and copies.
UNITS = {
    128: (2, (8, 4, 2), 2), 256: (4, (16, 8, 4), 1), 512: (4, (16, 8, 4), 2),
    1024: (8, (32, 16, 8), 1), 2048: (8, (32, 16, 8), 2), 4096: (16, (64, 32, 16), 1),
}  # fmt: skip


@each_row("length, bits", product(UNITS, (4, 8, 16)))
def test_dot_products_of_spacemit(length: int, bits: int) -> None:
    """The loop of the document; C as its demo stores it, and as its figure draws it."""
    m, depths, copies = UNITS[length]
    k = depths[(4, 8, 16).index(bits)]
    first, second = (ml.index_map(f"zvl{length}b e{bits} vmadotsu {x}") for x in "AB")
    lead = (copies,) if copies > 1 else ()
    assert (first.shape, second.shape) == ((*lead, m, k), (*lead, k, m))
    assert first.size == second.size == length // bits
    a, b = RANDOM.integers(9, size=first.shape), RANDOM.integers(9, size=second.shape)
    vs1, vs2 = ml.pack(first, a).reshape(-1), ml.pack(second, b).reshape(-1)
    c = np.zeros((copies, m, m), int)
    for cp, i, j in product(range(copies), range(m), range(m)):
        for x in range(k):
            c[cp, i, j] += vs1[cp * m * k + i * k + x] * vs2[cp * m * k + j * k + x]
    assert (c.reshape(*lead, m, m) == a @ b).all()
    if copies == 1:
        result = ml.index_map(f"zvl{length}b e{bits} vmadot C")
        assert result.physical_shape == (2, length // 32)
        assert (result(*np.indices((m, m))).reshape(-1) == np.arange(m * m)).all()
        assert ml.index_map(f"zvl{length}b e{bits} vfmadot C").physical_shape == (1, length // 16)


@each_row("shape", [(128, 64), (128, 8, 64), (64, 4, 6), (1, 1)])
def test_tensors_of_nki(shape: tuple[int, ...]) -> None:
    """NKI, "Semantics of the Access Pattern": strides of the flat tensor, partition after it."""
    layout = fragment(f"nl.ndarray({shape}, dtype=nl.float32, buffer=nl.sbuf)")
    m = ml.index_map(layout)
    free = int(np.prod(shape[1:]))
    flat = np.arange(shape[0] * free).reshape(shape)
    at = np.indices(shape)
    assert (m(*at) == flat).all()
    places = m.physical_coordinates(*at)
    assert (places[0] == at[0]).all()
    assert (places[1] == flat % free).all()
    assert ml.parse(str(layout)) == layout


def test_a_long_tensor_of_nki_is_not_counted_place_by_place() -> None:
    m = ml.index_map(f"nl.ndarray((128, {10**12}), dtype=nl.float32, buffer=nl.sbuf)")
    assert ml.verify(m).holds
    assert m(3, 7) == 3 * 10**12 + 7


def test_a_tensor_of_nki_in_device_memory() -> None:
    m = ml.index_map("h = nl.ndarray((4, 128, 64), nl.bfloat16, nl.shared_hbm)")
    assert str(m) == "(d0, d1, d2) -> 8192*d0 + 64*d1 + d2"
    assert m.size == 4 * 128 * 64


REFUSED = [
    ("za1.s", "expected the bits of a vector before it, got none"),
    ("svl500 za1.s", "expected the bits of a vector before it, got svl500"),
    ("zvl512b za1.s", "expected the bits of a vector before it, got zvl512b"),
    ("svl64 za1.s", "expected the bits of a vector before it, got svl64"),
    ("svl512 za4.s", "expected a tile below 4"),
    ("svl512 svmopa_za32_f64_m A", "expected one of f32"),
    ("svl512 svsumopa_za32_f16_m A", "expected one of s8, got f16"),
    ("svl512 svsumopa_za32_u8_m A", "expected one of s8, got u8"),
    ("svl512 svusmopa_za64_u8_m A", "expected one of u16, got u8"),
    ("svl512 svusmopa_za16_u8_m A", "no instruction has the name 'svl512 svusmopa_za16_u8_m'"),
    ("svl512 svmopa_za32_s8_m C", "a tile: ask svl512 za0.s"),
    ("zvl128b vint64mf2_t", "expected a type of RISC-V's vectors"),
    ("zvl128b vint4m1_t", "expected a type of RISC-V's vectors"),
    ("zvl128b vint8mf1_t", "no instruction has the name"),
    ("zvl128b vint8m4x3_t", "expected a type of RISC-V's vectors"),
    ("zvl128b vfloat8m1_t", "expected a type of RISC-V's vectors"),
    ("zvl512b e8 vmadot C", "the document's loop and figure differ"),
    ("zvl256b vmadot A", "expected e4, e8 or e16 before it"),
    ("nl.ndarray((256, 4), dtype=nl.float32, buffer=nl.sbuf)", "up to 128 partitions"),
    ("nl.ndarray((2, nl.par_dim(128), 4), nl.float32, nl.sbuf)", "expected the first dimension"),
    ("np.ndarray((3, 4))", "a memory of NKI, got None and None"),
    ("nl.ndarray((3, 4), nl.float33, nl.sbuf)", "got 'float33' and 'sbuf'"),
    ("svl512 svmopa_za33_s8_m A", "nearest are svl512 svmopa_za32_s8_m"),
    ("zvl256b e8 vmadott A", "nearest are zvl256b e8 vmadot "),
    ("svl512 za1.w", "no instruction has the name 'svl512 za1.w'"),
    ("zvl256b vint32m16_t", "no instruction has the name 'zvl256b vint32m16_t'"),
]


@each_row("text, what", REFUSED)
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert what in str(caught.value)


VERIFIED = [
    "svl512 za7.d", "svl128 za0.b", "svl256 svmopa_za32_s8_m B", "zvl256b vint32m4_t",
    "zvl256b vint8mf4x3_t", "zvl512b e8 vmadot B", "zvl256b e4 vfmadot C",
    "nl.ndarray((128, 4, 6), dtype=nl.float32, buffer=nl.psum)",
]  # fmt: skip


@each_row("text", VERIFIED)
def test_formulas_agree_with_steps_and_document(text: str) -> None:
    layout = fragment(text)
    m = ml.index_map(layout)
    assert ml.verify(m).holds
    for at in product(*({0, n // 2, n - 1} for n in m.shape)):
        assert layout.by_document(at, m.shape) == (m(*at), m.size)


DRAWN = [
    ("svl128 za1.s", True, "13:3"), ("svl128 svmopa_za32_s8_m B", False, "12"),
    ("zvl128b vint32m4_t", False, "3:3"), ("zvl256b e8 vmadot C", False, "1:7"),
    ("nl.ndarray((4, 2, 3), dtype=nl.float32, buffer=nl.sbuf)", False, "3:5"),
]  # fmt: skip


@each_row("text, padding, cell", DRAWN)
def test_pictures(text: str, padding: bool, cell: str) -> None:
    shown = str(ml.draw(text))
    assert re.search(rf"(?<![0-9:]){cell}(?![0-9:])", shown)
    assert ("░" in shown) == padding
