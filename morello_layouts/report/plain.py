"""Reports as JSON takes them; every key is there always, with null for what is not known."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from morello_layouts.formula import IndexMap
from morello_layouts.picture import Cell, Grid, fitted_view
from morello_layouts.report.arrays import ArrayReport, Proofs
from morello_layouts.report.derivations import derivation_steps
from morello_layouts.words import Explanation

__all__ = ["array_dict"]

_WIDTH = 80


def array_dict(report: ArrayReport, *, derivation: bool) -> dict[str, Any]:
    """The report on one array."""
    words, sizes = report.explanation, report.sizes
    return {
        "path": report.path,
        **_words(words),
        "sizes": None if sizes is None else sizes.to_dict(),
        "index": None if report.index is None else _index(report.index, derivation),
        "proofs": None if report.proofs is None else _proofs(report.proofs),
        "tpu": None if report.tpu is None else asdict(report.tpu),
        "picture": None
        if report.index is None or sizes is None
        else _picture(report.index, words.names),
        "notes": report.notes,
    }


def _words(words: Explanation) -> dict[str, Any]:
    return {
        "text": words.source,
        "kind": words.kind,
        "headline": words.headline,
        "dimensions": [asdict(dim) for dim in words.dimensions],
        "parts": [asdict(part) for part in words.parts],
        "axes": [{"coordinate": axis.label, "size": axis.size} for axis in words.axes],
        "word": None if words.word is None else asdict(words.word),
    }


def _index(m: IndexMap, derivation: bool) -> dict[str, Any]:
    return {
        "shape": _plain(m.shape),
        "physical_shape": _plain(m.physical_shape),
        "recipe": str(m.recipe),
        "textbook": str(m.textbook_form),
        "formula": str(m.form),
        "derivation": derivation_steps(m.derivation) if derivation else None,
    }


def _plain(sizes: tuple[Any, ...]) -> list[Any]:
    return [n if isinstance(n, int) else str(n) for n in sizes]


def _proofs(proofs: Proofs) -> dict[str, Any]:
    return {
        "bijective": proofs.bijective.to_dict(),
        "injective": proofs.injective.to_dict(),
        "verified": proofs.verified.to_dict(),
    }


def _picture(m: IndexMap, names: tuple[str, ...]) -> dict[str, Any]:
    picture = fitted_view(m, names, _WIDTH)
    return {"slices": picture.slices, "grids": [_grid(grid) for grid in picture.grids]}


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "at": grid.at,
        "rows": grid.rows,
        "columns": grid.columns,
        "offsets": [[_offset(cell) for cell in row] for row in grid.cells],
    }


def _offset(cell: Cell | None) -> int | None:
    return None if cell is None or cell.is_padding else cell.offset
