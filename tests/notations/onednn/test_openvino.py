"""OpenVINO's names, against the tags of oneDNN that its own sources take for the same."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from morello_layouts.errors import ParseError

# intel_gpu, src/runtime and src/graph/impls/onednn/utils.cpp: cldnn::format, dnnl's format_tag
PAIRS = {
    "os_iyx_osv16": "Oihw16o", "gs_oiyx_gsv16": "Goihw16g", "gs_oizyx_gsv16": "Goidhw16g",
    "g_os_iyx_osv16": "gOihw16o", "os_is_yx_osv16_isv16": "OIhw16o16i",
    "os_is_yx_isv16_osv16": "OIhw16i16o", "os_is_zyx_isv16_osv16": "OIdhw16i16o",
    "is_os_zyx_isv16_osv16": "IOdhw16i16o", "is_os_yx_isv16_osv16": "IOhw16i16o",
    "os_is_yx_osa4_isa8_osv8_isv4": "ABcd4a8b8a4b",
    "os_is_zyx_osa4_isa8_osv8_isv2": "ABcde4a8b8a2b",
    "os_is_yx_osv8_isv4": "ABcd8a4b", "b_fs_yx_fsv16": "nChw16c", "b_fs_zyx_fsv16": "nCdhw16c",
    "bs_fs_yx_bsv16_fsv16": "NChw16n16c", "fs_b_yx_fsv32": "Bacd32b",
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_names_are_the_tags_that_openvino_takes_for_them(name: str) -> None:
    one, tag = ml.parse(name), ml.parse(PAIRS[name])
    assert (one.order, one.blocks) == (tag.order, tag.blocks)


def test_an_offset_is_that_of_openvinos_own_function() -> None:
    """get_index_os_is_yx_isv16_osv16 of its tests, with pitches of the padded array."""
    m = ml.index_map("os_is_yx_isv16_osv16", (32, 48, 3, 5))
    for o, i, y, x in [(0, 0, 0, 0), (17, 33, 2, 4), (31, 47, 1, 0), (5, 16, 0, 3)]:
        wanted = o % 16 + 16 * (
            x * 16 + y * 16 * 5 + i % 16 + i // 16 * 16 * 15 + o // 16 * 48 * 15
        )
        assert m(o, i, y, x) == wanted


@pytest.mark.parametrize("text", ["b_fs_yx_bsv16", "bs_fs_yx_fsv16", "b_f_yx_fsv16"])
def test_slices_without_a_block_are_refused(text: str) -> None:
    with pytest.raises(ParseError, match="expected a slice such as"):
        ml.parse(text)


@pytest.mark.parametrize(
    "text", ["b_fs_yx_fsv", "b_qs_yx_qsv16", "os_is_yx_isv8_osv16_swizzled_by_4"]
)
def test_other_words_are_not_names(text: str) -> None:
    with pytest.raises(ParseError):
        ml.parse(text)
