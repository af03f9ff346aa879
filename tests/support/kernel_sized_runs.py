"""Relayout kernels of symbolic sizes: built once, run at many sizes, compared with NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

import morello_layouts as ml
from morello_layouts.core.recipe import Recipe, known, pack_array
from morello_layouts.outputs.kernels import Kernel
from morello_layouts.outputs.kernels.emit_c import c_file
from tests.support.kernel_runs import fill_of, library_of, run_at


@dataclass(frozen=True)
class SizedCase:
    """Two layouts of symbolic sizes, and the sizes to run them at."""

    source: str
    target: str
    names: tuple[str, ...]
    itemsize: int
    sizes: tuple[tuple[int, ...], ...]
    assuming: str | None = None

    @property
    def fill(self) -> bytes | None:
        return fill_of(len(self.source + self.target), self.itemsize)

    def kernel(self, name: str = "relayout") -> Kernel:
        r = ml.relayout(self.source, self.target, self.names, assuming=self.assuming)
        assumptions = r.target.assumptions
        recipes = r.source.recipe, r.target.recipe
        return Kernel(*recipes, self.itemsize, self.fill, name, f"{self}", assumptions)

    def runs(self) -> Iterator[tuple[dict[str, int], Recipe, Recipe]]:
        """Sizes, and the recipes at these sizes."""
        maps = [
            ml.index_map(x, self.names, assuming=self.kernel().assumptions)
            for x in (self.source, self.target)
        ]
        for sizes in self.sizes:
            pairs = zip(self.names, sizes, strict=True)
            values = {name: size for name, size in pairs if not name.isdigit()}
            source, target = (m.at(**values).recipe for m in maps)
            yield values, source, target


def build(cases: Sequence[SizedCase], place: Path, *command: str, stream: int = 4) -> ctypes.CDLL:
    """Build the library of the kernels k0, k1, … of some cases."""
    files = [c_file(case.kernel(f"k{k}"), stream) for k, case in enumerate(cases)]
    return library_of(files, place, *command)


def buffers(case: SizedCase, source: Recipe, target: Recipe) -> tuple[np.ndarray, np.ndarray]:
    items = np.dtype(f"u{case.itemsize}")
    shape = known(source.shape)
    count = prod(shape)
    array = np.random.default_rng(count).integers(0, 256, count * case.itemsize, np.uint8)
    array = array.view(items).reshape(shape)
    fill = np.frombuffer(case.fill or bytes([0xAA] * case.itemsize), items)[0]
    return pack_array(source, array, fill), pack_array(target, array, fill)


def run_all(cases: Sequence[SizedCase], library: ctypes.CDLL) -> None:
    """Run each kernel at all its sizes."""
    for k, case in enumerate(cases):
        names = case.kernel().names
        for values, source, target in case.runs():
            sizes = (values[name] for name in names)
            run_at(getattr(library, f"k{k}"), *buffers(case, source, target), *sizes)
