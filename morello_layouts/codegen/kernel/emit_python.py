"""Relayout kernels in Python: one NumPy assignment for each box."""

from __future__ import annotations

from morello_layouts.codegen.kernel.boxes import Box
from morello_layouts.codegen.kernel.extents import estimate
from morello_layouts.codegen.kernel.moves import Kernel, boxes_of
from morello_layouts.codegen.kernel.names import expression
from morello_layouts.codegen.kernel.text import Text, offset_text
from morello_layouts.expr.size import Number
from morello_layouts.recipe import Recipe, known

__all__ = ["python_text"]


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


def _tuple(numbers: list[Number]) -> str:
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
