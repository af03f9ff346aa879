"""Strided arrays and texts, judged by NumPy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import morello_layouts as ml
from morello_layouts.notations.strided import of
from tests.support.tables import each_row

BASE = np.arange(48, dtype=np.int16).reshape(6, 8)
VIEWS = {
    "whole": BASE,
    "transposed": BASE.T,
    "even rows": BASE[::2],
    "mirrored": BASE[:, ::-1],
    "both backwards": BASE[::-1, ::-1],
    "inner box": BASE[1:5:2, 1:7:3],
    "odd columns of an odd width": BASE.reshape(-1)[:35].reshape(5, 7)[:, ::2],
    "broadcast": np.broadcast_to(BASE[2], (3, 8)),
    "overlapping windows": np.lib.stride_tricks.sliding_window_view(BASE, 3, axis=1),
    "column-major": np.asfortranarray(BASE),
    "new axes": BASE[:, None, :, None],
    "one element": BASE[2:3, 5:6],
    "bytes": BASE.view(np.uint8)[:, ::3],
    "empty": BASE[:0],
    "scalar": BASE[3, 4:5].reshape(()),
}


def owner(array: np.ndarray) -> np.ndarray:
    """The memory that a view looks into."""
    return (array if array.base is None else BASE).ravel("K").view(array.dtype)


@each_row("name", VIEWS)
def test_a_map_finds_the_elements_of_a_view(name: str) -> None:
    array = VIEWS[name]
    m = ml.index_map(array)
    memory = owner(array)
    assert m.size == memory.size
    if array.size:
        assert (memory[np.asarray(m(*np.indices(array.shape)), int)] == array).all()
    assert (ml.unpack(array, memory) == array).all()
    assert ml.verify(m).holds
    slots = np.unique(np.asarray(m(*np.indices(array.shape)), int)) if array.size else np.arange(0)
    assert ml.is_injective(m).holds is (len(slots) == array.size)
    assert m.padding == m.size - len(slots)


@each_row("name", VIEWS)
def test_a_view_is_moved_into_tiles(name: str) -> None:
    array = VIEWS[name]
    if array.ndim == 2 and array.size:
        move = ml.relayout(array, "{1,0:T(2,4)}")
        found = move.compile(array.dtype)(owner(array))
        assert (found == ml.pack("{1,0:T(2,4)}", array)).all()


@each_row("name", VIEWS)
def test_every_answer_about_a_view(name: str) -> None:
    array = VIEWS[name]
    assert str(ml.explain(array))
    if array.size:
        assert "<svg" in ml.draw(array).svg()
        assert ml.draw(array).text()
        assert "html" in ml.draw(array).html()
        assert ml.code(array, "c")


def test_types_and_other_arrays() -> None:
    cuda = {"typestr": "<f4", "shape": (2, 3), "strides": (32, 8), "data": (4096, False)}
    assert str(of(SimpleNamespace(__cuda_array_interface__=cuda))) == "strided<[8, 2]>"
    dense = {"typestr": "<f8", "shape": (2, 3), "strides": None, "data": (4096, False)}
    layout = of(SimpleNamespace(__array_interface__=dense))
    assert (str(layout), str(layout and layout.element)) == ("strided<[3, 1]>", "f64")
    backwards = {"typestr": "|b1", "shape": (4,), "strides": (-1,), "data": (7, False)}
    assert str(of(SimpleNamespace(__array_interface__=backwards))) == "strided<[-1], offset: 3>"
    assert of("strided") is of(3) is of(None) is of(np.ndarray) is None


class Tensor:
    """What is used of PyTorch's tensors."""

    shape, dtype = (2, 3), "torch.bfloat16"

    def stride(self) -> tuple[int, ...]:
        return (1, 4)

    def storage_offset(self) -> int:
        return 5

    def element_size(self) -> int:
        return 2


def test_a_tensor_of_pytorch() -> None:
    m = ml.index_map(Tensor())
    assert (str(m), m.shape, str(m.element_type)) == ("(d0, d1) -> 4*d1 + d0 + 5", (2, 3), "bf16")


TEXTS = {
    "strided<[5, 1], offset: 2>": ((3, 4), "(d0, d1) -> 5*d0 + d1 + 2"),
    " strided < [ 5 ,1 ] > ": ((3, 4), "(d0, d1) -> 5*d0 + d1"),
    "strided<[-4, 1], offset: 8>": ((3, 4), "(d0, d1) -> -4*d0 + d1 + 8"),
    "strided<[], offset: 3>": ((), "() -> 3"),
    "strided<[LD, 1], offset: O>": (("M", "N"), "(d0, d1) -> LD*d0 + d1 + O"),
    "contiguous_format": ((2, 3), "(d0, d1) -> 3*d0 + d1"),
    "channels_last": ((2, 3, 4, 5), "(d0, d1, d2, d3) -> 60*d0 + 15*d2 + 3*d3 + d1"),
    " channels_last": ((2, 3, 4), "(d0, d1, d2) -> 8*d1 + 2*d2 + d0"),
    "channels_last_3d": ((3, 2, 4, 5), "(d0, d1, d2, d3) -> 60*d1 + 15*d2 + 3*d3 + d0"),
}


@each_row("text", TEXTS)
def test_texts(text: str) -> None:
    shape, formula = TEXTS[text]
    assert str(ml.index_map(text, shape)) == formula
    assert ml.parse(str(ml.parse(text))) == ml.parse(text)
    assert ml.verify(ml.index_map(text, shape)).holds


def test_words_of_elements_that_share_slots() -> None:
    text = str(ml.explain(VIEWS["broadcast"]))
    assert "24 in 8 slots, which they share, 40 of padding" in text
    assert "not injective: (0, 0) and (1, 0) share offset 16" in text
    assert "all along d0 share their elements" in text


def test_bitcasts_of_views() -> None:
    assert ml.is_bitcast(VIEWS["column-major"], "{0,1}").holds
    assert ml.is_bitcast(VIEWS["mirrored"], BASE).slot == 0
    shared = ml.is_bitcast(np.broadcast_to(BASE[0], (6, 8)), BASE)
    assert (shared.holds, shared.slot) == (False, None)
    assert ml.is_bitcast(VIEWS["mirrored"], BASE, correspondence="any").holds is False


def test_a_pitch_may_be_assumed() -> None:
    for text in ("strided<[LD, 1]>", "strided<[LD, 1], offset: 5>"):
        m = ml.index_map(text, ("M", "N"), assuming="LD % 8 == 0")
        assert ml.verify(m).holds
        assert ml.is_injective(m).assumptions == ("8 divides LD", "LD >= N")


def test_shared_slots_that_are_too_many_to_count_are_explained() -> None:
    text = str(ml.explain("strided<[3, 5]>", (10**9, 10**9)))
    assert "not injective: (0, 3) and (5, 0) share an offset" in text
    assert "verified" in text
    assert "elements" not in text.partition("Memory")[2]


def test_an_assumption_may_fix_a_pitch() -> None:
    pitched, plain = "strided<[LD, 1]>", "f32[M,4]"
    m = ml.index_map(pitched, ("M", 4), assuming="LD == 4")
    assert str(m.form) == "4*d0 + d1"
    assert ml.are_equivalent(pitched, plain, ("M", 4), assuming="LD == 4").holds
    assert ml.are_equivalent(plain, pitched, ("M", 4), assuming="LD == 8").holds is False
