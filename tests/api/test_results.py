"""What public functions give and raise is public too."""

from __future__ import annotations

import copy
import pickle
import shutil

import pytest

import morello_layouts as ml


def test_results_of_index_maps() -> None:
    m = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="N % 128 == 0")
    assert isinstance(m.decompose(), ml.maps.Decomposition)
    assert isinstance(m.modes(1), ml.maps.Modes)
    assert isinstance(m.modes(1).runs[0], ml.maps.Mode)
    assert isinstance(m.assumptions[0], ml.Assumption)
    assert isinstance(m.inverse, ml.maps.Inverse)
    assert isinstance(m.derivation, ml.expr.Derivation)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_results_of_compile() -> None:
    assert isinstance(ml.relayout("u8[2,3]", "u8[2,3]{0,1}").compile(), ml.kernels.CompiledRelayout)
    assert isinstance(ml.relayout("u8[M,N]", "u8[M,N]{0,1}").compile(), ml.kernels.SizedRelayout)


def test_errors_of_convert() -> None:
    assert issubclass(ml.TranslationNotFoundError, ml.UnsupportedError)


def test_plans_nests_and_places_are_keys_and_conversions_equal_their_copies() -> None:
    array = "f32[16,16], mesh={'x': 2, 'y': 4}, spec="
    plans = [ml.reshard(f"{array}P('x', 'y')", f"{array}P(None, 'y')") for _ in range(2)]
    nests = [ml.loops("f32[16,256]{1,0:T(8,128)}") for _ in range(2)]
    sharded = ml.index_map(f"{array}P('x', 'y')")
    places = [sharded.place(1, 2) for _ in range(2)]
    for one, other in (plans, nests, places):
        assert one == other
        assert len({one, other}) == 1
    found = ml.convert_all("f32[8,16]{1,0:T(2,4)}")
    assert any(one.error is not None for one in found)
    assert found == pickle.loads(pickle.dumps(found)) == copy.deepcopy(found)
