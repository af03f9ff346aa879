"""The source text of a kernel in each language, and its Python form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.c_loops import Text, expression, is_function_name, offset_text
from morello_layouts.kernels.domains import Box, estimate
from morello_layouts.kernels.emit_c import c_file
from morello_layouts.kernels.emit_cuda import cuda_text
from morello_layouts.kernels.moves import Kernel, boxes_of
from morello_layouts.recipe import Recipe, known


def python_text(kernel: Kernel) -> str:
    """The kernel as a Python function ``name(source, target=None)`` on NumPy arrays.

    Symbolic sizes are further arguments, given by name.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (2, 3)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(python_text(Kernel(a, b, 4)).splitlines()[-2].strip())
    moved(target, 0, (3, 2), (2, 1))[...] = moved(source, 0, (3, 2), (1, 3))
    """
    source, target, name = kernel.source, kernel.target, kernel.name
    itemsize, fill = kernel.itemsize, kernel.fill
    elements, padding = boxes_of(source, target)
    have, want = expression(source.size), expression(target.size)
    sizes = f", *, {', '.join(kernel.names)}" if kernel.names else ""
    lines = [
        *(f"# {line}".rstrip() for line in kernel.comment.splitlines()),
        *(f"# {fact}" for fact in kernel.assumptions),
        "import numpy as np",
        "",
        "",
        "def moved(buffer, start, counts, strides):",
        '    """A view of a 1-D buffer: where it starts, items and steps of each axis."""',
        "    steps = [step * buffer.strides[0] for step in strides]",
        "    return np.lib.stride_tricks.as_strided(buffer[start:], counts, steps)",
        "",
        "",
        f"def {name}(source, target=None{sizes}):",
        f'    """The buffer of {want} items of {itemsize} bytes from one of {have}, both 1-D."""',
        "    if target is None:",
        f"        target = np.{'zeros' if fill is None else 'empty'}({want}, source.dtype)",
        f"    assert source.shape == ({have},) and target.shape == ({want},)",
        f"    assert source.itemsize == target.itemsize == {itemsize}",
    ]
    if fill is not None and padding:
        lines.append(f"    fill = np.frombuffer({fill!r}, target.dtype)[0]")
        lines += [f"    {_view('target', box)}[...] = fill" for box in padding]
    if elements is None:
        lines += _apart(source, target)
    else:
        for box in elements:
            lines.append(f"    {_view('target', box)}[...] = {_view('source', box)}")
    return "\n".join([*lines, "    return target", ""])


def _view(buffer: str, box: Box) -> str:
    of_target = buffer == "target"
    axes = sorted(box.axes, key=lambda axis: -estimate(axis.target))
    counts = _tuple([axis.count for axis in axes])
    strides = _tuple([axis.target if of_target else axis.source for axis in axes])
    start = expression(box.target if of_target else box.source)
    return f"moved({buffer}, {start}, {counts}, {strides})"


def _tuple(numbers: list[Int]) -> str:
    return f"({', '.join(map(expression, numbers))}{',' if len(numbers) == 1 else ''})"


def _apart(source: Recipe, target: Recipe) -> list[str]:
    """Each coordinate through both recipes, where no boxes serve both."""
    shape = known(source.shape)
    names = [f"d{k}" for k in range(len(shape))]
    at = [Text(name, "//") for name in names]
    given = f"{', '.join(names)}{',' if len(names) == 1 else ''}"
    return [
        f"    {given} = np.indices({_tuple(list(shape))}, sparse=True)",
        f"    target[{offset_text(target, at)}] = source[",
        f"        {offset_text(source, at)}",
        "    ]",
    ]


_EMITTERS: Final[dict[str, Callable[[Kernel], object]]] = {
    "c": c_file,
    "cuda": cuda_text,
    "python": python_text,
}

KERNEL_TARGETS: Final = tuple(_EMITTERS)


def kernel_text(kernel: Kernel, language: str) -> str:
    """A whole source file that moves one layout's buffer to the other's.

    Args:
        kernel: what is asked for.
        language: one of ``KERNEL_TARGETS``.

    Raises:
        LayoutError: where the language or the name is none.
    """
    emit = _EMITTERS.get(language)
    if emit is None:
        raise UnsupportedError(
            f"no kernel is written in {language!r}",
            f"kernels are written in {', '.join(KERNEL_TARGETS)}",
            "give one of these",
        )
    if not is_function_name(kernel.name, language):
        raise LayoutError(
            f"{kernel.name!r} is no name for a function",
            "a name is of letters, digits and underscores, begins with no digit, and is none that "
            f"the language ({language}), its headers or the kernel's own text have",
            "give for example name='relayout'",
        )
    return str(emit(kernel))
