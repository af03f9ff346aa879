"""Small files of weights."""

from __future__ import annotations

import struct


def gguf(tensors: dict[str, tuple[int, tuple[int, ...], bytes]]) -> bytes:
    """A GGUF file of version 3, by ggml's docs/gguf.md."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    index = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 2)
    index += text("general.name") + struct.pack("<I", 8) + text("tiny")
    index += text("sizes") + struct.pack("<IIQ3I", 9, 4, 3, 1, 2, 3)
    data = b""
    for name, (kind, shape, content) in tensors.items():
        index += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        index += struct.pack("<IQ", kind, len(data))
        data += content + bytes(-len(content) % 32)
    return index + bytes(-len(index) % 32) + data
