"""Many relayout kernels in one C file: built once, each compared with the NumPy recipe."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import mmap
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import Recipe, known, pack_array
from morello_layouts.outputs.kernels import Kernel, kernel_text
from morello_layouts.outputs.kernels.emit_c import CFile, c_file, join
from tests.support import cuda_host

# Helpers as functions: inlined, a file of a thousand kernels takes a minute to build.
QUICK = ("-O0", "-DRELAYOUT_INLINE=static __attribute__((unused))")
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
MARGIN = 64
# Bytes past a cache line at which targets start: any multiple of an item, and others.
STARTS = (0, 4, 16, 33, 48)


def fill_of(turn: int, itemsize: int) -> bytes | None:
    """Return padding of equal bytes, of unequal ones, and left as it is, by turns."""
    fills = bytes([7] * itemsize), bytes(range(1, itemsize + 1)), None
    return fills[(turn + itemsize) % 3]


@dataclass(frozen=True)
class Case:
    """A relayout of elements of a size: at a shape, or with names in it and sizes to run it at."""

    source: Any
    target: Any
    shape: tuple[Any, ...]
    itemsize: int
    sizes: tuple[tuple[int, ...], ...] = ((),)
    assuming: str | None = None
    streams: bool = False

    @property
    def fill(self) -> bytes | None:
        return fill_of(sum(map(ord, f"{self.source}{self.target}")), self.itemsize)

    @property
    def maps(self) -> list[ml.IndexMap]:
        layouts = self.source, self.target
        return [ml.index_map(x, self.shape, assuming=self.assuming) for x in layouts]

    def kernel(self, name: str = "relayout") -> Kernel:
        source, target = self.maps
        recipes = source.recipe, target.recipe
        return Kernel(*recipes, self.itemsize, self.fill, name, f"{self}", target.assumptions)

    def runs(self) -> Iterator[tuple[dict[str, int], Recipe, Recipe]]:
        """Sizes, and the recipes at these sizes."""
        source, target = self.maps
        for sizes in self.sizes:
            pairs = zip(self.shape, sizes, strict=True) if sizes else ()
            values = {name: size for name, size in pairs if not name.isdigit()}
            yield (
                (values, source.at(**values).recipe, target.at(**values).recipe)
                if sizes
                else ({}, source.recipe, target.recipe)
            )

    def buffers(
        self, before: int = 0xAA, recipes: tuple[Recipe, Recipe] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a source, and the target that NumPy expects; before, ``before`` fills it."""
        (source, target) = recipes or next(self.runs())[1:]
        whole = self.itemsize in (1, 2, 4, 8)
        items = np.dtype(f"u{self.itemsize}" if whole else (np.void, self.itemsize))
        shape = known(source.shape)
        count = math.prod(shape)
        seed = np.random.default_rng(count)
        array = seed.integers(0, 256, count * self.itemsize, np.uint8).view(items).reshape(shape)
        padding = self.fill or bytes([before] * self.itemsize)
        fill = np.frombuffer(padding, items)[0]
        return pack_array(source, array, fill), pack_array(target, array, fill)


def compilers() -> list[str]:
    return [name for name in ("gcc", "clang") if shutil.which(name)]


def need(*names: str) -> None:
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


def files_of(cases: Sequence[Case], near: int = 1 << 60) -> list[CFile]:
    return [
        c_file(case.kernel(f"k{k}"), 0 if case.streams else near) for k, case in enumerate(cases)
    ]


def library_of(files: Sequence[CFile], place: Path, *command: str) -> ctypes.CDLL:
    """Build the library of some kernels."""
    text, library = place / "kernels.c", place / "kernels.so"
    text.write_text(join(files), encoding="utf-8")
    subprocess.run([*command, *STRICT, str(text), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def python_kernel(kernel: Kernel, path: Path) -> ModuleType:
    """Import a kernel in Python from a file."""
    path.write_text(kernel_text(kernel, "python"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Guarded:
    """A copy of bytes that ends where memory that cannot be read begins."""

    def __init__(self, data: np.ndarray) -> None:
        page = mmap.PAGESIZE
        size = -(-data.nbytes // page) * page
        self._memory = mmap.mmap(-1, size + page)
        whole = np.frombuffer(self._memory, np.uint8)
        self.address = whole.ctypes.data + size - data.nbytes
        whole[size - data.nbytes : size] = data.view(np.uint8)
        end = ctypes.c_void_p(whole.ctypes.data + size)
        assert ctypes.CDLL(None).mprotect(end, ctypes.c_size_t(page), 0) == 0


def run_at(
    function: Callable[..., object], source: np.ndarray, expected: np.ndarray, *sizes: int
) -> None:
    """Run a kernel at every start, compare byte for byte, and look for writes past the ends.

    To read past the end of the source ends the process.
    """
    given = Guarded(source)
    data = np.empty(expected.nbytes + 3 * MARGIN, np.uint8)
    for past in STARTS:
        data[...] = 0xAA
        start = -data.ctypes.data % MARGIN + MARGIN + past
        end = start + expected.nbytes
        pointers = ctypes.c_void_p(data.ctypes.data + start), ctypes.c_void_p(given.address)
        function(*pointers, *map(ctypes.c_size_t, sizes))
        assert data[start:end].tobytes() == expected.tobytes(), past
        assert (data[:start] == 0xAA).all(), past
        assert (data[end:] == 0xAA).all(), past


def run_all(cases: Sequence[Case], place: Path, *command: str, near: int = 1 << 60) -> None:
    """Build the kernels, and run each; ``near`` is where targets would leave the caches."""
    library = library_of(files_of(cases, near), place, *command)
    for k, case in enumerate(cases):
        function, names = getattr(library, f"k{k}"), case.kernel().names
        for values, *recipes in case.runs():
            source, target = recipes
            run_at(function, *case.buffers(0xAA, (source, target)), *(values[n] for n in names))


def run_each(
    cases: Sequence[Case], functions: Iterable[Callable[..., object]], most: int = 1 << 60
) -> None:
    """Run kernels that take target, source and sizes, and look for writes past the end.

    Addresses are multiples of 64. Targets of more than ``most`` elements are left out.
    """
    for case, function in zip(cases, functions, strict=True):
        names = case.kernel().names
        for values, *recipes in case.runs():
            source, expected = case.buffers(0xAA, (recipes[0], recipes[1]))
            if expected.size > most:
                continue
            rooms = [np.full(x.nbytes + 2 * MARGIN, 0xAA, np.uint8) for x in (expected, source)]
            starts = [-room.ctypes.data % MARGIN for room in rooms]
            target, given = (
                room[start : start + x.nbytes].view(x.dtype)
                for room, start, x in zip(rooms, starts, (expected, source), strict=True)
            )
            given[...] = source
            function(target, given, *(values[name] for name in names))
            assert target.tobytes() == expected.tobytes(), (case, values)
            assert (rooms[0][starts[0] + expected.nbytes :] == 0xAA).all(), (case, values)


def python_functions(cases: Sequence[Case], place: Path) -> Iterator[Callable[..., object]]:
    """Yield the kernels in Python."""
    for k, case in enumerate(cases):
        kernel = case.kernel()
        relayout = python_kernel(kernel, place / f"kernel_{k}.py").relayout
        yield lambda target, source, *sizes, f=relayout, names=kernel.names: f(
            source, target, **dict(zip(names, sizes, strict=True))
        )


def cuda_functions(cases: Sequence[Case], place: Path) -> Iterator[Callable[..., object]]:
    """Yield the kernels in CUDA, which run on the host."""
    loaded = cuda_host.library(cuda_texts(cases), place)
    for k, case in enumerate(cases):
        function, pointer = getattr(loaded, f"k{k}"), ctypes.c_void_p
        sizes = [ctypes.c_size_t] * len(case.kernel().names)
        function.argtypes = (pointer, pointer, *sizes, pointer)
        yield lambda target, source, *sizes, f=function: f(
            target.ctypes.data, source.ctypes.data, *sizes, None
        )


def cuda_texts(cases: Sequence[Case]) -> list[str]:
    """Return the kernels in CUDA, named k0 and so on."""
    return [kernel_text(case.kernel(f"k{k}"), "cuda") for k, case in enumerate(cases)]


COUNT = """static void count(unsigned char *s, size_t size)
{
    for (size_t i = 0; i < size; i++) s[i] = (unsigned char)i;
}
"""


def run_sanitized(cases: Sequence[Case], place: Path, *command: str, near: int = 1 << 60) -> None:
    """Run kernels under the sanitizers, on buffers of exactly their sizes, at two addresses."""
    calls = []
    for k, case in enumerate(cases):
        for values, source, target in list(case.runs())[::3]:
            have, want = (recipe.size * case.itemsize for recipe in (source, target))
            sizes = "".join(f", {values[name]}" for name in case.kernel().names)
            calls.append(
                f"    {{ unsigned char *s = malloc({have}), *t = malloc({want});\n"
                f"      unsigned char *room = aligned_alloc(64, {want} / 64 * 64 + 64);\n"
                f"      count(s, {have});\n"
                f"      k{k}(t, s{sizes}), k{k}(room, s{sizes}); free(s), free(t), free(room); }}\n"
            )
    main = f"int main(void)\n{{\n{''.join(calls)}}}\n"
    text = f"#include <stdlib.h>\n{join(files_of(cases, near))}\n{COUNT}{main}"
    path, built = place / "kernels.c", place / "kernels"
    path.write_text(text, encoding="utf-8")
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    strict = [flag for flag in STRICT if flag not in ("-fPIC", "-shared")]
    subprocess.run([*command, *checks, *strict, str(path), "-o", str(built)], check=True)
    subprocess.run([str(built)], check=True)
