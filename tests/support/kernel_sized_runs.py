"""Relayout kernels of symbolic sizes: built once, run at many sizes, compared with NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

import morello_layouts as ml
from morello_layouts.kernels import Kernel
from morello_layouts.kernels.emit_c import c_file
from morello_layouts.recipe import Recipe, known, pack_array
from tests.support.kernel_runs import MARGIN, fill_of, library_of


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


def run_all(cases: Sequence[SizedCase], library: ctypes.CDLL, *, aligned: bool) -> None:
    """Run each kernel at all its sizes, compare byte for byte, look for writes past the ends."""
    for k, case in enumerate(cases):
        function = getattr(library, f"k{k}")
        names = case.kernel().names
        function.argtypes = (ctypes.c_void_p,) * 2 + (ctypes.c_size_t,) * len(names)
        for values, source, target in case.runs():
            given, expected = buffers(case, source, target)
            data = np.full(expected.nbytes + 3 * MARGIN, 0xAA, np.uint8)
            start = -data.ctypes.data % MARGIN + MARGIN + (0 if aligned else case.itemsize)
            end = start + expected.nbytes
            sizes = (values[name] for name in names)
            function(data.ctypes.data + start, given.ctypes.data, *sizes)
            assert data[start:end].tobytes() == expected.tobytes(), (case, values)
            assert (data[:start] == 0xAA).all(), (case, values)
            assert (data[end:] == 0xAA).all(), (case, values)
