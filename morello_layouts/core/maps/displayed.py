"""How a map with a picture shows itself: in a notebook, as a picture, as a table of offsets."""

from __future__ import annotations

from math import prod
from typing import Any

from morello_layouts.core.lazy import from_front, numpy as np
from morello_layouts.core.limits import TABLE_ELEMENTS
from morello_layouts.core.recipe import known
from morello_layouts.errors import ShapeError


class Drawn:
    """Methods of an index map that show it."""

    def draw(self, **style: Any) -> Any:
        """Return the ``Picture`` of the layout; arguments as of ``ml.draw``.

        >>> import morello_layouts as ml
        >>> ml.index_map("[1, 0]", (6, 8)).draw(colour="offset")
        <Picture of [1, 0] at 6x8>
        """
        return from_front("draw")(self, **style)

    def sliders(self, **ranges: tuple[int, int]) -> Any:
        """Return a widget for notebooks: formula and picture, and a slider for each symbolic size.

        Args:
            ranges: the smallest and the largest number of each size; by default 1 and 32.

        Raises:
            UnsupportedError: without anywidget: ``pip install "morello_layouts[widget]"``.
            ShapeError: if a range is not that of a symbolic size.

        >>> import morello_layouts as ml
        >>> m = ml.index_map("f32[M,N]{1,0:T(2,2)}")
        >>> m.sliders(K=(1, 8))
        Traceback (most recent call last):
        morello_layouts.errors.ShapeError: K=(1, 8): expected the smallest and the largest number \
of a size
        the symbolic sizes are M, N
        give for example M=(1, 32)
        """
        return from_front("sliders")(self, ranges)

    def table(self) -> Any:
        """Return the offset of every element, as an integer array of the layout's shape.

        Raises:
            UnsupportedError: if sizes are symbolic.
            ShapeError: if the elements are too many.

        >>> import morello_layouts as ml
        >>> ml.index_map("f32[3,5]{1,0:T(2,2)}").table()
        array([[ 0,  1,  4,  5,  8],
               [ 2,  3,  6,  7, 10],
               [12, 13, 16, 17, 20]])
        """
        m: Any = self
        sizes = known(m.recipe.shape)
        if (elements := prod(sizes)) > TABLE_ELEMENTS:
            raise ShapeError(
                f"a table of {elements:,} offsets: expected at most {TABLE_ELEMENTS:,}",
                "it holds the offset of every element",
                "call the map with the coordinates that you need, or take a part: m[:8, :128]",
            )
        return np.broadcast_to(m(*np.indices(sizes, sparse=True)), sizes).copy()

    def _repr_html_(self) -> str:
        shown: str = from_front("html_of")(self)
        return shown
