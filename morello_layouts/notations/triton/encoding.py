"""An encoding of Triton: its kind and its fields, by the names that MLIR prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from operator import mod
from typing import Any, Final, TypeAlias

from morello_layouts.core.checks import Part, as_permutation, shown
from morello_layouts.core.description import listed
from morello_layouts.core.fields import Displayed, checked, frozen, number
from morello_layouts.errors import LayoutError

# The fields of each kind with their types; a field with ? may be absent.
_CLUSTER: Final = "CGALayout?:bases CTAsPerCGA?:sizes CTASplitNum?:sizes CTAOrder?:order"
_SWIZZLED: Final = f"vec:power perPhase:power maxPhase:power order:order {_CLUSTER}"
KINDS: Final = {
    kind: dict(field.split(":") for field in fields.split())
    for kind, fields in {
        "blocked": f"sizePerThread:sizes threadsPerWarp:sizes warpsPerCTA:sizes order:order "
        f"{_CLUSTER}",
        "slice": "dim:number parent:encoding",
        "dot_op": "opIdx:number parent:encoding kWidth?:power",
        "nvidia_mma": f"versionMajor:number versionMinor?:number warpsPerCTA:sizes "
        f"instrShape:numbers {_CLUSTER}",
        "amd_mfma": f"version:number warpsPerCTA:sizes instrShape:sizes isTransposed:flag "
        f"tilesPerWarp?:sizes elementBitWidth?:power {_CLUSTER}",
        "amd_wmma": f"version:number isTranspose:flag ctaLayout?:warps warpsPerCTA?:sizes "
        f"tilesPerWarp?:sizes instrShape?:sizes {_CLUSTER}",
        "dpas": "repeatCount:power systolicDepth:power executionSize:power opsPerChan:power "
        "threadsPerWarp:power warpsPerCTA:sizes repCluster?:sizes",
        **dict.fromkeys(
            ("linear", "generic_linear"), "register:bases lane:bases warp:bases block?:bases"
        ),
        "swizzled_shared": _SWIZZLED,
        "amd_rotating_shared": _SWIZZLED,
        "nvmma_shared": f"swizzlingByteWidth:number transposed:flag elementBitWidth:power "
        f"fp4Padded?:flag rank?:number {_CLUSTER}",
        "padded_shared": f"paddings:paddings order?:order shape?:sizes offset?:bases "
        f"block?:bases {_CLUSTER}",
        "shared_linear": "offset:bases block?:bases alignment?:power",
        "tensor_memory_encoding": "blockM:number blockN:power colStride:power CGALayout?:bases "
        "twoCTAs?:flag fp4Padded?:flag",
        "tensor_memory_scales_encoding": "CGALayout?:bases blockRepOrder?:word",
    }.items()
}
_TENSOR_CORES: Final = ("nvidia_mma", "amd_mfma", "amd_wmma", "dpas")
MEMORY_KINDS: Final = tuple(kind for kind in KINDS if "shared" in kind or "memory" in kind)
_OUTSIDE: Final = ("paddings", "alignment")
"""Fields that stand outside of the braces."""

ORDERS: Final = ("mnThenK", "kThenMn")
"""In which order blocks of scale factors follow each other: rows first, or k."""

Field: TypeAlias = tuple[str, Any]
Rule: TypeAlias = tuple[Callable[["Encoding"], bool], str, str]


def _known(given: Any, _: str, part: Part) -> str:
    if given in KINDS:
        return str(given)
    raise LayoutError(
        f"{shown(given)} is not an encoding that is known here",
        f"the encodings are {listed([*KINDS])}",
        "write one of them, or the bases of its linear layout",
        part=part,
    )


@frozen
class Encoding(Displayed):
    """An encoding: how the elements of a tensor are given to registers and lanes, or to memory.

    >>> print(Encoding("shared_linear", (("offset", ((0, 1), (1, 1))),)))
    #ttg.shared_linear<{offset = [[0, 1], [1, 1]]}>
    """

    kind: str = checked(_known)  #: such as ``blocked``.
    #: pairs (name, value). A value is an int, a bool, an encoding, or a tuple of ints, of bases, of
    #: (interval, padding), or of (name, bases) for the warps of ``amd_wmma``; a word of ``ORDERS``.
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        types = self._types
        for name, value in self.fields:
            if name not in types:
                near = get_close_matches(name, types, 1)
                raise LayoutError(
                    f"{self.kind} has no field {name}",
                    f"its fields are {listed([*types])}",
                    f"write {near[0]}" if near else "leave it out",
                    part=("fields", name),
                )
            _CHECKS[types[name]](value, name, ("fields", name))
        names = [name for name, _ in self.fields]
        for name in KINDS[self.kind]:
            if not name.endswith("?") and name not in names:
                raise LayoutError(
                    f"{self.kind}: expected a field {name}, got none",
                    f"its fields are {listed([*types])}",
                    f"add {name} = …",
                )
        for name in names:
            if names.count(name) > 1:
                raise _wrong(name, "one value", "two", ("fields", name), "leave one out")
        self._require_fit()

    @property
    def _types(self) -> dict[str, str]:
        return {name.rstrip("?"): each for name, each in KINDS[self.kind].items()}

    def _require_fit(self) -> None:
        rank, types = self.rank, self._types
        for name, value in self.fields:
            kind, own = types[name], len(value) if isinstance(value, tuple) else 0
            part = ("fields", name)
            if kind == "order":
                as_permutation(value, name, rank, part=part)
            vectors = value if kind == "bases" else ()
            if kind == "warps":
                vectors = [vector for _, bases in value for vector in bases]
            for k, vector in enumerate(vectors):
                if len(vector) != (rank or len(vector)):
                    got = f"{len(vector)} numbers"
                    raise _wrong(name, f"{rank} numbers in a basis", got, (*part, k), _ONE_EACH)
            if kind == "sizes" and own != rank and name != "instrShape":
                raise _wrong(name, f"{rank} sizes", str(own), part, _ONE_EACH)
        for rule, name, expected in (*_RULES.get(self.kind, ()), *_CLUSTER_RULES):
            if not rule(self):
                got = _text(self.get(name, None), name) if name in self else "nothing"
                raise _wrong(name, expected, got, ("fields", name), _AS_PRINTED)

    @property
    def rank(self) -> int | None:
        """The number of dimensions of a tensor; None if the fields do not tell."""
        if "parent" in self:
            rank = self.encoding().rank
            return rank if rank is None else rank - (self.kind == "slice")
        for name in ("order", "warpsPerCTA", "shape", "CTAOrder"):
            if name in self:
                return len(self.numbers(name))
        known = self.get(
            "rank", 2 if self.kind == "nvmma_shared" or self.is_tensor_memory else None
        )
        return next(map(len, self._vectors()), known)

    def _vectors(self) -> Iterator[tuple[int, ...]]:
        for name in ("register", "lane", "warp", "block", "offset", "CGALayout"):
            yield from self.numbers(name)
        for _, part in self.numbers("ctaLayout"):
            yield from part

    @property
    def is_memory(self) -> bool:
        """Whether it places elements in shared or in tensor memory."""
        return self.kind in MEMORY_KINDS

    @property
    def is_tensor_memory(self) -> bool:
        """Whether it places elements in the tensor memory of NVIDIA's Blackwell."""
        return self.kind.startswith("tensor_memory")

    def get(self, name: str, default: Any) -> Any:
        """Return a field, or the default if it is absent."""
        return next((value for each, value in self.fields if each == name), default)

    def __contains__(self, name: str) -> bool:
        return any(each == name for each, _ in self.fields)

    def number(self, name: str) -> int:
        """Return a number or flag; 0 if it is absent."""
        return int(self.get(name, 0))

    def numbers(self, name: str) -> tuple[Any, ...]:
        """Return a list; an empty one if it is absent."""
        return tuple(self.get(name, ()))

    def encoding(self) -> Encoding:
        """Return the parent."""
        found: Encoding = self.get("parent", None)
        return found

    @property
    def texts(self) -> Iterator[Field]:
        """The fields as text, with their names."""
        for name, value in self.fields:
            text = f"{name} = {_text(value, name)}"
            if name == "paddings":
                text = f"[{', '.join(f'{interval}:+{padding}' for interval, padding in value)}]"
            yield name, text

    def __str__(self) -> str:
        inside = ", ".join(text for name, text in self.texts if name not in _OUTSIDE)
        before = "".join(f"{text} " for name, text in self.texts if name == "paddings")
        after = "".join(f", {text}" for name, text in self.texts if name == "alignment")
        if self.is_tensor_memory:
            return f"#ttng.{self.kind}<{inside}>"
        dialect = "ttig" if self.kind == "dpas" else "ttg"
        return f"#{dialect}.{self.kind}<{before}{{{inside}}}{after}>"


_ONE_EACH: Final = "give one for each dimension"
_AS_PRINTED: Final = "write the encoding as Triton prints it"


def _wrong(name: str, expected: str, got: str, part: Part, fix: str) -> LayoutError:
    return LayoutError(f"{name}: expected {expected}, got {got}", "", fix, part=part)


def _text(value: Any, name: str = "") -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if name == "ctaLayout":
        return f"{{{', '.join(f'{axis} = {_text(bases)}' for axis, bases in value)}}}"
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, tuple) else str(value)


# ---- the types of fields


Check: TypeAlias = Callable[[Any, str, Part], object]


def _power(value: Any, name: str, part: Part) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value.bit_count() != 1 or value < 1:
        what = f"{name}: expected a power of two, got {_text(value)}"
        why = "Triton's layouts choose bits of coordinates"
        raise LayoutError(what, why, "write 1, 2, 4 and so on", part=part)


def _flag(value: Any, name: str, part: Part) -> None:
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", _text(value), part, "write true or false")


def _list(item: Check) -> Check:
    def check(value: Any, name: str, part: Part) -> None:
        if not isinstance(value, tuple):
            raise _wrong(name, "a list", _text(value), part, "write a list in brackets")
        for k, each in enumerate(value):
            item(each, name, (*part, k))

    return check


def _order(value: Any, name: str, part: Part) -> None:
    _numbers(value, name, part)
    as_permutation(value, name, part=part)


def _warps(value: Any, name: str, part: Part) -> None:
    for pair in value if isinstance(value, tuple) else (value,):
        if not isinstance(pair, tuple) or pair[0] not in ("register", "warp"):
            fix = "write {register = [[0, 1]], warp = [[1, 0]]}"
            raise _wrong(name, "bases of register and warp", _text(value), part, fix)
        _bases(pair[1], name, part)


def _paddings(value: Any, _: str, part: Part) -> None:
    for k, (interval, padding) in enumerate(value):
        _power(interval, "an interval", (*part, k))
        _power(padding, "a padding", (*part, k))
    if len(dict(value)) < len(value) or not value:
        got = "one twice" if value else "none"
        raise _wrong("intervals", "different ones", got, part, "write for example [64:+4]")


def _word(value: Any, name: str, part: Part) -> None:
    if value not in ORDERS:
        raise _wrong(name, listed(ORDERS, "or"), _text(value), part, "write one of them")


def _registers(value: Any, name: str, part: Part) -> None:
    if not isinstance(value, Encoding) or value.is_memory:
        fix = "write for example #ttg.blocked<…>"
        raise _wrong(name, "an encoding of registers", _text(value), part, fix)


_number: Final = number()
_numbers: Final = _list(_number)
_bases: Final = _list(_numbers)
_CHECKS: Final[Mapping[str, Check]] = {
    "number": _number,
    "power": _power,
    "flag": _flag,
    "numbers": _numbers,
    "sizes": _list(_power),
    "order": _order,
    "bases": _bases,
    "warps": _warps,
    "paddings": _paddings,
    "encoding": _registers,
    "word": _word,
}


# ---- rules between fields: what must hold, the field to blame, and what is expected of it


def _among(name: str, *values: int) -> Rule:
    """The rule that a number, if it is there, is one of some values."""
    expected = listed([str(n) for n in values], "or")
    return lambda e: name not in e or e.number(name) in values, name, expected


def _is_instruction(e: Encoding) -> bool:
    """Whether ``nvidia_mma`` has the sizes of an instruction of its version."""
    sizes = e.numbers("instrShape")
    if e.number("versionMajor") == 2:
        return sizes == (1,) * ((e.rank or 2) - 2) + (16, 8)
    return len(sizes) >= 2 and sizes[0] == 16 and sizes[1] in range(8, 257, 8)


_MFMA: Final = ((16, 16), (32, 32), (4, 64), (64, 4))
_WMMA: Final = ((16, 16), (32, 16))
_RANK: Final[Rule] = lambda e: e.rank in (2, 3), "warpsPerCTA", "2 or 3 sizes"
_CLUSTER_RULES: Final[tuple[Rule, ...]] = (
    (
        lambda e: ("CTAsPerCGA" in e) == ("CTASplitNum" in e) == ("CTAOrder" in e),
        "CTAsPerCGA",
        "it with CTASplitNum and CTAOrder",
    ),
    (
        lambda e: not any(map(mod, e.numbers("CTAsPerCGA"), e.numbers("CTASplitNum"))),
        "CTASplitNum",
        "divisors of CTAsPerCGA",
    ),
)
_RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "slice": (
        (lambda e: e.rank is None or e.number("dim") <= e.rank, "dim", "a dimension of the parent"),
    ),
    "dot_op": (
        _among("opIdx", 0, 1),
        (
            lambda e: e.encoding().kind in ("blocked", *_TENSOR_CORES),
            "parent",
            f"a {listed(['blocked', *_TENSOR_CORES], 'or')} encoding",
        ),
        (lambda e: e.rank in (None, 2, 3), "parent", "2 or 3 dimensions"),
        (lambda e: e.encoding().kind == "blocked" or "kWidth" in e, "kWidth", "a power of two"),
        (
            lambda e: not (e.number("opIdx") and e.encoding().number("versionMajor") == 3),
            "opIdx",
            "0, since Hopper reads B from shared memory",
        ),
    ),
    "nvidia_mma": (
        _among("versionMajor", 2, 3),
        _RANK,
        (_is_instruction, "instrShape", "[16, 8], or [16, n, k] of Hopper, n a multiple of 8"),
    ),
    "amd_mfma": (
        _RANK,
        (lambda e: e.numbers("instrShape")[:2] in _MFMA, "instrShape", f"one of {_text(_MFMA)}"),
        _among("elementBitWidth", 32, 64),
    ),
    "amd_wmma": (
        _among("version", 1, 2, 3),
        (lambda e: ("ctaLayout" in e) != ("warpsPerCTA" in e), "ctaLayout", "it or warpsPerCTA"),
        (
            lambda e: (
                "instrShape" not in e
                or (len(e.numbers("instrShape")) == 3 and e.numbers("instrShape")[:2] in _WMMA)
            ),
            "instrShape",
            "[16, 16, k] or [32, 16, k]",
        ),
    ),
    "dpas": (
        _RANK,
        (lambda e: e.number("repeatCount") <= 8, "repeatCount", "1 to 8"),
        _among("systolicDepth", 8),
        _among("executionSize", 8, 16),
        _among("opsPerChan", 1, 2, 4),
        _among("threadsPerWarp", 16, 32),
    ),
    "nvmma_shared": (
        _among("swizzlingByteWidth", 0, 32, 64, 128),
        _among("elementBitWidth", 8, 16, 32, 64),
        (
            lambda e: (
                not e.number("fp4Padded")
                or (e.number("swizzlingByteWidth"), e.number("elementBitWidth")) == (128, 8)
            ),
            "fp4Padded",
            "false, unless swizzlingByteWidth is 128 and elementBitWidth 8",
        ),
    ),
    "tensor_memory_encoding": (
        _among("blockM", 64, 128),
        (
            lambda e: not e.number("twoCTAs") or e.numbers("CGALayout")[:1] == ((1, 0),),
            "CGALayout",
            "[1, 0] first, as two blocks work together",
        ),
        (
            lambda e: not e.number("fp4Padded") or e.number("colStride") == 1,
            "colStride",
            "1, as fp4Padded has gaps of its own",
        ),
    ),
    "padded_shared": (
        (
            lambda e: ("offset" in e) != ("order" in e and "shape" in e),
            "order",
            "it and shape, or offset",
        ),
    ),
}
