"""The languages of nests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from morello_layouts.errors import LayoutError
from morello_layouts.loop_nests.mlir import MlirWriter
from morello_layouts.loop_nests.text import CudaWriter, PythonWriter, RustWriter, Writer
from morello_layouts.loop_nests.triton import TritonWriter

WRITERS: Final[Mapping[str, type[Writer]]] = {
    "c": Writer,
    "cuda": CudaWriter,
    "rust": RustWriter,
    "python": PythonWriter,
    "mlir": MlirWriter,
    "triton": TritonWriter,
}
"""The writer of each language."""


def writer_of(target: str) -> type[Writer]:
    """Return the writer of a language.

    Raises:
        LayoutError: if there is none.
    """
    name = target.lower() if isinstance(target, str) else ""
    if name not in WRITERS:
        raise LayoutError(
            f"target: expected one of {', '.join(WRITERS)}, got {target!r}",
            "nests are printed in these languages",
            "name one of them",
        )
    return WRITERS[name]
