"""What the commands about files, programs and the browser ask beyond one function."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, cast

from morello_layouts.core.checks import shown
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.cli.command import (
    File,
    Natural,
    Positive,
    Shapes,
    Sizes,
    coordinate,
)
from morello_layouts.interfaces.cli.terminal import Answer, Status, print_text, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from morello_layouts.interfaces.explorer.server import Server
    from morello_layouts.outputs.recover import Recovered
    from morello_layouts.programs.diagnostics import (
        Diagnosis,
        FleetReport,
        HloComparison,
        MemoryReport,
        OomReport,
    )
    from morello_layouts.programs.hlo import HloModule
    from morello_layouts.programs.indexing import InstructionIndexing
    from morello_layouts.programs.mlir import MlirFolder, MlirReport
    from morello_layouts.programs.records.files import WeightsFile
    from morello_layouts.programs.tpu_compiler import Advice, Compilation

_LONG: Final = 4_000_000  # bytes of a dump whose reading shows a progress bar


def contracts(paths: Sequence[str] = ()) -> Answer:
    """Check the contracts of files, and of all such files in folders.

    Args:
        paths: files *.layouts.toml, and folders, by default the current folder.
    """
    from morello_layouts.interfaces.testing import check_contracts

    found = check_contracts(tuple(paths) or (".",))
    verdicts = [outcome.holds for outcome in found]
    holds = False if False in verdicts else None if None in verdicts else True
    return Answer({"outcomes": found}, "\n".join(map(str, found)), holds=holds)


def check(file: File) -> Answer:
    """Check a certificate, without ISL, recipes and simplifier.

    It prints what is proved. What the file says that it is about is text that nobody checks.

    Args:
        file: the certificate that --certificate wrote.
    """
    from morello_layouts import check as checker

    try:
        with Path(file).open(encoding="utf-8") as lines:
            text = lines.read(checker.FILE + 1)
    except (OSError, UnicodeError) as error:
        raise LayoutError(
            f"{file} could not be read",
            (error.strerror if isinstance(error, OSError) else None) or str(error),
            "give a file that --certificate wrote",
        ) from None
    facts: dict[str, Any] = dict.fromkeys(("claim", "statement", "why", "not_checked"))
    try:
        given = checker.read(text)  # type: ignore[no-untyped-call]
        facts["claim"] = checker.check(given)  # type: ignore[no-untyped-call]
        facts["statement"] = checker.statement(given)  # type: ignore[no-untyped-call]
        facts["not_checked"] = given.get("about")
        about = (f"\nnot checked: it says that it is about {x!r}" for x in given.get("about", ()))
        words = f"proved: {facts['statement']}{''.join(about)}"
    except (checker.Refused, RecursionError) as error:
        facts["why"] = str(error)
        words = f"refused: {error}"
    holds = facts["claim"] is not None
    return Answer({"holds": holds, **facts}, words, holds=holds)


def hlo(
    file: File,
    other: File | None = None,
    *,
    top: Natural = 10,
    generation: str | None = None,
    jobs: Positive = 1,
    dask: str | None = None,
    parquet: File | None = None,
    indexing: str | None = None,
    tree: bool = False,
) -> Diagnosis | HloComparison | FleetReport | InstructionIndexing | str:
    """Report the cost of the layouts of a program: padding, copies, and better layouts.

    With a second file, report the changes from the first to the second. A folder, or a pattern in
    quotes, gives one table over all its programs.

    Args:
        file: HLO text, as the compiler dumps it, or - for standard input.
        other: the program after a change.
        top: the number of most wasteful arrays to show.
        generation: the generation of TPUs for alternatives, by default inferred from the layouts.
        jobs: processes that read many dumps.
        dask: read many dumps on the workers of the Dask cluster at this address.
        parquet: write the rows about many dumps to a file.
        indexing: say which elements of its operands each element of this instruction reads.
        tree: show computations, instructions and what they call.
    """
    from morello_layouts.programs.diagnostics import compare_hlo, diagnose
    from morello_layouts.programs.diagnostics.fleet import is_many

    if other is not None and (tree or indexing is not None):
        raise LayoutError(
            f"{'--tree' if tree else '--indexing'}: expected one file, got {other!r} too",
            "it is told of the instructions of one program",
            "leave the second file out",
        )
    if indexing is not None:
        from morello_layouts.interfaces.api.indexing import indexing_map

        return indexing_map(read_module(file), indexing)
    if tree:
        from morello_layouts.programs.hlo.module import HloTree

        return "\n".join(HloTree(read_module(file)).lines())
    if other is None and is_many(file):
        many = _many(file, jobs, dask)
        if parquet is not None:
            many.write_parquet(parquet)
        return many
    if dask or parquet:
        raise LayoutError(
            "--dask and --parquet are for many dumps",
            f"{file} is one file",
            "give a folder, or a pattern in quotes, such as 'dumps/*.txt'",
        )
    if other is None:
        return diagnose(read_module(file), generation, top=top)
    if generation is not None:
        raise LayoutError(
            "--tpu is not an option of a comparison",
            "a comparison of two dumps suggests no layouts",
            "leave it out",
        )
    if file == other == "-":
        raise LayoutError(
            "both dumps are -",
            "standard input holds one dump",
            "give the path of a file for one of them",
        )
    return compare_hlo(read_module(file), read_module(other))


def _many(file: str, jobs: int, dask: str | None) -> FleetReport:
    from morello_layouts.programs.diagnostics import diagnose_many

    with _bar("reading dumps", is_shown=sys.stderr.isatty()) as progress:
        return diagnose_many([file], jobs=jobs, dask=dask, progress=progress)


def mlir(file: File) -> MlirReport | MlirFolder:
    """Say what MLIR moves between layouts: conversions, bank conflicts, arguments, packs.

    TTGIR of Triton, StableHLO of JAX, and MLIR with memrefs, vectors and packs; each layout by
    name, and what is not read.

    Args:
        file: the text, or - for standard input; or a folder: Triton's cache, or a dump of XLA.
    """
    from morello_layouts.programs.mlir import read_mlir

    source = _standard_input() if file == "-" else Path(file).expanduser()
    with _bar("reading", is_shown=sys.stderr.isatty() and _length(source) >= _LONG) as progress:
        return read_mlir(source, progress=progress)


def memory(file: File, program: File | None = None, *, top: Natural = 10) -> MemoryReport:
    """Report the memory of a program: the peak, who is alive then, and a chart of the heap.

    Args:
        file: any file of a dump whose folder has the compiler's buffer assignment, or that
            assignment.
        program: the program that it is about, by default the file beside it.
        top: the number of values to show.
    """
    from morello_layouts.programs.diagnostics import memory

    module = None if program is None else read_module(program)
    return memory(_standard_input() if file == "-" else file, module, top=top)


def oom(file: File, *, generation: str | None = None) -> OomReport:
    """Explain an out-of-memory report: each allocation, its padding, and smaller layouts.

    Args:
        file: the compiler's message, or a whole log with it, or - for standard input.
        generation: the generation of TPUs for alternatives, by default inferred from the layouts.
    """
    from morello_layouts.programs import diagnostics

    return diagnostics.oom(_standard_input() if file == "-" else Path(file), generation)


def _standard_input() -> str:
    """Return standard input as text; it ends with a newline, so that it is not a path."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") + "\n"


def read_module(file: str) -> HloModule:
    """Return the HLO of a file, or of standard input for -; show a bar for a long file."""
    from morello_layouts.programs.hlo import read_hlo

    source = _standard_input() if file == "-" else Path(file)
    is_shown = sys.stderr.isatty() and _length(source) >= _LONG
    with _bar(printable(f"reading {file}", sys.stderr), is_shown=is_shown) as progress:
        return read_hlo(source, progress=progress)


def _length(source: str | Path) -> int:
    try:
        return len(source) if isinstance(source, str) else source.stat().st_size
    except (OSError, ValueError):
        return 0


@contextmanager
def _bar(label: str, *, is_shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that moves a bar on standard error; None if it is not shown."""
    if not is_shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label.replace("[", "\\["), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


_SEPARATOR: Final = regex(
    r"(?<!\s)\s*+(?:;|(?<=\s)(?=[a-z][a-z0-9]*\[)|,\s*+(?=[a-z][a-z0-9]*\[))\s*+"
)


def read_shapes(text: str) -> list[str]:
    """Return the texts of arrays, separated by blanks, commas or semicolons.

    >>> read_shapes("f32[8,128]{0,1}, s32[4] pred[]")
    ['f32[8,128]{0,1}', 's32[4]', 'pred[]']
    """
    return [part for part in _SEPARATOR.split(text.strip()) if part]


def tpu_compile(
    function: File,
    *,
    shapes: str = "",
    arguments: str | None = None,
    generation: str = "v5e",
    mesh: Mapping[str, int] | None = None,
    advise: bool = False,
    minutes: Positive | None = None,
    dumps: File | None = None,
    seconds: Positive | None = None,
    gibibytes: Positive | None = None,
    top: Natural = 10,
) -> Compilation | Diagnosis | Advice:
    """Compile a JAX function for a TPU, without one, and report on the program.

    The file is run as Python, and the compiler in a process of its own. It needs JAX and libtpu:
    pip install '.[tpu]' in the clone.

    Args:
        function: the file and the function in it.
        shapes: the arrays that it takes, in order.
        arguments: instead of shapes, a value of FILE, or a function of it without arguments, that
            gives them.
        generation: the TPU.
        mesh: the axes of a mesh, for a function that is sharded.
        advise: try changes, and list what is better. What was compiled once is known to later runs.
        minutes: list what is found by then; Ctrl-C and SIGTERM list it at once.
        dumps: keep the compiler's dumps in a folder.
        seconds: the time of one compilation.
        gibibytes: the memory of one compilation.
        top: the number of most wasteful arrays to show.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # JAX would look for a TPU
    from morello_layouts.outputs.kernels.build import cache_folder
    from morello_layouts.programs import tpu_compiler
    from morello_layouts.programs.tpu_compiler.process import bounded, libtpu_compiler
    from morello_layouts.programs.tpu_compiler.program import load_arguments, load_function

    compiler = bounded(libtpu_compiler(), seconds, gibibytes)
    called = load_function(function)
    given = load_arguments(function, arguments) if arguments else read_shapes(shapes)
    with _status() as progress:
        more: dict[str, Any] = {"compiler": compiler, "progress": progress, "mesh": mesh}
        if advise:
            more |= {"minutes": minutes, "memory": cache_folder() / "tpu"}
            return tpu_compiler.advise(called, *given, generation=generation, **more)
        keep = None if dumps is None else Path(dumps)
        return tpu_compiler.diagnose(
            called, *given, generation=generation, top=top, keep=keep, **more
        )


@contextmanager
def _status() -> Iterator[Callable[[str], None] | None]:
    """Give a function that shows a line on a terminal's standard error; None without one."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("compiling") as status:
        yield lambda line: status.update(line.replace("[", "\\["))


PORT: Final = 8765


def explore(
    text: str = "",
    *,
    shape: Sizes = "",
    compare: str = "",
    port: int | None = None,
    browser: bool = True,
    check: bool = False,
) -> Answer | None:
    """Start the interactive explorer in a browser: picture, formula, proof, sizes, code.

    Args:
        text: the layout that it shows first.
        shape: sizes, for a layout without them.
        compare: a second layout, or a formula.
        port: the port, 0 for any free port, by default 8765, or a free port if it is taken.
        browser: open a browser.
        check: start, answer once, print the time, and end.
    """
    from morello_layouts.interfaces.explorer.server import link
    from morello_layouts.interfaces.explorer.subject import Question

    question = Question(text, shape=shape, other=compare)
    with _server(port) as server:
        url = link(server.port, question)
        if check:
            return _checked(server, url, question)
        print_text(f"{url}\nonly this machine can open it; Ctrl-C ends it")
        sys.stdout.flush()
        if browser:
            import webbrowser  # with all of shlex, shutil and subprocess

            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        server.run()
    return None


def _server(port: int | None) -> Server:
    """Return a server on a port; by default on ``PORT``, or on a free port if it is taken."""
    import logging

    from morello_layouts.interfaces.explorer.server import Server

    # It warns of each connection above the bound, which would fill the terminal.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    try:
        return Server(PORT if port is None else port)
    except LayoutError:
        if port is not None:
            raise
        return Server(0)


def lsp() -> None:
    """Serve an editor: explain the layouts in any file, warn of padding, open the explorer.

    It speaks the Language Server Protocol over standard input and output.
    """
    from morello_layouts import __version__
    from morello_layouts.interfaces.editor.server import serve

    serve(__version__)


def _checked(server: Server, url: str, question: Any) -> Answer:
    """Ask the server once, as the page does."""
    from morello_layouts.interfaces.explorer.server import asked

    asking = question if question.layout else replace(question, layout="f32[3,5]{1,0:T(2,2)}")
    server.start()
    began = perf_counter()
    found = asked(server.port, asking)
    errors = [found["trouble"]] if "trouble" in found else found["errors"]
    milliseconds = round(1000 * (perf_counter() - began), 1)
    facts = {"url": url, "answered": not errors, "milliseconds": milliseconds}
    refusal = "\n".join(errors[0][part] for part in ("what", "why", "fix")) if errors else None
    return Answer(facts, f"{url} answers in {milliseconds} ms", refusal=refusal,
                  status=Status.BAD_INPUT if errors else None)  # fmt: skip


def recover(
    source: File,
    shape: Shapes | None = None,
    *,
    array: File | None = None,
    size: int | None = None,
    element_type: str | None = None,
) -> Recovered | Answer:
    """Find the layout of offsets, a function or a buffer.

    A file .npy holds the offset of each element, or with --array the buffer; so does a file of
    numbers, one row per line, and a file of bytes with their --type. FILE.py:FUNCTION is run as
    Python. It takes coordinates and gives the offset, or it takes the array and gives the buffer.
    Pairs are written as coordinate=offset. Text is never evaluated.

    Args:
        source: a file, FILE.py:FUNCTION, or pairs.
        shape: the sizes of the array, once for each shape at which a function is called.
        array: the file of the array that the buffer holds.
        size: the number of slots in the buffer of a table.
        element_type: the type of numbers in files of bytes, as NumPy writes it.
    """
    from morello_layouts.interfaces.api.recovering import recover as asked
    from morello_layouts.outputs.recover import NoLayoutError
    from morello_layouts.programs.tpu_compiler.program import load_function

    more: dict[str, Any] = {"size": size}
    given: Any
    if ".py:" in source:
        given = load_function(source)
    elif "=" in source and not os.path.isfile(source):
        given = [(coordinate(at), int(offset)) for at, offset in _pairs(source)]
    else:
        given = _numbers(source, element_type)
    if array is not None:
        more["array"] = _numbers(array, element_type)
    try:
        return asked(given, shape, **more)
    except NoLayoutError as error:
        near = error.near and str(error.near.layout)
        facts = {"why": error.what, "nearest": near, "unlike": error.unlike if near else None}
        return Answer(facts, str(error), holds=False)


def _pairs(text: str) -> list[tuple[str, str]]:
    """Split ``0,1=1 1,0=128``."""
    parts = [
        re.fullmatch(r"\(?([\d, ]+)\)?=(\d{1,18})", part) for part in re.split(r"[;\s]+", text)
    ]
    if None in parts:
        raise LayoutError(
            f"expected pairs of coordinate and offset, got {shown(text)}",
            "a pair is a coordinate, = and the element's offset",
            'write for example "0,1=1 1,0=128"',
        )
    return [(match[1], match[2]) for match in parts if match is not None]


def _numbers(file: str, kind: str | None) -> NDArray[Any]:
    """Return the numbers of a file, which stay there if it is one of bytes or of NumPy."""
    import numpy as np

    try:
        if file.endswith(".npy"):
            return cast("NDArray[Any]", np.load(file, mmap_mode="r", allow_pickle=False))
        if kind is not None:
            return np.memmap(file, np.dtype(kind), "r")
        with Path(file).open(encoding="utf-8") as lines:
            rows = [[*map(int, re.findall(r"[^\s,;]+", each))] for each in lines if each.strip()]
        if not rows:
            raise ValueError("expected numbers, found none")
        return np.array(rows if len(rows) > 1 else rows[0])
    except (OSError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise LayoutError(
            f"{file}: {getattr(error, 'strerror', None) or str(error).partition(chr(10))[0]}",
            "a file is .npy, or it has integers in rows as long as each other; one of bytes needs "
            "the type of its numbers",
            "give it with element_type=uint8, or correct the file",
        ) from None


def record(
    text: str = "",
    *,
    reader: str | None = None,
    coordinate: Sequence[int] | None = None,
    tensor: str | None = None,
    target: str | None = None,
    stores: bool = False,
    sizes: Mapping[str, int] | None = None,
    formats: bool = False,
    picture: bool = False,
) -> Answer:
    """Say what a record, a packed format or a file of weights holds, bit by bit.

    A record is arrays that share one buffer. Its fields are proved to lie inside and apart, and the
    bits that none of them uses are counted.

    Args:
        text: a record, the name of a packed format such as q4_K[B], or a file: .gguf, .safetensors.
        reader: another record: whether it finds each field where the first one puts it.
        coordinate: an element of the tensor, to be told which bits of the file hold it.
        tensor: a tensor of the file.
        target: print functions that read the fields and compute the values, in c, cuda, rust or
            python.
        stores: print functions that write the fields, too.
        sizes: values of sizes that are names.
        formats: list the packed formats and the documents that they were written from.
        picture: print a picture of the bits of a block, as SVG.
    """
    from morello_layouts.programs import records

    if formats:
        found = records.formats()
        width = max(map(len, found))
        lines = [f"{name:<{width}}  {source}" for name, source in found.items()]
        return Answer({"formats": found}, "\n".join(lines))
    if not text:
        raise LayoutError(
            "a record: expected a text, the name of a format, or a file",
            "there is nothing to say otherwise",
            "write mlay record q4_K, or mlay record --formats for the names",
        )
    if text.endswith((".gguf", ".safetensors")):
        file = records.read_weights(text)
        if reader is None or tensor is None:
            return _weights(file, tensor, coordinate)
        text = str(file[tensor].record)
        tensor = None
    given = {"coordinate": coordinate, "tensor": tensor, "stores": (stores and not target) or None}
    for name in (name for name, x in given.items() if x is not None):
        of_code = name == "stores"
        raise LayoutError(
            f"{name}: expected none of {text}",
            "functions that write are code" if of_code else "a file has tensors, a format blocks",
            "give target='c' too" if of_code else f"leave out the argument {name}",
        )
    own = records.record(text).at(**sizes or {})
    if target is not None:
        code = own.code(target, stores=stores)
        return Answer({"record": own, "code": code}, code)
    if picture:
        return Answer({"record": own, "picture": own.svg()}, own.svg())
    if reader is not None:
        answer = own.agree(records.record(reader))
        return Answer({"record": own, "agreement": answer}, str(answer), holds=answer.holds)
    report = own.explain()
    facts = {"record": own, "proof": report.proof}
    return Answer(facts, str(report), holds=report.holds)


def _weights(file: WeightsFile, tensor: str | None, coordinate: Sequence[int] | None) -> Answer:
    if tensor is None:
        return Answer({"file": file}, str(file))
    one = file[tensor]
    if coordinate is None:
        return Answer({"tensor": one, "record": one.record}, f"{one}\n{one.record}")
    block, k = one.block_of(*coordinate)
    bits = one.bits_of(*coordinate)
    lines = [f"{one}", f"element {tuple(coordinate)} is value {k} of block {block}"]
    for name, runs in bits.items():
        where = "; ".join(
            f"bits {bit} to {bit + n - 1} at byte {at // 8}"
            + (f", bit {at % 8}" if at % 8 or n < 8 else "")
            for bit, at, n in runs
        )
        lines.append(f"  {name}: {where}")
    return Answer({"tensor": one, "block": block, "value": k, "bits": bits}, "\n".join(lines))
