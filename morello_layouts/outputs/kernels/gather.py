"""Relayouts of elements narrower than a byte by their formula: C, CUDA, Rust and Python.

Elements are gathered: a turn of the loop makes the fewest whole bytes of the target, so that
turns share none. It finds each of its elements in the source, or that there is padding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from ctypes import c_size_t, c_void_p
from dataclasses import field, replace
from math import lcm
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, cast

from morello_layouts.core.checks import shown
from morello_layouts.core.expr import AffineExpr, Var
from morello_layouts.core.expr.assumptions import Assumption, checked_sizes
from morello_layouts.core.expr.bounds import Interval
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, evaluated
from morello_layouts.core.expr.substitution import map_ints
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.outputs.codegen import LANGUAGES, Formulas
from morello_layouts.outputs.codegen.bits import BYTES, indented
from morello_layouts.outputs.codegen.printer import ATOM, SUM, IntType, Text
from morello_layouts.outputs.codegen.programs import ProgramLanguage
from morello_layouts.outputs.kernels.build import compiler, load
from morello_layouts.outputs.kernels.c_loops import argument
from morello_layouts.outputs.kernels.emit_c import require_function_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


_HEADS: Final = {
    "c": "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n",
    "cuda": "#include <cuda_runtime.h>\n#include <stddef.h>\n#include <stdint.h>\n",
    "rust": "",
}
_OPENINGS: Final = {
    "c": "void {name}(uint8_t *restrict target, const uint8_t *restrict source{sizes}) {{",
    "cuda": "__global__ void {name}_bytes(uint8_t *target, const uint8_t *source{sizes}) {{",
    "rust": "#[allow(non_snake_case, unused_parens)]\n"
    "pub fn {name}(target: &mut [u8], source: &[u8]{sizes}) {{",
}
_LAUNCH: Final = """
/* Both buffers are on the device. */
extern "C" cudaError_t {name}(void *target, const void *source{sizes}, cudaStream_t stream)
{{
{lines}
    if (turns)
        {name}_bytes<<<(unsigned)((turns + 255) / 256), 256, 0, stream>>>(
            (uint8_t *)target, (const uint8_t *)source{passed});
    return cudaGetLastError();
}}
"""
_PYTHON: Final = """\
import numpy as np


# {about}
def {name}(source, target=None{sizes}):
    \"\"\"Return the target's bytes from the source's, arrays of uint8.\"\"\"
    slots = {slots}
    p = np.arange(slots)
    {statements}
    if target is None:
        target = np.zeros(-(-slots * {width} // 8), np.uint8)
    bits = np.unpackbits(source, bitorder="{read}")
    at = {at}
    found = bits[: len(bits) // {width} * {width}].reshape(-1, {width})[at]{turned}
    own = np.unpackbits(target, bitorder="{write}")
    {padding}
    own[: slots * {width}] = found.reshape(-1)
    target[:] = np.packbits(own, bitorder="{write}")
    return target
"""
_OWN: Final = {"q", "at", "bit", "bits", "own", "word", "size", "slots", "turns", "found",
               "is_padding", "np"}  # fmt: skip
_Order: TypeAlias = Literal["little", "big"]
GATHERED: Final = (*_HEADS, "python")
"""The languages that these relayouts are written in."""


@frozen(slots=False)
class Gather:
    """A relayout of elements of 1 to 7 bits that lie side by side in bytes."""

    source: IndexMap  #: of the buffer that is read.
    target: IndexMap  #: of the buffer that is written.
    #: returns the source's offset of the element at the target's offset ``p``.
    form: Callable[[], AffineExpr]
    width: int  #: the bits of an element.
    #: the bits of an element of padding; None to leave them as they are.
    fill: int | None = 0
    #: which end of a byte, and of an element, comes first in the source and in the target.
    orders: tuple[_Order, _Order] = ("little", "little")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of sizes, in the order of the function's arguments."""
        return tuple(sorted({*self.source.recipe.names, *self.target.recipe.names}))

    def text(self, name: str = "relayout", language: str = "c") -> str:
        """Return the kernel as a source file: a function of target and source, and of sizes.

        In C it has scratch memory as third argument, which it leaves alone, if all sizes are
        numbers. In Python source comes first, and sizes are given by name.
        """
        if language not in GATHERED:
            raise UnsupportedError(
                f"target: expected one of {', '.join(GATHERED)}, got {shown(language)}",
                "relayouts of elements narrower than a byte are written in these languages",
                "give one of them, or dtype, the type of items of whole bytes",
            )
        require_function_name(name, language)
        return _Writer(self, language, name).text()

    def sizes_at(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Return the bytes of the source and of the target."""
        have, want = (int(evaluated(m.recipe.size, sizes)) for m in (self.source, self.target))
        return -(-have * self.width // 8), -(-want * self.width // 8)

    def by_numpy(self, data: Any, made: Any, sizes: Mapping[str, int]) -> None:
        """Move all elements at once, by the formulas of both layouts."""
        source, target = (m.at(**sizes) if sizes else m for m in (self.source, self.target))
        grid = np.indices(known(source.shape), sparse=True)
        places = (np.broadcast_to(m(*grid), known(source.shape)) for m in (source, target))
        read, write = (place.reshape(-1) for place in places)
        slots = known((target.recipe.size,))[0]
        bits = np.unpackbits(data, bitorder=self.orders[0])
        moved = bits[: len(bits) // self.width * self.width].reshape(-1, self.width)[read]
        own = np.unpackbits(made, bitorder=self.orders[1])
        if self.fill is not None:
            own[:] = 0
            own[: slots * self.width] = np.tile(self._fill_bits, slots)
        whole = own[: slots * self.width].reshape(-1, self.width)
        whole[write] = moved[:, :: -1 if self.orders[0] != self.orders[1] else 1]
        made[:] = np.packbits(own, bitorder=self.orders[1])

    @property
    def _fill_bits(self) -> list[int]:
        found = [(self.fill or 0) >> k & 1 for k in range(self.width)]
        return found[::-1] if self.orders[1] == "big" else found

    def compile(self) -> NarrowFunction:
        """Return the kernel as a function on NumPy bytes; it works in NumPy without a compiler."""
        return NarrowFunction(self, built(self.text()), 1, self.names, self.target.assumptions)


class _Writer:
    """What writes one kernel."""

    def __init__(self, of: Gather, language: str, name: str) -> None:
        self.of, self.name, self.target = of, name, language
        self.scratch = language == "c" and not of.names
        self.language = cast(ProgramLanguage, LANGUAGES[language]())
        self.group = lcm(of.width, 8) // 8  # bytes of a turn
        self.each = self.group * 8 // of.width
        self.slots = self._number(of.target.recipe.size)
        self.is_whole = bool(self.slots % self.each == 0)
        self.turns = ceil_quotient(self.slots, self.each)
        known = of.target.assumptions
        self.assumptions = tuple(replace(one, name=self._size(one.name)) for one in known)
        self.limits = tuple((map_ints(x, self._number), self._number(n))
                            for x, n in of.target.inverse.limits)  # fmt: skip
        self.p = Var("p", Interval(0, self.slots - 1))
        at = (("at", map_ints(of.form(), self._number)),)
        self.formulas = Formulas(
            "", "", (self.p,), at, self.limits or None, assumptions=self.assumptions
        )

    def _size(self, name: str) -> str:
        is_own = name in _OWN or not self.language.is_name(name)
        return f"size_{name}_" if is_own and name.isascii() else argument(name)

    def _number(self, n: Int) -> Int:
        if isinstance(n, int):
            return n
        found: Int = n.evaluate({name: SizeExpr.named(self._size(name)) for name in n.names()})
        return found

    def _text_of(self, n: Int) -> str:
        formulas = Formulas("", "", (), (("", AffineExpr((), n)),), assumptions=self.assumptions)
        return self.language.expression(formulas)

    def text(self) -> str:
        of = self.of
        about = f"{of.source.source} to {of.target.source}: {of.width} bits each"
        sizes, about = [self._size(name) for name in of.names], " ".join(about.split())
        if self.target == "python":
            return self._python(sizes, about)
        lines = [*self._whole()]
        pattern = ", {}: u64" if self.target == "rust" else ", size_t {}"
        given = "".join(pattern.format(size) for size in sizes)
        scratch = ", uint8_t *restrict scratch" * self.scratch
        used = set(re.findall(r"\w+", "\n".join(lines)))
        ignored = [self.language.discard.format(x) for x in [*sizes, *["scratch"] * self.scratch]
                   if x not in used]  # fmt: skip
        opening = _OPENINGS[self.target].format(name=self.name, sizes=scratch + given)
        body = indented([opening, *ignored, *lines, "}"], is_python=False)
        found = [*filter(None, [_HEADS[self.target]]), f"// {about}", *body]
        if self.target == "cuda":
            launch = [
                self._named("turns", self.turns),
                *map("(void){};".format, sizes),
                "(void)stream;",
            ]
            passed = "".join(f", {size}" for size in sizes)
            text = "\n".join(f"    {line}" for line in launch)
            found.append(_LAUNCH.format(name=self.name, sizes=given, passed=passed, lines=text))
        return "\n".join(found).rstrip("\n") + "\n"

    def _python(self, sizes: list[str], about: str) -> str:
        of = self.of
        fill = f"own[: slots * {of.width}].reshape(-1, {of.width})[is_padding]"
        if of.fill is not None:
            fill = str(of._fill_bits)
        padding = [f"found[is_padding] = {fill}"] * bool(self.limits)
        padding += ["own[:] = 0"] * (of.fill is not None)
        return _PYTHON.format(
            about=about, name=self.name, width=of.width, slots=self._text_of(self.slots),
            sizes=f", *, {', '.join(sizes)}" if sizes else "",
            statements="\n    ".join(self.language.statements(self.formulas).splitlines()),
            read=of.orders[0], write=of.orders[1],
            at="np.where(is_padding, 0, at)" if self.limits else "at + 0 * p",
            turned="[:, ::-1]" if of.orders[0] != of.orders[1] else "",
            padding="\n    ".join(padding),
        ).replace("    \n", "")  # fmt: skip

    def _named(self, name: str, value: Int | str) -> str:
        """Return the line that names a number of 64 bits."""
        if isinstance(value, SizeExpr):
            value = self._wide(self._text_of(value))
        return self.language.statement(name, str(value), IntType.U64)

    def _wide(self, text: str, kind: IntType = IntType.U64) -> str:
        return self.language.cast(Text(text, ATOM if text.isalnum() else SUM), kind).text

    def _loop(self, name: str, stop: object) -> str:
        kind = self.language.type_of(IntType.U64)
        return self.language.loop.format(v=name, type=kind, start=0, stop=stop)

    def _whole(self) -> Iterator[str]:
        """Yield the lines of the function."""
        of, inner = self.of, [*self._turn()]
        used = set(re.findall(r"\w+", "\n".join(inner)))
        numbers = {"slots": self.slots, "size": ceil_quotient(self.slots * of.width, 8)}
        yield from (self._named(name, n) for name, n in numbers.items() if name in used)
        yield self._named("turns", self.turns)
        if self.target == "cuda":
            yield self._named("b", "(uint64_t)blockIdx.x * 256 + threadIdx.x")
            yield "if (b < turns) {"
        else:
            yield self._loop("b", "turns")
        yield from inner
        yield "}"

    def _turn(self) -> Iterator[str]:
        """Yield the lines that make the bytes of a turn."""
        of, kind = self.of, self.language.type_of(IntType.U64)
        yield self.language.variable.format(type=kind, name="word", text=0)
        yield self._loop("j", self.each)
        yield from self._element()
        up = f"{of.width} * j"
        if of.orders[1] == "big":
            up = f"{8 * self.group - of.width} - {up}"
        yield f"word |= x << ({up});"
        yield "}"
        for k in range(self.group):
            down = 8 * (self.group - 1 - k if of.orders[1] == "big" else k)
            at = f"{self.group} * b + {k}" if self.group > 1 else "b"
            value = f"word >> {down}" if down else "word"
            line = f"{BYTES[self.target].write.format(array='target', at=at, value=value)};"
            is_sure = self.group == 1 or self.is_whole
            guard = self.language.condition.format(f"{at} < size")
            yield from [line] if is_sure else [guard, line, "}"]

    def _element(self) -> Iterator[str]:
        """Yield the lines that find one element, ``x``."""
        of, select = self.of, self.language.choice.format
        yield self._named("q", f"{self.each} * b + j")
        widths = self.language.widths(self.formulas, declared=True)
        kind = IntType.U64 if widths is None else widths.kind(self.p.interval)
        text = "q" if self.is_whole else select("q >= slots", "0", "q")
        yield self.language.statement("p", self._wide(text, kind), kind)
        yield from self.language.statements(self.formulas).splitlines()
        skipped = ["q >= slots"] * (not self.is_whole) + ["is_padding"] * bool(self.limits)
        condition = " | ".join(f"({one})" for one in skipped)
        bit = f"{of.width} * {self._wide('at')}"
        yield self._named("bit", select(condition, "0", bit) if skipped else bit)
        x = self._loaded("source", "bit", of.orders[0])
        if skipped and of.fill is None:
            yield self._named("own", f"{of.width} * q")
            x = select(condition, self._loaded("target", "own", of.orders[1], last=True), x)
        elif skipped:
            x = select("is_padding", str(of.fill), x) if self.limits else x
            x = x if self.is_whole else select("q >= slots", "0", x)
        yield self._named("x", x)

    def _loaded(self, array: str, bit: str, order: str, *, last: bool = False) -> str:
        """Return the text of the element at a bit; with ``last`` inside of the last byte."""
        width = self.of.width
        at = [f"{bit} / 8", *([f"({bit} + {width - 1}) / 8"] if 8 % width else [])]
        if last:
            at = [self.language.choice.format(f"{one} < size", one, "size - 1") for one in at]
        is_big = order == "big"
        return self._wide(BYTES[self.target].load(array, at, f"{bit} % 8", width, is_big=is_big))


class Narrow(Protocol):
    """A relayout of elements narrower than a byte, as its function asks it."""

    @property
    def width(self) -> int:
        """The bits of an element."""

    def sizes_at(self, sizes: Mapping[str, int], /) -> tuple[int, int]:
        """Return the bytes of the source and of the target."""

    def by_numpy(self, data: Any, made: Any, sizes: Mapping[str, int], /) -> None:
        """Move all elements at once."""


@frozen
class NarrowFunction:
    """A relayout of elements narrower than a byte as a function on bytes."""

    relayout: Narrow  #: what it computes.
    entry: Callable[..., object] | None  #: the function in C; None without a compiler.
    scratch: int  #: bytes of its scratch memory.
    names: tuple[str, ...] = ()  #: the sizes of a call.
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions on them, which each call checks.
    #: scratch memory of calls that are done: new one costs as much as a pass.
    spare: list[Any] = field(default_factory=list, repr=False, compare=False)

    def __call__(
        self, buffer: Any, /, out: NDArray[Any] | None = None, **sizes: int
    ) -> NDArray[Any]:
        """Return the target's bytes.

        Args:
            buffer: the source's bytes.
            out: the array to write to; bytes of it that hold no elements stay as they are.
            sizes: each symbolic size by its name.

        Raises:
            ShapeError: if a size is missing, unknown or not as assumed, or if a buffer does not
                have its layout's size.
        """
        values = checked_sizes(sizes, self.names, self.assumptions)
        have, want = self.relayout.sizes_at(values)
        data = np.ascontiguousarray(np.frombuffer(_as_bytes(buffer), np.uint8))
        made = np.zeros(want, np.uint8) if out is None else out
        for name, array, size in (("buffer", data, have), ("out", made, want)):
            if array.shape != (size,) or array.dtype != np.uint8 or not array.flags.c_contiguous:
                raise ShapeError(
                    f"{name}: expected {size} bytes, got {array.dtype}{list(array.shape)}",
                    f"{size} bytes hold the elements of {self.relayout.width} bits",
                    "give a contiguous array of uint8 of that size",
                )
        if self.entry is None:
            self.relayout.by_numpy(data, made, values)
            return made
        if self.names:
            addresses = (array.ctypes.data_as(c_void_p) for array in (made, data))
            self.entry(*addresses, *(c_size_t(values[name]) for name in self.names))
            return made
        try:
            held = self.spare.pop()
        except IndexError:  # the first call, or one beside another
            held = np.empty(self.scratch, np.uint8)
        self.entry(*(array.ctypes.data_as(c_void_p) for array in (made, data, held)))
        self.spare[:] = [held]
        return made


def _as_bytes(given: Any) -> Any:
    try:
        return memoryview(given)
    except TypeError:
        raise LayoutError(
            f"buffer: expected bytes, got {shown(given)}",
            "elements narrower than a byte lie in bytes",
            "give bytes, or an array of uint8",
        ) from None


def built(text: str) -> Callable[..., object] | None:
    """Return the function of a kernel in C; None without a compiler."""
    command = compiler()
    return None if command is None else load(text, "relayout", command, _FLAGS)


_FLAGS: Final = ("-std=c11", "-O3", "-march=native", "-fPIC", "-shared")
