"""The gallery is as generated, and its statements are true by counting."""

from __future__ import annotations

import doctest
import re
import sys
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
import sympy
from popular import POPULAR

import morello_layouts as ml
from tests.support.paths import loaded
from tests.support.tables import each_row

GALLERY = loaded("make_gallery")
FORMATS = GALLERY.FORMATS


@cache
def page() -> str:
    """The page, made once."""
    return str(GALLERY.page())


def test_check_finds_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = loaded("generate")
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    monkeypatch.setattr(generate, "FIGURES", tmp_path / "figures")
    monkeypatch.setattr(generate, "PAGES", {"gallery.md": GALLERY.page})
    monkeypatch.setattr(GALLERY, "FORMATS", FORMATS[:2])
    assert generate.main(["--check"]) == 1
    assert not list(tmp_path.iterdir())
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    assert len(list((tmp_path / "generated" / "gallery").glob("*.svg"))) == 2
    (tmp_path / "figures" / "old.svg").write_text("<svg/>", encoding="utf-8")
    assert generate.main(["--check"]) == 1


def test_python_blocks_run_as_shown() -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", page(), re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(code, {}, "gallery.md", None, 0)
    assert test.examples
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)


def test_pictures_are_small_and_shown() -> None:
    pictures = GALLERY.pictures()
    sizes = [len(svg.encode()) for svg in pictures.values()]
    assert max(sizes) < 60_000
    assert sum(sizes) < 1_500_000
    assert set(re.findall(r"\(gallery/(\w+)\.svg\)", page())) == set(pictures)


def test_names_are_unique_and_groups_known() -> None:
    assert len({one.slug for one in FORMATS}) == len({one.name for one in FORMATS}) == len(FORMATS)
    assert {one.group for one in FORMATS} == set(GALLERY.GROUPS)
    assert all(f"\n### {one.name}\n" in page() for one in FORMATS)
    assert sys.modules["formats"].FORMATS is FORMATS
    assert {name for name, *_ in POPULAR} <= {one.name for one in FORMATS}


@pytest.mark.slow
@each_row("one", FORMATS, ids=lambda one: one.slug)
def test_verdicts_are_what_counting_finds(one: object) -> None:
    """The condition of the page, at several sizes, against the offsets themselves."""
    assert hasattr(one, "at")
    general = one.index_map() if not one.formula else None
    condition = sympy.true if general is None else ml.is_bijective(general).condition.expr
    for step in (0, 1, 2) if general is not None else (0,):
        sizes = resized(general, one.at, step)
        m = one.index_map(sizes)
        offsets = np.ravel(m(*np.indices(m.shape)))
        distinct = np.unique(offsets)
        assert len(distinct) == prod(m.shape)
        assert 0 <= distinct[0] <= distinct[-1] < m.size
        values = {} if general is None else dict(zip(general.shape, sizes, strict=True))
        bijective = len(distinct) == m.size
        assert bool(condition.subs({k: v for k, v in values.items() if hasattr(k, "name")})) is (
            bijective
        )


def resized(general: ml.IndexMap, at: tuple[int, ...], step: int) -> tuple[int, ...]:
    """The sizes of the picture; smaller by one; whole tiles. With assumptions, only the first."""
    if step == 0 or general.assumptions:
        return at
    if step == 1:
        return tuple(
            n if isinstance(d, int) else max(n - 1, 1)
            for n, d in zip(at, general.shape, strict=True)
        )
    whole = [
        n if isinstance(d, int) else -(-n // 128) * 128
        for n, d in zip(at, general.shape, strict=True)
    ]
    return tuple(whole) if prod(whole) <= 1 << 17 else at


@pytest.mark.parametrize("one", [f for f in FORMATS if f.formula], ids=lambda one: one.slug)
def test_recipes_without_a_text_are_their_formula(one: object) -> None:
    assert hasattr(one, "index_map")
    assert ml.verify(one.index_map()).holds is True


def test_mma_fragments_are_those_of_the_manual() -> None:
    """PTX: row is groupID or groupID + 8, column threadID_in_group * 2 + (i & 1) or 8 more."""
    maps = {one.name: one.index_map() for one in FORMATS}
    for lane, i in product(range(32), range(8)):
        row = lane >> 2 if i < 2 or 4 <= i < 6 else (lane >> 2) + 8
        column = (lane % 4) * 2 + (i & 1) + (8 if i >= 4 else 0)
        assert maps["mma A fragment"](row, column) == 8 * lane + i
    for lane, i in product(range(32), range(4)):
        row = (lane >> 2) + (0 if i < 2 else 8)
        assert maps["mma C fragment"](row, (lane % 4) * 2 + (i & 1)) == 4 * lane + i


def test_z_order_interleaves_bits() -> None:
    m = next(one for one in FORMATS if one.name == "Z-order").index_map((8, 8))
    for i, j in product(range(8), range(8)):
        bits = [(i >> 2, j >> 2), ((i >> 1) & 1, (j >> 1) & 1), (i & 1, j & 1)]
        assert m(i, j) == int("".join(f"{a}{b}" for a, b in bits), 2)


def test_block_cyclic_is_scalapack_s() -> None:
    """Of the first process's 16 elements: rows and columns 0, 1, 4, 5."""
    m = next(one for one in FORMATS if one.name == "block-cyclic").index_map()
    for process in range(4):
        lie = {m.coordinates(16 * process + slot) for slot in range(16)}
        row, column = divmod(process, 2)
        assert lie == {
            (i, j)
            for i, j in product(range(8), range(8))
            if ((i // 2) % 2, (j // 2) % 2) == (row, column)
        }


def test_sizes_of_the_page_are_those_of_the_buffers() -> None:
    """Each size of the page that has padding, from the index map and the bits of the type."""
    said = dict(re.findall(r"^### (.+)$[\s\S]*?^\| this size \| (.+) \|$", page(), re.MULTILINE))
    assert set(said) == {one.name for one in FORMATS}
    for one in FORMATS:
        bits = {"bf16": 16, "s8": 8, "s4": 4, "pred": 1}.get(one.layout.partition("[")[0], 32)
        m = one.index_map(one.at)
        data, reserved = prod(m.shape) * bits // 8, m.size * bits // 8
        expected = (
            f"{data:,} bytes of data in {reserved:,}," if data < reserved else f"{data:,} bytes, "
        )
        assert expected in said[one.name], one.name
