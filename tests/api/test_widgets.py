"""A widget with sliders shows the picture at the numbers of its sliders."""

from __future__ import annotations

import pytest

import morello_layouts as ml

pytest.importorskip("anywidget", reason="the extra [widget] is not installed")


def test_the_picture_follows_the_sizes() -> None:
    text = "f32[M,N]{1,0:T(2,2)}"
    m = ml.index_map(text, assuming="M % 2 == 0")
    widget = m.sliders(M=(1, 8))
    assert (widget.ranges, widget.sizes) == ({"M": [1, 8], "N": [1, 32]}, {"M": 8, "N": 32})
    widget.sizes = {"M": 4, "N": 5}
    assert widget.html == m.at(M=4, N=5)._repr_html_()
    widget.sizes = {"M": 3, "N": 5}
    assert "M" in widget.html
    assert "<svg" not in widget.html
