"""HLO as XLA's own parser reads it: facts out of the protocol buffer that jaxlib makes of a text.

``python -m tests.support.hlo_xla`` records the facts of tests/data/hlo_programs.tar.xz; it needs
jaxlib.
The buffer's fields are read off the wire, by the numbers of XLA's hlo.proto and xla_data.proto,
so nothing here reads HLO text.
"""

from __future__ import annotations

import json
import lzma
import tarfile
from collections.abc import Iterator
from typing import Any

from tests.support.paths import DATA

PROGRAMS = DATA / "hlo_programs.tar.xz"
FACTS = DATA / "hlo_facts.json.xz"

# xla_data.proto, PrimitiveType
TYPES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64",
    10: "f16", 11: "f32", 12: "f64", 14: "opaque", 15: "c64", 16: "bf16", 17: "token",
    18: "c128", 19: "f8e5m2", 20: "f8e4m3fn", 21: "s4", 22: "u4", 23: "f8e4m3b11fnuz",
    24: "f8e5m2fnuz", 25: "f8e4m3fnuz", 26: "s2", 27: "u2", 28: "f8e4m3", 29: "f8e3m4",
    30: "s1", 31: "u1", 32: "f4e2m1fn", 33: "f8e8m0fnu",
}  # fmt: skip
TUPLE, BUFFER = 13, 34


def programs() -> dict[str, str]:
    """The programs of the tests by name."""
    with tarfile.open(PROGRAMS) as archive:
        return {
            member.name.removesuffix(".txt"): archive.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in archive
        }


def recorded() -> dict[str, Any]:
    """The facts as they were recorded."""
    facts: dict[str, Any] = json.loads(lzma.decompress(FACTS.read_bytes()))
    return facts


def facts(text: str) -> dict[str, Any]:
    """What XLA's parser reads: of each computation its root and its instructions.

    An instruction is name, opcode, type, operands, called computations, control predecessors,
    parameter number and op_name. Instructions are sorted by name: the buffer has its own order.
    """
    from jaxlib import _hlo

    module = fields(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    computations = [fields(data) for data in module.get(3, ())]
    names = {c.get(5, [0])[0]: word(c, 1) for c in computations}
    return {
        "name": word(module, 1),
        "entry": word(module, 2),
        "computations": {word(c, 1): computation(c, names) for c in computations},
    }


def computation(proto: dict[int, list[Any]], computations: dict[int, str]) -> dict[str, Any]:
    protos = [fields(data) for data in proto.get(2, ())]
    names = {p.get(35, [0])[0]: word(p, 1) for p in protos}

    def instruction(p: dict[int, list[Any]]) -> list[Any]:
        opcode = word(p, 2)
        return [
            word(p, 1),
            opcode,
            shape(fields(p[3][0])),
            [names[k] for k in numbers(p, 36)],
            [computations[k] for k in numbers(p, 38)],
            [names[k] for k in numbers(p, 37)],
            (numbers(p, 9) or [0])[0] if opcode == "parameter" else None,
            word(fields(p[7][0]), 2) if 7 in p else "",
        ]

    return {"root": names[proto.get(6, [0])[0]], "instructions": sorted(map(instruction, protos))}


def shape(proto: dict[int, list[Any]]) -> str:
    """A shape as XLA writes it; layouts of the programs have no fields but these."""
    kind = proto.get(2, [0])[0]
    if kind in (TUPLE, BUFFER):
        inner = ", ".join(shape(fields(data)) for data in proto.get(4, ()))
        return f"({inner})" if kind == TUPLE else f"b{inner}"
    text = f"{TYPES[kind]}[{','.join(map(str, numbers(proto, 3)))}]"
    return text + layout(fields(proto[5][0])) if 5 in proto else text


def layout(proto: dict[int, list[Any]]) -> str:
    tiles = "".join(f"({','.join(map(str, numbers(fields(t), 1)))})" for t in proto.get(6, ()))
    bits, space = proto.get(7, [0])[0], proto.get(8, [0])[0]
    assert proto.keys() <= {1, 6, 7, 8, 16, 17}, proto.keys()
    assert proto.get(16, [1]) == [1], "L"
    splits = "".join(
        f"({s.get(1, [0])[0]}:{','.join(map(str, numbers(s, 2)))})"
        for s in map(fields, proto.get(17, ()))
    )
    attributes = "".join(
        letter + part
        for letter, part in (
            ("T", tiles),
            ("E", f"({bits})" if bits else ""),
            ("S", f"({space})" if space else ""),
            ("SC", splits),
        )
        if part
    )
    order = ",".join(map(str, numbers(proto, 1)))
    return f"{{{order}{':' if attributes else ''}{attributes}}}" if order or attributes else ""


def word(proto: dict[int, list[Any]], field: int) -> str:
    return str(proto.get(field, [b""])[0], "utf-8")


def numbers(proto: dict[int, list[Any]], field: int) -> list[int]:
    """Repeated integers, packed or not."""
    found: list[int] = []
    for value in proto.get(field, ()):
        found += varints(value) if isinstance(value, bytes) else [value]
    return found


def varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = varint(data, position)
        yield value


def varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position


def fields(data: bytes) -> dict[int, list[Any]]:
    """A message's fields by number, each a list: ints, and bytes of what has a length."""
    found: dict[int, list[Any]] = {}
    position = 0
    while position < len(data):
        key, position = varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = varint(data, position)
        else:
            size, position = (
                varint(data, position) if kind == 2 else (12 - 4 * (kind // 3), position)
            )
            value, position = data[position : position + size], position + size  # type: ignore[assignment]
        found.setdefault(key >> 3, []).append(value)
    return found


def main() -> None:
    found = {name: facts(text) for name, text in programs().items()}
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    FACTS.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
