"""Triton's text: encodings as MLIR prints them, types that have one, linear layouts in lines."""

from __future__ import annotations

from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.triton.layout import TritonLayout

_SYNTAX: Final = Syntax(
    form="an encoding has a kind and fields; a tensor's type has sizes, an element type, encoding",
    example="write for example #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, "
    "order = [1, 0]}>",
    names={
        "TYPE": "a type",
        "DIM": "a size and 'x'",
        "ELEMENT": "an element type",
        "EXTRA": "a memory space",
        "KIND": "an encoding",
        "ALIAS": "an alias",
        "FLAG": "true or false",
        "NAME": "a name",
        "NUMBER": "a number",
        "_ONE": "'is a size 1 dimension'",
        "_WHERE": "'where out dims are:'",
    },
    longest=MAP_TEXT,
)

# What older versions called an encoding or a field.
_OLD_KINDS: Final = {"shared": "swizzled_shared", "mma": "nvidia_mma", "mfma": "amd_mfma"}
_OLD_FIELDS: Final = {
    ("amd_mfma", "versionMajor"): "version",
    ("amd_mfma", "versionMinor"): "",
    ("amd_wmma", "isTransposed"): "isTranspose",
    ("amd_mfma", "isTranspose"): "isTransposed",
    ("padded_shared", "intervals"): "paddings",
}


def parse_triton(text: str) -> TritonLayout:
    """Parse an encoding of Triton, or a type with one.

    Raises:
        ParseError: with a caret at the fault.

    >>> print(parse_triton("#triton_gpu.shared<{vec=1, perPhase=1, maxPhase=1, order=[1, 0]}>"))
    #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    """
    return _Reader(text).layout(parse_tree("triton/triton.lark", "triton_text", text, _SYNTAX))


class _Reader:
    """Turn trees into values, and remember the place of each part in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.aliases: dict[str, Encoding] = {}

    def error(self, what: str, fix: str, position: int, why: str = "") -> ParseError:
        return ParseError(what, why, fix, text=self.text, position=position)

    def layout(self, tree: Any) -> TritonLayout:
        found = None
        for part in tree.children:
            if part.data == "definition":
                alias, encoding = part.children
                if alias in self.aliases:
                    raise self.error(f"{alias} is defined twice", "rename one", alias.start_pos)
                found = TritonLayout(self.encoding(encoding))
                self.aliases[str(alias)] = found.encoding
            elif part.data == "typed":
                return self.typed(part)
            elif part.data == "encoding":
                return TritonLayout(self.encoding(part))
            else:
                return self.linear(part)
        if found is None or len(self.aliases) > 1:
            fix = "write for example tensor<32x32xf16, #blocked>"
            raise self.error("expected a type after the encodings", fix, len(self.text.rstrip()))
        return found

    def typed(self, tree: Any) -> TritonLayout:
        kind, sizes, element, attribute, *after = tree.children
        encoding = self.value(attribute)
        if encoding.is_memory == (kind == "tensor"):
            what = f"a {kind} has no encoding {encoding.kind}"
            why = "a tensor lies in registers, a memdesc in shared memory"
            fix = f"write {'!ttg.memdesc' if encoding.is_memory else 'tensor'}"
            raise self.error(what, fix, kind.start_pos, why)
        name, *pointed = element.children
        places: Places = {("element_type",): name.start_pos, ("shape",): _start(sizes)}
        shape = tuple(integer(size[:-1], self.text, size.start_pos) for size in sizes.children)
        element_type = f"{name}<{', '.join(pointed)}>" if pointed else str(name)
        try:
            return TritonLayout(encoding, shape, element_type, tuple(map(str, after)))
        except LayoutError as error:
            raise at_part(error, self.text, places, places["shape",]) from None

    def encoding(self, tree: Any) -> Encoding:
        kind, *parts = tree.children
        name = kind.partition(".")[2]
        name = _OLD_KINDS.get(name, name)
        places: Places = {("kind",): kind.start_pos}
        fields: list[tuple[str, Any]] = []
        for part in parts:
            if part.data == "paddings":
                pairs = [tuple(integer(n, self.text) for n in p.children) for p in part.children]
                fields.append(("paddings", tuple(pairs)))
                places["paddings",] = kind.start_pos + len(kind)
                places |= {("paddings", k): _start(p) for k, p in enumerate(part.children)}
            else:
                own = part.children if part.data == "fields" else [part]
                fields += [self.field(name, each, places) for each in own]
        fields = [(field, value) for field, value in fields if field]
        return self.made(*self.modern(name, fields), places, kind.start_pos)

    def made(
        self, kind: str, fields: list[tuple[str, Any]], places: Places, start: int
    ) -> Encoding:
        try:
            return Encoding(kind, tuple(fields))
        except LayoutError as error:
            raise at_part(error, self.text, places, start) from None

    def modern(self, kind: str, fields: list[tuple[str, Any]]) -> tuple[str, list[tuple[str, Any]]]:
        """Fields as triton 3.9 has them: a leading offset made a shared encoding Hopper's."""
        given = dict(fields)
        if kind != "swizzled_shared" or "hasLeadingOffset" not in given:
            return kind, fields
        if not given.pop("hasLeadingOffset"):
            return kind, [*given.items()]
        vec, most, order = given.pop("vec"), given.pop("maxPhase"), given.pop("order")
        given.pop("perPhase")
        own = {"swizzlingByteWidth": 16 * most, "transposed": order[0] == 0}
        return "nvmma_shared", [*{**own, "elementBitWidth": 128 // vec, **given}.items()]

    def field(self, kind: str, tree: Any, places: Places) -> tuple[str, Any]:
        name, value = tree.children
        key = _OLD_FIELDS.get((kind, str(name)), str(name))
        places[key,] = name.start_pos
        if getattr(value, "data", "") == "list":
            places |= {(key, k): _start(part) for k, part in enumerate(value.children)}
        return key, self.value(value)

    def value(self, tree: Any) -> Any:
        rule = tree.data if hasattr(tree, "data") else tree.type
        if rule == "NUMBER":
            return integer(tree, self.text)
        if rule == "FLAG":
            return tree == "true"
        if rule == "list":
            return tuple(map(self.value, tree.children))
        if rule == "fields":
            return tuple((str(n), self.value(v)) for n, v in (f.children for f in tree.children))
        if rule == "encoding":
            return self.encoding(tree)
        if tree in self.aliases:
            return self.aliases[tree]
        what = f"{tree} is not defined" if rule == "ALIAS" else f"an unexpected {tree}"
        fix = f"define it before: {tree} = #ttg.blocked<…>" if rule == "ALIAS" else "write a number"
        raise self.error(what, fix, tree.start_pos)

    def linear(self, tree: Any) -> TritonLayout:
        """A linear layout by its bases, in braces or in lines."""
        places: Places = {}
        sizes: tuple[int, ...] | None = None
        if tree.data == "fields":
            fields = dict(self.field("linear", part, places) for part in tree.children)
        else:
            fields, sizes = self.lines(tree, places)
        kind = "shared_linear" if "offset" in fields else "linear"
        if kind == "linear":
            fields = {**dict.fromkeys(("register", "lane", "warp"), ()), **fields}
        start = _start(tree)
        encoding = self.made(kind, [*fields.items()], places, start)
        try:
            return TritonLayout(encoding, sizes)
        except LayoutError as error:
            raise at_part(error, self.text, places, start) from None

    def lines(self, tree: Any, places: Places) -> tuple[dict[str, Any], tuple[int, ...] | None]:
        """The bases of each axis in the order of its bits, and the sizes of the dimensions."""
        fields: dict[str, Any] = {}
        sizes = None
        for part in tree.children:
            rule = getattr(part, "data", "")
            if rule == "where":
                names = [size.children for size in part.children]
                sizes = tuple(integer(number, self.text) for _, number in names)
                continue
            name, *numbers = part.children if rule else (part,)
            found = fields.setdefault(str(name), ())
            places.setdefault((str(name),), name.start_pos)
            if numbers:
                bit, *vector = (integer(number, self.text) for number in numbers)
                if bit != 1 << len(found):
                    what = f"{name}: expected {1 << len(found)}, got {bit}"
                    why = "each line has the next bit of its axis"
                    fix = "write the lines in order"
                    raise self.error(what, fix, numbers[0].start_pos, why)
                places[str(name), len(found)] = name.start_pos
                fields[str(name)] = (*found, tuple(vector))
        return fields, sizes


def _start(tree: Any) -> int:
    """The place of the first character of a part."""
    while getattr(tree, "data", None):
        if not tree.children:
            return 0
        tree = tree.children[0]
    return int(tree.start_pos or 0)
