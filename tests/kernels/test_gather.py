"""Relayouts of elements narrower than a byte in each language, against NumPy's bits."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import has_inverse
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.kernels.gather import Gather
from tests.support import cuda_host
from tests.support.moves import random_move


class Side(NamedTuple):
    """A layout of two dimensions: which one varies slowest, and a tile of it."""

    order: tuple[int, int]
    tile: tuple[int, int] | None

    def text(self, width: int) -> str:
        tile = f"T({self.tile[0]},{self.tile[1]})" if self.tile else ""
        return f"{{{self.order[1]},{self.order[0]}:{tile}E({width})}}"

    def slots(self, array: Any, fill: int) -> Any:
        """The elements in the order of the buffer, by NumPy alone."""
        array = array.transpose(self.order)
        if self.tile is None:
            return array.reshape(-1)
        (m, n), (a, b) = array.shape, self.tile
        padded = np.full((-(-m // a) * a, -(-n // b) * b), fill, array.dtype)
        padded[:m, :n] = array
        return padded.reshape(-(-m // a), a, -(-n // b), b).swapaxes(1, 2).reshape(-1)


def bytes_of(slots: Any, width: int, order: Any) -> bytes:
    """Numbers side by side, the first from the lowest or the highest bit."""
    bits = slots.reshape(-1, 1) >> np.arange(width) & 1
    bits = bits if order == "little" else bits[:, ::-1]
    return bytes(np.packbits(bits.astype(np.uint8).reshape(-1), bitorder=order))


class Case(NamedTuple):
    """A relayout, and what it must do."""

    relayout: ml.Relayout
    options: dict[str, Any]
    sizes: dict[str, int]
    source: bytes
    wanted: bytes

    @property
    def texts(self) -> str:
        return f"{self.relayout.source.source} to {self.relayout.target.source} {self.options}"


def drawn(random: Random) -> Case:
    width = random.choice([1, 2, 3, 4, 4, 5, 6, 7])
    tiles = [None, None, (2, 8), (8, 4), (3, 5), (1, 2)]
    sides = [Side(random.choice([(0, 1), (1, 0)]), random.choice(tiles)) for _ in range(2)]
    shape = random.randint(1, 20), random.randint(1, 20)
    names = random.choice(["", "", "M", "N", "MN"])
    called = ("size" if names == "M" else "M", "N")  # kernels name the bytes of the target so
    pairs = [*zip("MN", called, shape, strict=True)]
    sizes = {own: n for name, own, n in pairs if name in names}
    dims = ",".join(own if name in names else str(n) for name, own, n in pairs)
    orders = (random.choice(["little", "big"]), random.choice(["little", "big"]))
    fill = random.choice([..., 0, (1 << width) - 1])
    array = np.random.default_rng(random.randint(0, 9)).integers(0, 1 << width, shape)
    first, second = (side.text(width) for side in sides)
    relayout = ml.relayout(f"u8[{dims}]{first}", f"u8[{dims}]{second}")
    made = sides[1].slots(array, 0 if fill is ... else fill)
    return Case(
        relayout,
        {"fill": fill, "bitorder": orders},
        sizes,
        bytes_of(sides[0].slots(array, 1), width, orders[0]),
        bytes_of(made, width, orders[1]),
    )


CASES = [drawn(Random(seed)) for seed in range(30)]


def texts(language: str, cases: Sequence[Case]) -> list[str]:
    return [case.relayout.kernel(language, name=f"move{k}", **case.options)
            for k, case in enumerate(cases)]  # fmt: skip


def called(loaded: ctypes.CDLL, k: int, case: Case, *more: Any) -> bytes:
    made = (ctypes.c_uint8 * len(case.wanted))()
    given = [ctypes.c_size_t(n) for _, n in sorted(case.sizes.items())]
    getattr(loaded, f"move{k}")(made, case.source, *given, *more)
    return bytes(made)


def in_c(cases: Sequence[Case], place: Path) -> Callable[[int], bytes]:
    path, built = place / "moves.c", place / "moves.so"
    path.write_text("\n".join(texts("c", cases)))
    flags = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
             "-fsanitize=undefined", "-fno-sanitize-recover")  # fmt: skip
    subprocess.run(["gcc", *flags, str(path), "-o", str(built)], check=True)
    loaded = ctypes.CDLL(str(built))
    return lambda k: called(loaded, k, cases[k], None)


def in_cuda(cases: Sequence[Case], place: Path) -> Callable[[int], bytes]:
    loaded = cuda_host.library(texts("cuda", cases), place)
    return lambda k: called(loaded, k, cases[k], None)


def in_rust(cases: Sequence[Case], place: Path) -> Callable[[int], bytes]:
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    parts = []
    for k, (text, case) in enumerate(zip(texts("rust", cases), cases, strict=True)):
        sizes = "".join(f", {n}" for _, n in sorted(case.sizes.items()))
        parts += [text, f"#[no_mangle] pub extern \"C\" fn call{k}(to: *mut u8, of: *const u8)",
                  "{ unsafe {",
                  f"move{k}(std::slice::from_raw_parts_mut(to, {len(case.wanted)}),",
                  f"std::slice::from_raw_parts(of, {len(case.source)}){sizes}) }} }}"]  # fmt: skip
    path, built = place / "moves.rs", place / "moves.so"
    path.write_text("\n".join(parts))
    flags = ("--crate-type=cdylib", "-C", "debug-assertions", "-D", "warnings", "--edition=2021")
    subprocess.run(["rustc", *flags, str(path), "-o", str(built)], check=True)
    loaded = ctypes.CDLL(str(built))

    def call(k: int) -> bytes:
        made = (ctypes.c_uint8 * len(cases[k].wanted))()
        getattr(loaded, f"call{k}")(made, cases[k].source)
        return bytes(made)

    return call


def in_python(cases: Sequence[Case], _: Path) -> Callable[[int], bytes]:
    names: dict[str, Any] = {}
    for text in texts("python", cases):
        exec(text, names)

    def call(k: int) -> bytes:
        data = np.frombuffer(cases[k].source, np.uint8)
        sizes = {{"size": "size_size_"}.get(name, name): n for name, n in cases[k].sizes.items()}
        return bytes(names[f"move{k}"](data, **sizes))

    return call


@pytest.mark.parametrize("language", [in_c, in_cuda, in_rust, in_python])
def test_each_language_moves_bits_as_numpy_does(language: Any, tmp_path: Path) -> None:
    call = language(CASES, tmp_path)
    for k, case in enumerate(CASES):
        assert call(k) == case.wanted, case.texts


def test_compiled_functions_move_bits_as_numpy_does() -> None:
    for case in CASES[::5]:
        move = case.relayout.compile(**case.options)
        assert move(case.source, **case.sizes).tobytes() == case.wanted, case.texts


def test_numpy_moves_them_without_a_compiler() -> None:
    for case in CASES:
        width, options = case.relayout.bits, case.options
        fill = 0 if options["fill"] is ... else options["fill"]
        move = case.relayout
        gather = Gather(
            move.source,
            move.target,
            partial(getattr, move, "form"),
            width or 0,
            fill,
            options["bitorder"],
        )
        made = np.full(len(case.wanted), 0xEE, np.uint8)
        gather.by_numpy(np.frombuffer(case.source, np.uint8), made, case.sizes)
        assert made.tobytes() == case.wanted, case.texts


@pytest.mark.parametrize("language", [in_c, in_cuda, in_rust, in_python])
def test_padding_may_stay(language: Any, tmp_path: Path) -> None:
    """Without a fill the bits of padding, and those behind the last slot, are left alone."""
    found = []
    for width, order, dims in product((1, 3, 4, 6), ("little", "big"), ("3,5", "M,5")):
        end = f"E({width})}}"
        relayout = ml.relayout(f"u8[{dims}]{{1,0:{end}", f"u8[{dims}]{{1,0:T(2,3){end}")
        sizes = {"M": 3} if "M" in dims else {}
        array = np.arange(15).reshape(3, 5) % (1 << width)
        slots = Side((0, 1), (2, 3)).slots(array, 0)
        wanted = bytes_of(slots, width, order)
        options = {"fill": None, "bitorder": order}
        source = bytes_of(array.reshape(-1), width, order)
        found.append(Case(relayout, options, sizes, source, wanted))
    call = language(found, tmp_path)
    for k, case in enumerate(found):
        assert call(k) == case.wanted, case.texts  # the target was zeros


@pytest.mark.parametrize(
    ("source", "target", "shape"),
    [
        ("(4,6):(6,1)", "(4,6):(1,4)", None),
        ("NCHW", "NHWC", (2, 3, 4, 5)),
        ("lambda k: (k//2, 1 - k%2)", "[0]", (24,)),
        ("a b -> b a", "[1, 0, 0 p(4)]", (8, 10)),
    ],
)
@pytest.mark.parametrize("width", [1, 4, 6])
def test_layouts_of_each_notation_take_bits(
    source: str, target: str, shape: Any, width: int
) -> None:
    relayout = ml.relayout(source, target, shape)
    array = np.arange(relayout.source.size) % (1 << width)
    wanted = relayout.compile("uint8")(array.astype(np.uint8))
    move = relayout.compile(bits=width, bitorder=("big", "little"))
    made = move(bytes_of(array, width, "big")).tobytes()
    assert made == bytes_of(wanted, width, "little")


def test_views_leave_the_bits_beside_them() -> None:
    """Random slices of arrays: what lies beside the target's elements stays, or is filled."""
    for seed in range(24):
        move, width = random_move(seed), 1 + seed % 7
        relayout = ml.relayout(move.source, move.target)
        if not has_inverse(move.target.recipe):
            with pytest.raises(LayoutError, match="has no inverse formula"):
                relayout.compile(bits=width)
            continue
        random = np.random.default_rng(seed)
        buffer = random.integers(0, 1 << width, move.source.size)
        before = random.integers(0, 1 << width, move.target.size)
        for fill in (None, 1):
            out = np.frombuffer(bytes_of(before, width, "big"), np.uint8).copy()
            beside = before if fill is None else np.full_like(before, fill)
            wanted = bytes_of(move.expected(buffer, beside), width, "big")
            f = relayout.compile(bits=width, fill=fill, bitorder=("little", "big"))
            assert f(bytes_of(buffer, width, "little"), out).tobytes() == wanted, move.told
