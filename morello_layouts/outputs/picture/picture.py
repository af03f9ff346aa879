"""Pictures of layouts, and their file formats."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import or_
from pathlib import Path
from typing import Any, Final, Literal

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.files import written
from morello_layouts.core.lazy import has_numpy, importing, numpy as np
from morello_layouts.core.limits import PICTURE_CELLS, PICTURE_COMPARED, PNG_SECONDS, PNG_SIDE
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known, offset_of
from morello_layouts.core.recipe.views import without_xors
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.outputs.picture.panel import Panel, Style, check_style, colour_numbers
from morello_layouts.outputs.picture.svg import picture_svg
from morello_layouts.outputs.picture.view import OutermostTiles, View, levels_of, view_of

_WHOLE_ROWS, _WHOLE_COLUMNS = 32, 128
_CUT_ROWS, _CUT_COLUMNS = 20, 24


@frozen
class Limits:
    """The most that a picture shows."""

    #: of a slice; None for all of up to 32 rows of 128 columns, otherwise about 20.
    rows: int | None = None
    columns: int | None = None  #: of a slice; None for all as above, otherwise about 24.
    slices: int = 4  #: of an array of more than two dimensions.
    slots: int = 128  #: of a buffer that is shown whole; 0 for no memory strip.
    #: the number of the first slice; less if fewer slices than ``slices`` would follow.
    first: int = 0


@frozen
class Picture:
    """One layout, or several side by side, as a grid of offsets above the memory strip.

    A notebook shows it; ``str()`` gives the picture for a terminal.

    >>> from morello_layouts import draw
    >>> picture = draw("[1, 0]", (2, 3))
    >>> print(picture)
    [1, 0] at 2x3
    (d0, d1) -> 2*d1 + d0
    d0 ↓ d1 → 0 1 2
            0 0 2 4
            1 1 3 5
    memory   0   1   2   3   4   5
           0,0 1,0 0,1 1,1 0,2 1,2
    >>> picture.svg()[:4], picture.html()[:15]
    ('<svg', '<!DOCTYPE html>')
    """

    panels: tuple[Panel, ...]  #: a panel for each index map.

    def svg(self) -> str:
        """Return the picture as an SVG document, for light and dark pages."""
        return picture_svg(self.panels)

    def html(self) -> str:
        """Return an interactive page that needs no network: point at cells, play the recipe."""
        with importing:
            from morello_layouts.outputs.picture.page import page

        return page(self.panels)

    def png(self, scale: float = 2.0) -> bytes:
        """Return the picture as a PNG, on light paper.

        Args:
            scale: pixels for each unit of the SVG; less if the image would be too large.

        Raises:
            UnsupportedError: if no converter of SVG is installed.
        """
        return png_of(self.svg(), scale)

    def pdf(self) -> bytes:
        """Return the picture as a PDF of one page; errors as of ``png``."""
        return pdf_of(self.svg())

    def text(self, width: int = 100) -> str:
        """Return the picture for a terminal of a width, without colours."""
        with importing:
            from morello_layouts.outputs.picture.terminal import panel_lines

        lines = [line for panel in self.panels for line in panel_lines(panel, width)]
        return "\n".join(line.plain.rstrip() for line in lines)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file whose name ends in svg, html, png, pdf or txt.

        Raises:
            LayoutError: if the name ends otherwise, or the file cannot be written.
            UnsupportedError: for PNG and PDF if no converter of SVG is installed.
        """
        target = Path(path)
        match target.suffix.lower():
            case ".svg":
                content = self.svg().encode()
            case ".html" | ".htm":
                content = self.html().encode()
            case ".png":
                content = self.png()
            case ".pdf":
                content = self.pdf()
            case ".txt":
                content = f"{self.text()}\n".encode()
            case other:
                raise LayoutError(
                    f"file name: expected an ending of a picture format, got {other!r}",
                    "the ending decides the format",
                    "end the name in .svg, .html, .png, .pdf or .txt",
                )
        with written(target) as beside:
            beside.write_bytes(content)

    def _repr_svg_(self) -> str:
        # In the column of a notebook a wide picture shrinks instead of being cut.
        return self.svg().replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        titles = " beside ".join(panel.title for panel in self.panels)
        return f"<Picture of {titles}>"


def unswizzled(m: IndexMap) -> IndexMap | None:
    """Return a layout of memory without its exclusive ors; None if it has none.

    >>> from morello_layouts import index_map
    >>> print(unswizzled(index_map("Sw<3,3,3> o 0 o (8,64):(64,1)")))
    (d0, d1) -> 64*d0 + d1
    """
    recipe = without_xors(m.recipe)
    if recipe == m.recipe or recipe.axis_names:
        return None
    source = f"{m.source}, without its exclusive or"

    def formula(at: Sequence[AffineExpr], shape: Sequence[Int]) -> AffineExpr:
        return offset_of(replace(recipe, shape=tuple(shape)), at, AffineExpr((), 0))

    return IndexMap.of(recipe, formula, source, element_type=m.element_type)


def picture_of(
    maps: Sequence[IndexMap],
    style: Style,
    limits: Limits,
    *,
    marks: bool = True,
    joined: bool = False,
) -> Picture:
    """Return the picture of index maps of one shape; with marks, of what lies elsewhere in another.

    Elements have the bits of the style, or of the map's element type if the style has none. Joined
    maps are operands of one instruction: their shapes may differ, and a lane has one colour.
    """
    for m in maps:
        _require_known(m)
    if len({m.recipe.shape for m in maps}) > 1 and not joined:
        raise ShapeError(
            f"the shapes differ: {' and '.join(str(m.shape) for m in maps)}",
            "a picture compares layouts of one array",
            "give layouts of one shape",
        )
    views = [_view(m, limits) for m in maps]
    if swizzled := reduce(or_, (view.swizzled for view in views), 0):
        views = [replace(view, swizzled=swizzled) for view in views]
    panels: list[Panel] = []
    for k, (m, view) in enumerate(zip(maps, views, strict=True)):
        bits = None if m.element_type is None else m.element_type.bits
        places = (name for name in ("lane", "device") if name in view.long_axes)
        colour = style.colour or next(places, "swizzle" if swizzled else "tile")
        own = replace(style, colour=colour)
        own = own if own.element_bits is not None else replace(own, element_bits=bits)
        check_style(own, view.shape, len(levels_of(m.recipe)), m.recipe.axis_names)
        elsewhere, moved = (
            ({}, "")
            if len(maps) == 1 or joined or not marks
            else _moved(m, maps[0 if k else 1], view)
        )
        colours = colour_numbers(view, own, panels[-1].colours if joined and panels else {})
        panels.append(Panel(m, view, own, m.source or str(m), colours, elsewhere, moved, joined))
    return Picture(tuple(panels))


def _require_known(m: IndexMap) -> None:
    if m.recipe.names:
        sizes = ", ".join(f"{name}=…" for name in m.recipe.names)
        raise UnsupportedError(
            f"a picture needs numbers for the symbolic sizes {', '.join(m.recipe.names)}",
            "it has a cell for each element of the array",
            f"give them: .at({sizes})",
        )


def _view(m: IndexMap, limits: Limits) -> View:
    rows, columns = _limits(m, limits)
    _require_few(m, rows, columns, limits)
    return view_of(
        m,
        max_rows=rows,
        max_columns=columns,
        max_slices=limits.slices,
        first_slice=limits.first,
        max_slots=limits.slots or None,
        in_tiles=True,
    )


def _require_few(m: IndexMap, rows: int, columns: int, limits: Limits) -> None:
    tiles = OutermostTiles.of(m.recipe)
    shape, (size,) = known(m.recipe.shape), known((m.recipe.size,))
    height, width = (1, 1, *tiles.extents)[-2:]
    slices = min(limits.slices, prod(shape[:-2]))
    cells = min(rows, height) * min(columns, width) * slices
    slots = size if size <= limits.slots else 0
    if max(cells, slots) > PICTURE_CELLS:
        raise LayoutError(
            f"the picture would have {cells:,} cells and {slots:,} slots",
            f"it may have {PICTURE_CELLS:,} of each",
            "give smaller max_rows, max_columns, max_slices or max_slots, or leave them out",
        )


def _limits(m: IndexMap, limits: Limits) -> tuple[int, int]:
    """Return the most rows and columns: all of an array that is small and not mostly padding."""
    tiles = OutermostTiles.of(m.recipe)
    shape = (1, 1, *known(m.recipe.shape))[-2:]
    rows, columns = (1, 1, *tiles.extents)[-2:]
    fits = rows <= _WHOLE_ROWS and columns <= _WHOLE_COLUMNS
    small = rows <= _CUT_ROWS and columns <= _CUT_COLUMNS
    whole = fits and (small or 4 * prod(shape) >= rows * columns)
    cut = (_WHOLE_ROWS, _WHOLE_COLUMNS) if whole else _cut(m)
    return (
        cut[0] if limits.rows is None else limits.rows,
        cut[1] if limits.columns is None else limits.columns,
    )


def _cut(m: IndexMap) -> tuple[int, int]:
    """Return the most rows and columns of a cut array: fewer for long offsets or slices."""
    digits = len(str(known((m.recipe.size,))[0]))
    slices = prod(known(m.recipe.shape)[:-2])
    columns = max(10, min(_CUT_COLUMNS, 130 // (digits + 1)))
    return _CUT_ROWS if slices == 1 else 12, columns


def _moved(m: IndexMap, other: IndexMap, view: View) -> tuple[dict[tuple[int, ...], int], str]:
    """Return shown elements that another map moves, with their offsets there, and a sentence."""
    shown = {cell.coordinate for cell in view.cells() if not cell.is_padding}
    shown |= {slot.coordinate for slot in view.slots() if slot.coordinate is not None}
    offsets = {coordinate: other(*coordinate) for coordinate in sorted(shown)}
    elsewhere = {at: offset for at, offset in offsets.items() if offset != m(*at)}
    total, count = f"{prod(view.shape):,} elements", len(elsewhere)
    if prod(view.shape) > PICTURE_COMPARED or not view.shape or not has_numpy():
        total = "those shown"
    else:
        at: Any = np.indices(view.shape, sparse=True)
        count = int(np.count_nonzero(np.broadcast_to(m(*at) != other(*at), view.shape)))
    return elsewhere, f"lies at another offset in the other layout: {count:,} of {total}"


_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


def png_of(svg: str, scale: float = 2.0) -> bytes:
    """Return a PNG of an SVG document, on light paper."""
    if not scale > 0:
        raise LayoutError(
            f"scale: expected a positive number, got {scale}",
            "it is the number of pixels for each unit",
            "give 2, for example",
        )
    scale = min(scale, PNG_SIDE / max(size_of(svg)))
    return _converted(svg, "png", scale)


def pdf_of(svg: str) -> bytes:
    """Return a PDF of an SVG document, on light paper of its size; errors as of ``png_of``."""
    return _converted(svg, "pdf", 1.0)


def _converted(svg: str, ending: Literal["png", "pdf"], scale: float) -> bytes:
    try:
        cairosvg = importlib.import_module("cairosvg")
    except (ImportError, OSError):  # OSError: the package is there, the Cairo library is not
        return _by_program(svg, ending, scale)
    return bytes(getattr(cairosvg, f"svg2{ending}")(bytestring=svg.encode(), scale=scale))


def size_of(svg: str) -> tuple[float, float]:
    """Return the width and height of a picture's document.

    >>> size_of('<svg width="30" height="20.5">')
    (30.0, 20.5)
    """
    found = re.search(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _by_program(svg: str, ending: str, scale: float) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "picture.svg"), Path(folder, f"picture.{ending}")
        source.write_text(svg, encoding="utf-8")
        command = _command(source, target, size_of(svg), scale)
        try:
            run = subprocess.run(
                command, capture_output=True, timeout=PNG_SECONDS, check=False, cwd=folder
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(command, str(error)) from None
        if run.returncode or not target.exists():
            raise _failed(command, run.stderr.decode(errors="replace").strip()[-200:])
        return target.read_bytes()


def _command(source: Path, target: Path, size: tuple[float, float], scale: float) -> list[str]:
    ending, (width, height) = target.suffix[1:], (int(side) + 1 for side in size)
    if rsvg := shutil.which("rsvg-convert"):
        options = ["--format", ending, "--zoom", f"{scale:g}", "--output", str(target)]
        return [rsvg, *options, str(source)]
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise UnsupportedError(
            f"no converter from SVG to {ending.upper()} is installed",
            "cairosvg, rsvg-convert and chromium are supported",
            "pip install cairosvg, or save as .svg or .html",
        )
    result = f"--screenshot={target}"
    if ending == "pdf":  # a browser prints pages, not pictures
        page = source.with_suffix(".html")
        style = f"@page{{size:{width}px {height}px;margin:0}}body{{margin:0}}svg{{display:block}}"
        page.write_text(
            f"<!DOCTYPE html><style>{style}</style>{source.read_text('utf-8')}", "utf-8"
        )
        result, source = f"--print-to-pdf={target}", page
    return [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--blink-settings=preferredColorScheme=1",
        f"--user-data-dir={source.parent / 'profile'}",
        f"--force-device-scale-factor={scale:g}",
        f"--window-size={width},{height}", "--no-pdf-header-footer", result, source.as_uri(),
    ]  # fmt: skip


def _failed(command: list[str], reason: str) -> LayoutError:
    return LayoutError(
        f"{Path(command[0]).name} could not convert the picture",
        reason or "it gave no reason",
        "pip install cairosvg, or save as .svg or .html",
    )
