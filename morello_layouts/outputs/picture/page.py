"""Pictures as an interactive page that plays the steps of the recipe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from math import prod
from typing import Any, Final

from morello_layouts.core.expr.affine import AffineExpr
from morello_layouts.core.expr.calls import printing_order
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import PICTURE_PLAYED
from morello_layouts.core.maps.names import renamed
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Scatter,
    Split,
    Step,
    Transpose,
    Window,
    Xor,
    delinearize,
    has_inverse,
    known,
    linear_index,
    logical_coordinates,
    physical_coordinates,
)
from morello_layouts.core.recipe.views import Column, elements_of, filled
from morello_layouts.outputs.picture.panel import Panel, key_of
from morello_layouts.outputs.picture.svg import picture_svg
from morello_layouts.outputs.picture.svg_parts import element, escaped
from morello_layouts.outputs.picture.view import borders, within_axes


@frozen
class RecipeStage:
    """The array after some steps of its recipe."""

    name: str  #: the name of the last step.
    shape: tuple[int, ...]  #: the sizes of the axes after it.
    words: str  #: an explanation of the step.
    #: of each place, over these axes; None before a step has added the place.
    coordinates: tuple[tuple[int, ...] | None, ...]

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The row-major position of each place; None as above."""
        return tuple(
            at if at is None else linear_index(at, self.shape, 0) for at in self.coordinates
        )


def stages_of(recipe: Recipe, offsets: Sequence[int]) -> tuple[RecipeStage, ...]:
    """Return the array and its form after each step, at places given by their offsets.

    >>> from morello_layouts import index_map
    >>> recipe = index_map("f32[3,5]{1,0:T(2,2)}").recipe
    >>> [(stage.name, stage.coordinates[0], stage.numbers[0]) for stage in stages_of(recipe, [17])]
    [('array', (2, 3), 13), ('pad', (2, 3), 15), ('split', (1, 0, 1, 1), 15), \
('transpose', (1, 1, 0, 1), 17)]
    """
    (start,) = known((recipe.offset,))
    physical = delinearize(Column(offsets) - start, recipe.physical_shape)
    stages = []
    for k, sizes in enumerate(recipe.shapes):
        shape, name, words = known(sizes), "array", _ARRAY
        if k:
            step = recipe.steps[k - 1]
            name, words = step.name, _words(step, known(recipe.shapes[k - 1]), shape)
        at: Sequence[Any] = physical
        if has_inverse(recipe):
            at, _ = logical_coordinates(Recipe(sizes, recipe.steps[k:]), physical)
        elif k < len(recipe.steps):  # of the first element at each slot
            before = Recipe(recipe.shape, recipe.steps[:k])
            found = (
                shape if first is None else physical_coordinates(before, first, 0)
                for first in elements_of(recipe, list(offsets))
            )
            at = [Column(line) for line in zip(*found, strict=True)]
        columns = [filled(x, len(offsets)) for x in at]
        places = (
            place if all(0 <= x < n for x, n in zip(place, shape, strict=True)) else None
            for place in (zip(*columns, strict=True) if columns else [()] * len(offsets))
        )
        stages.append(RecipeStage(name, shape, words, tuple(places)))
    return tuple(stages)


_ARRAY: Final = "the array in row-major order: the last index is the fastest"


def _words(step: Step, before: tuple[int, ...], after: tuple[int, ...]) -> str:
    match step:
        case Pad():
            added = prod(after) - prod(before)
            if added < 0:
                return f"{-added:,} places without elements are cut off"
            return f"{added:,} places without elements complete the tiles"
        case Split(tiles):
            parts = [f"{n} = {n // t}·{t}" for n, t in zip(before, tiles, strict=True) if t]
            return f"axes are split: {', '.join(parts)}; every place keeps its number"
        case Transpose(order):
            return f"the axes get the order {list(order)}; the last one is now the fastest"
        case Merge():
            groups = [group for group in step.groups(before) if len(group) != 1]
            parts = [f"{'·'.join(map(str, group)) or '1'}" for group in groups]
            return f"axes are merged: {', '.join(parts)}; every place keeps its number"
        case Scatter(forms, _):
            return f"each place goes to {', '.join(map(str, forms))}"
        case Xor(target, source):
            return f"places move within axis {target}, by the bits of their place in axis {source}"
        case Renumber(axis):
            return f"places get other numbers along axis {axis}"
        case Replicate(sizes):
            return f"each place is there {prod(sizes)} times; the first one comes first"
        case Window():
            return f"the array lies inside of a larger one: {step}"


_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(panels: Sequence[Panel]) -> str:
    """Return the page: the picture, details of the cell under the pointer, the recipe's steps."""
    title = " beside ".join(panel.title for panel in panels)
    data = json.dumps(page_data(panels), separators=(",", ":"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{_resource('page.css')}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escaped(title)}</h1>\n{_markup(panels)}</main>\n"
        f'<script type="application/json" id="data">{_in_script(data)}</script>\n'
        f"<script>\n{_resource('page.js')}</script>\n</body>\n</html>\n"
    )


def _markup(panels: Sequence[Panel]) -> str:
    """Return the page's elements that the script makes interactive, with escaped text."""
    players = "".join(_player(k, panel) for k, panel in enumerate(panels))
    details = "".join(_details(k, panel) for k, panel in enumerate(panels))
    # Below each other if narrow; the script finds each cell.
    pictures = "".join(picture_svg([replace(panel, has_each=True)]) for panel in panels)
    return (
        '<p class="how">Point at a cell or a slot to see where it lies and why; click to keep it; '
        "the arrow keys move from cell to cell.</p>\n"
        f'<div class="wide" id="picture" tabindex="0">{pictures}</div>\n'
        f'<div class="details" aria-live="polite">{details}</div>\n{players}'
    )


def page_parts(panels: Sequence[Panel]) -> tuple[str, str]:
    """Return the same elements without the picture's styles, and these styles.

    A page whose policy forbids styles in its markup adds them as a sheet.
    """
    markup = _markup(panels)
    return _STYLES.sub("", markup), "".join(_STYLES.findall(markup))


_STYLES: Final = regex("<style>(.*?)</style>")


def page_data(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    return [_data(panel) for panel in panels]


def _resource(name: str) -> str:
    return files("morello_layouts.outputs.picture").joinpath(name).read_text(encoding="utf-8")


def _in_script(data: str) -> str:
    r"""Return JSON that cannot end a script element.

    >>> print(_in_script('["</script>&"]'))
    ["\u003c/script\u003e\u0026"]
    """
    return data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _details(k: int, panel: Panel) -> str:
    heading = element("h2", escaped(panel.title))
    hint = '<p class="hint">no cell is chosen: click one</p>'
    return f'<section data-panel="{k}">{heading}{hint}<table hidden></table></section>'


def _player(k: int, panel: Panel) -> str:
    offsets = [cell.offset for cell in panel.view.cells()]
    if not 0 < len(offsets) <= PICTURE_PLAYED or len(set(offsets)) < len(offsets):
        return ""  # elements that share a slot are one place, and cannot be followed
    steps = len(panel.map.recipe.steps)
    return (
        f'<section class="player" data-panel="{k}"><h2>Step by step: {escaped(panel.title)}</h2>'
        '<div class="controls"><button class="back">◀ Back</button>'
        '<button class="next">Next ▶</button><button class="play">Play</button>'
        f'<input type="range" min="0" max="{steps + 1}" value="0" aria-label="step">'
        '<output class="step"></output></div><p class="words"></p>'
        '<div class="wide"><svg class="ml-picture stage" role="img" '
        'aria-label="the cells after this step"></svg></div></section>\n'
    )


def _data(panel: Panel) -> dict[str, Any]:
    places = [(k, *place) for k, grid in enumerate(panel.view.grids) for place in grid.shown()]
    slots = list(panel.view.slots())
    cells = [cell.offset for *_, cell in places]
    offsets = list(dict.fromkeys([*cells, *(s.offset for s in slots)]))
    (size,) = known((panel.map.recipe.size,))
    inside = within_axes(panel.map.recipe, offsets)
    stages = stages_of(panel.map.recipe, inside)
    # Numbers are text: JavaScript's own are exact up to 2**53.
    numbers = [[None if n is None else str(n) for n in stage.numbers] for stage in stages]
    order = {offset: k for k, offset in enumerate(inside)}
    return {
        "names": panel.names,
        "size": str(size),
        "levels": [{"name": str(level), "split": level.split} for level in panel.view.levels],
        "stages": [
            {"name": stage.name, "shape": stage.shape, "words": stage.words} for stage in stages
        ],
        "terms": _terms(panel),
        "cells": [
            {
                "c": cell.coordinate,
                "o": str(cell.offset),
                "k": panel.colour(cell),
                "t": cell.tiles,
                "at": (k, row, column),
                "e": panel.elsewhere.get(cell.coordinate),
                **({"h": key_of(cell, panel.style, panel.view)} if panel.is_joined else {}),
            }
            for k, row, column, cell in places
        ],
        "slots": [{"o": str(s.offset), "c": s.coordinate, "t": s.tiles} for s in slots],
        "values": _values(panel, inside),
        "steps": {
            offset: [stage.coordinates[k] for stage in stages] for offset, k in order.items()
        },
        "numbers": {offset: [of_stage[k] for of_stage in numbers] for offset, k in order.items()},
        "gaps": _gaps(panel),
        "isCut": panel.view.is_cut or panel.view.hidden_slices > 0,
    }


def _terms(panel: Panel) -> list[str]:
    """Return the terms of the formula as text, the largest stride first."""
    form = renamed(panel.map.form, panel.map.names)
    terms = [str(AffineExpr((term,), 0)) for term in printing_order(form.terms)]
    return [*terms, str(form.const)] if form.const or not terms else terms


def _values(panel: Panel, offsets: list[int]) -> dict[int, list[str]]:
    """Return the value of each term for the element at an offset; padding has none."""
    form = renamed(panel.map.form, panel.map.names)
    if not panel.view.shape:
        return {offset: [str(form.const)] for offset in offsets[:1]}
    elements = zip(offsets, elements_of(panel.map.recipe, offsets), strict=True)
    held = {p: at for p, at in elements if at is not None}
    lines = (Column(x) for x in zip(*held.values(), strict=True))
    variables = dict(zip(panel.names, lines, strict=False))  # none if nothing is held
    columns = [
        filled(AffineExpr((term,), 0).evaluate(variables), len(held))
        for term in (printing_order(form.terms) if held else ())
    ]
    if form.const or not columns:
        columns.append([form.const] * len(held))
    rows = zip(*columns, strict=True)
    return {p: [str(x) for x in values] for p, values in zip(held, rows, strict=True)}


def _gaps(panel: Panel) -> dict[str, list[int | None]]:
    """Return the levels of borders that run through all rows or columns."""
    if not panel.view.grids:
        return {"rows": [], "columns": []}
    grid = panel.view.grids[0]
    lines = {"rows": borders(grid.cells), "columns": borders(list(zip(*grid.cells, strict=True)))}
    return {name: [_through(levels) for levels in between] for name, between in lines.items()}


def _through(levels: Sequence[int | None]) -> int | None:
    shown = set(levels)
    return None if None in shown else max(level for level in shown if level is not None)
