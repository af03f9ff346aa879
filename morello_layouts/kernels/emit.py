"""Emit a relayout kernel: choose the target, C, CUDA or Python, and write the Python one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from morello_layouts.codegen.language import Language
from morello_layouts.codegen.targets import CLanguage, CudaLanguage, PythonLanguage
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.c_loops import PLAIN, expression, offset_text
from morello_layouts.kernels.domains import Domain, estimate
from morello_layouts.kernels.emit_c import c_file
from morello_layouts.kernels.emit_cuda import cuda_text
from morello_layouts.kernels.plan import Kernel, domains_of
from morello_layouts.recipe import Recipe


def python_text(kernel: Kernel) -> str:
    """Return the kernel as a Python function ``name(source, target=None)`` on NumPy arrays.

    Symbolic sizes are further arguments, given by name.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (2, 3)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(python_text(Kernel(a, b, 4)).splitlines()[-2].strip())
    moved(target, 0, (3, 2), (2, 1))[...] = moved(source, 0, (3, 2), (1, 3))
    """
    source, target, fill = kernel.source, kernel.target, kernel.fill
    domains = domains_of(source, target, fill=fill is not None)
    elements, padding = domains.elements, domains.padding
    have, want = expression(source.size), expression(target.size)
    sizes = f", *, {', '.join(kernel.names)}" if kernel.names else ""
    lines = [
        *(f"# {line}".rstrip() for line in kernel.about.splitlines()),
        "import numpy as np",
        "",
        "",
        "def moved(buffer, start, counts, strides):",
        '    """Return a view of a 1-D buffer: its start, and the count and step of each axis."""',
        "    steps = [step * buffer.strides[0] for step in strides]",
        "    return np.lib.stride_tricks.as_strided(buffer[start:], counts, steps)",
        "",
        "",
        f"def {kernel.name}(source, target=None{sizes}):",
        f'    """Return the buffer of {want} items from one of {have}, both 1-D."""',
        "    if target is None:",
        f"        target = np.{'zeros' if fill is None else 'empty'}({want}, source.dtype)",
        f"    assert source.shape == ({have},) and target.shape == ({want},)",
        f"    assert source.itemsize == target.itemsize == {kernel.itemsize}",
    ]
    if padding:
        lines.append(f"    fill = np.frombuffer({fill!r}, target.dtype)[0]")
        lines += [f"    {_view('target', domain)}[...] = fill" for domain in padding]
    if elements is None:
        lines += _elementwise(source, target)
    else:
        lines += [f"    {_view('target', x)}[...] = {_view('source', x)}" for x in elements]
    return "\n".join([*lines, "    return target", ""])


def _view(buffer: str, domain: Domain) -> str:
    of_target = buffer == "target"
    axes = sorted(domain.axes, key=lambda axis: -estimate(axis.target))
    counts = _tuple([axis.count for axis in axes])
    strides = _tuple([axis.target if of_target else axis.source for axis in axes])
    start = expression(domain.target if of_target else domain.source)
    return f"moved({buffer}, {start}, {counts}, {strides})"


def _tuple(numbers: list[Int]) -> str:
    return f"({', '.join(map(expression, numbers))}{',' if len(numbers) == 1 else ''})"


def _elementwise(source: Recipe, target: Recipe) -> list[str]:
    """Return the lines that take each coordinate through both formulas."""
    names = "".join(f"d{k}, " for k in range(len(source.shape))).removesuffix(" ")
    if len(source.shape) > 1:
        names = names.removesuffix(",")
    return [
        f"    # {PLAIN}",
        f"    {names} = np.indices({_tuple(list(source.shape))}, sparse=True)",
        f"    target[{offset_text(target)}] = source[",
        f"        {offset_text(source)}",
        "    ]",
    ]


class _Target(NamedTuple):
    """A target language: its emitter, and the names that kernels use."""

    emit: Callable[[Kernel], object]
    language: Language
    taken: re.Pattern[str]


# The names that a kernel's text and its headers define outside of functions: string.h, and
# stdlib.h through immintrin.h.
_C_NAMES: Final = (
    r"_.*|\w+_t|NULL|offsetof|mem\w+|str\w+|RELAYOUT\w*"
    r"|relayout_(copy|copy_row|fill|fill_all|strip|lanes|vector|index|part|line|put|join|open|(turn|tile)_\d|u64_\d+|(zip|unzip|transpose)_\d\w*)"
    r"|abort|abs|aligned_alloc|at_quick_exit|atexit|ato[fil]|atoll|bsearch|calloc|div|exit|free"
    r"|getenv|labs|ldiv|llabs|lldiv|malloc|mblen|mbstowcs|mbtowc|posix_memalign|qsort|quick_exit"
    r"|rand|realloc|srand|system|wcstombs|wctomb"
)
_CUDA_NAMES: Final = (
    rf"{_C_NAMES}|cuda\w*|dim3|(u?(char|short|int|long|longlong)|float|double)[1-4](_\d+a)?"
)
_TARGETS: Final = {
    "c": _Target(c_file, CLanguage(), re.compile(_C_NAMES)),
    "cuda": _Target(cuda_text, CudaLanguage(), re.compile(_CUDA_NAMES)),
    "python": _Target(python_text, PythonLanguage(), re.compile(r"moved|int|__\w+__")),
}

KERNEL_TARGETS: Final = tuple(_TARGETS)


def is_function_name(name: str, language: str) -> bool:
    """Whether a kernel in one of the target languages may have a name.

    >>> is_function_name("tile", "c"), is_function_name("memcpy", "c")
    (True, False)
    """
    target = _TARGETS[language]
    return target.language.is_name(name) and target.taken.fullmatch(name) is None


def kernel_text(kernel: Kernel, language: str) -> str:
    """Return a whole source file that moves one layout's buffer to the other's."""
    target = _TARGETS.get(language)
    if target is None:
        raise UnsupportedError(
            f"target: expected one of {', '.join(KERNEL_TARGETS)}, got {language!r}",
            "kernels are written in these languages",
            "give one of them",
        )
    if not is_function_name(kernel.name, language):
        raise LayoutError(
            f"{kernel.name!r} is not a name for a function",
            "a name has letters, digits and underscores, does not begin with a digit, and is not "
            f"used by the language ({language}), its headers or the kernel's own text",
            "give for example name='relayout'",
        )
    return str(target.emit(kernel))
