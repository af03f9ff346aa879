"""Relayouts: for each offset of one buffer the offset in the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import morello_layouts as ml
from tests.support.tables import each_row
from tests.support.xla_strategies import small_arrays

MATRICES = [
    "[0, 1]",
    "[1, 0]",
    "[1, 0, 1 p(4)]",
    "[0, 1, 1 oe(8)]",
    "{1,0:T(8,128)}",
    "{0,1:T(8,128)}",
    "{1,0:T(8,128)(2,1)}",
    "{1,0:T(8,128)(2,1,1,1)}",
    "{1,0:T(3,5)(2,2)}",
    "{1,0:T(4,16)L(1000)}",
]


def check(r: ml.Relayout) -> None:
    """Compare every offset of the target with the arrays of both recipes."""
    elements = np.arange(np.prod(r.source.shape, dtype=int)).reshape(r.source.shape)
    there = ml.pack(r.source, elements, fill=-1)
    here = ml.pack(r.target, elements, fill=-1)
    p = np.flatnonzero(here >= 0)
    found = np.broadcast_to(r.form.evaluate({"p": p}), p.shape)
    assert (there[found] == here[p]).all()


@each_row("source", MATRICES)
@each_row("target", MATRICES)
def test_every_pair_of_matrix_layouts(source: str, target: str) -> None:
    check(ml.relayout(source, target, (16, 136)))


@given(small_arrays(), st.data())
def test_random_pairs(source: ml.XlaShape, data: st.DataObject) -> None:
    target = data.draw(small_arrays().filter(lambda x: len(x.shape) == len(source.shape)))
    assert target.layout is not None
    if 0 not in source.shape:
        check(ml.relayout(source, target.layout, source.shape))


def test_there_and_back_is_the_identity() -> None:
    assert str(ml.relayout("[1, 0, 1 p(4)]", "[1, 0, 1 p(4)]", (6, 8)).form) == "p"
    assert str(ml.relayout("{1,0:T(4,8)(2,1)}", "{1,0:T(4,8)(2,1)}", (8, 16)).form) == "p"


def test_padding_is_none() -> None:
    r = ml.relayout("f32[3,5]{1,0}", "f32[3,5]{1,0:T(2,2)}")
    assert [r(p) for p in range(12)] == [0, 1, 5, 6, 2, 3, 7, 8, 4, None, 9, None]
    assert r.padding == r.inverse.padding
