"""Try changes of a function on the TPU compiler, keep those that are better, and report them."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from morello_layouts.core.checks import as_int
from morello_layouts.core.description import count, listed
from morello_layouts.core.fields import frozen
from morello_layouts.core.files import written
from morello_layouts.core.limits import (
    ADVICE_CHECK_BYTES,
    ADVICE_CHECK_SECONDS,
    ADVICE_COMPILATIONS,
    ADVICE_JOBS,
    ADVICE_TOGETHER,
)
from morello_layouts.errors import LayoutError
from morello_layouts.programs.diagnostics.buffers import entry_arrays
from morello_layouts.programs.report import (
    Columns,
    Report,
    Summary,
    Table,
    TableCell,
    bytes_cell,
    bytes_text,
    table_of,
    text_cell,
)
from morello_layouts.programs.tpu_compiler.arguments import ARGUMENT_KINDS
from morello_layouts.programs.tpu_compiler.compilation import (
    Figures,
    compile_module,
    require_generation,
)
from morello_layouts.programs.tpu_compiler.operations import OPERATION_KINDS
from morello_layouts.programs.tpu_compiler.process import (
    Compiler,
    Progress,
    libtpu_compiler,
    run_in,
)
from morello_layouts.programs.tpu_compiler.program import (
    Change,
    Program,
    bytecode,
    key_of,
    trace,
)

_SAME: Final = 4096  # bytes that two compilations of one program may differ by
_CYCLES: Final = 1.03  # an estimate, which moves by a percent when a buffer does
_WORTH: Final = 0.99  # of the bytes before, for a change that is worth it


@frozen
class Advised:
    """A change that makes a program better, as measured."""

    json_keys: ClassVar = ("*",)

    kind: str  #: of the change, such as ``donation``.
    change: str  #: what to write, in a line.
    where: str  #: the argument, result or operation that it changes.
    after: Figures  #: the figures of the changed program.
    #: whether no result of the changed function differed on the CPU; None if it was not compared.
    equal: bool | None = None
    note: str = "not compared"  #: how it was compared, and where it differed; or why not.
    #: the largest difference over the largest value; None if it was not compared, or if one result
    #: has a number where the other has NaN or an infinity.
    difference: float | None = None


def saved(before: Figures, after: Figures) -> int:
    """Return the bytes that a change saves: at the peak, and of copies and relayouts."""
    return before.peak_bytes - after.peak_bytes + before.moved_bytes - after.moved_bytes


def is_better(before: Figures, after: Figures) -> bool:
    """Whether a program has a smaller peak or fewer bytes of copies, and neither is larger.

    Cycles are the compiler's estimate: 3 percent more are taken as the same.

    >>> old = Figures(1 << 20, 0, 1 << 20, 1000)
    >>> is_better(old, Figures(1 << 19, 0, 1 << 20, 1000))
    True
    >>> is_better(old, Figures(1 << 19, 0, 1 << 21, 1000))
    False
    """
    pairs = [(before.peak_bytes, after.peak_bytes), (before.moved_bytes, after.moved_bytes)]
    if any(new > old + _SAME for old, new in pairs):
        return False
    old, new = before.cycles, after.cycles
    if old is not None and new is not None and new > old * _CYCLES:
        return False
    return any(new < old * _WORTH - _SAME for old, new in pairs)


def is_smaller(before: Figures, after: Figures) -> bool:
    """Whether a program has a smaller peak, by a percent or more."""
    return after.peak_bytes < before.peak_bytes * _WORTH - _SAME


@frozen
class Advice(Report):
    """Changes of a function that make its program better: ``print`` it, or see it in a notebook."""

    json_keys: ClassVar = ("*",)

    name: str  #: of the function.
    generation: str  #: the generation of TPUs.
    devices: int  #: the number of devices.
    before: Figures  #: the figures of the program as it is.
    #: the changes that save memory or copies, with no more of the other and, but for 3 percent, of
    #: estimated cycles; the most bytes saved first.
    advice: tuple[Advised, ...]
    #: those that are better together than each alone; None if there are none.
    together: Advised | None
    compiled: int  #: the number of changes that were compiled.
    refused: int  #: the number of changes that the compiler refused, or that do not fit.
    worse: int  #: the number of changes that make nothing better, or something worse.
    left: int  #: the number of changes that were not tried: of the budget, or interrupted.
    #: the changes that have a smaller peak than all of these, and more copies or estimated cycles;
    #: the smallest peak first.
    memory_only: tuple[Advised, ...] = ()

    @property
    def best(self) -> Advised | None:
        """The best of all: the changes together, or the first; None without advice."""
        return self.together or next(iter(self.advice), None)

    def summary(self) -> Summary:
        """Return the verdict, the figures as they are, and the counts."""
        best, before = self.best, self.before
        if best is None:
            verdict = "no change that was tried saves memory or copies at no cost"
        else:
            peak = f"{bytes_text(before.peak_bytes)} → {bytes_text(best.after.peak_bytes)}"
            moved = f"{bytes_text(before.moved_bytes)} → {bytes_text(best.after.moved_bytes)}"
            verdict = f"HBM at the peak {peak}, copies and relayouts {moved}"
            if best.equal is False:
                verdict += f", and {best.note.partition(';')[0]}"
        where = "" if self.devices == 1 else f" on each of {self.devices} devices"
        line = f"TPU {self.generation}{where}: {count(self.compiled, 'change')} compiled, "
        line += f"{self.worse} of them not better, {self.refused} refused"
        lines = [line]
        for least in self.memory_only[:1]:
            peak = f"{bytes_text(before.peak_bytes)} → {bytes_text(least.after.peak_bytes)}"
            lines.insert(0, f"{least.kind} saves more memory, {peak}, {_cost(before, least.after)}")
        warnings = [f"{count(self.left, 'change')} left untried"] if self.left else []
        return Summary(f"{self.name}: {verdict}", tuple(lines), tuple(warnings))

    def tables(self) -> tuple[Table, ...]:
        """Return the program as it is and the changes together, and then each change."""
        rows = [("as it is", self.before, "")]
        if self.best is not None:
            rows.append(
                (self.best.kind, self.best.after, self.best.change if self.together else "")
            )
        both = table_of("Before and after", _COLUMNS, rows, lambda row: [row[2]] if row[2] else [])
        lists = (
            ("Each change alone: saves both", self.advice, _BOTH),
            ("Saves memory", self.memory_only, _MEMORY),
        )
        each = (
            table_of(
                title,
                _COLUMNS,
                [(a.kind, a.after, a) for a in some],
                lambda row: (f"{row[2].where}: {row[2].change}", row[2].note),
                note=note,
            )
            for title, some, note in lists
        )
        return both, *each


def _cost(before: Figures, after: Figures) -> str:
    """Return what a change costs that saves memory, and what the estimate leaves out."""
    costs = []
    if after.moved_bytes > before.moved_bytes:
        was, now = map(bytes_text, (before.moved_bytes, after.moved_bytes))
        costs.append(f"copies and relayouts {was} → {now}")
    if before.cycles is not None and after.cycles is not None and after.cycles > before.cycles:
        costs.append(f"estimated cycles {before.cycles:,} → {after.cycles:,}")
    if before.async_bytes != after.async_bytes:
        was, now = map(bytes_text, (before.async_bytes, after.async_bytes))
        costs.append(f"asynchronous copies to HBM, which the estimate leaves out, {was} → {now}")
    return "; ".join(costs)


_BOTH: Final = "memory or copies, at no more than 3 percent of estimated cycles"
_MEMORY: Final = "at the cost of copies or estimated cycles"


def cycles_cell(n: int | None) -> TableCell:
    """Return a cell with an estimate of cycles."""
    return TableCell("?", -1) if n is None else TableCell(f"{n:,}", n)


_COLUMNS: Final[Columns[tuple[str, Figures, object]]] = (
    ("HBM peak", lambda row: bytes_cell(row[1].peak_bytes)),
    ("copies", lambda row: bytes_cell(row[1].moved_bytes)),
    ("cycles", lambda row: cycles_cell(row[1].cycles)),
    ("async to HBM", lambda row: bytes_cell(row[1].async_bytes)),
    ("change", lambda row: text_cell(row[0])),
)


T = TypeVar("T")

KINDS: Final = (*OPERATION_KINDS, *ARGUMENT_KINDS)
"""Every kind of change: a function from a program to its candidates."""

_COMPARE: Final = str(Path(__file__).with_name("compare.py"))
# After this dump the compiler only makes code of the program, for most of its time.
_MEMORY_KNOWN: Final = "after_optimizations_after_buffer_assignment.txt"
_EXACT: Final = 1e-3  # relative difference of sums of numbers near 1 in another order


@frozen
class _Trial:
    """A program that compiled: its figures, and the layouts of its arguments and results."""

    figures: Figures
    layouts: tuple[str, ...]


@dataclass(slots=True)
class _Trials:
    """Programs that are compiled for one generation, each once; ``memory`` keeps them longer."""

    generation: str
    compiler: Compiler
    progress: Progress | None
    memory: Path | None
    known: dict[str, _Trial | None] = field(default_factory=dict)

    def of(self, program: Program, until: str = "") -> Callable[[], _Trial | None]:
        """Lower a program, and return a function that compiles it; it gives None if refused."""
        module = program.stablehlo()
        return partial(self._trial, key_of(module), bytecode(module), program.devices, until)

    def _trial(self, key: str, module: bytes, devices: int, until: str) -> _Trial | None:
        key = f"{self.generation}_{key}" + ("_memory" if until else "")
        if key in self.known:
            return self.known[key]
        kept = None if self.memory is None else self.memory / f"{key}.2.json"  # 2: with async_bytes
        if kept is not None and kept.is_file():
            read = json.loads(kept.read_text())
            found: _Trial | None = _Trial(Figures(**read["figures"]), tuple(read["layouts"]))
        else:
            found = self._compiled(module, devices, replace(self.compiler, until=until))
            if kept is not None and found is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                with written(kept) as beside:
                    beside.write_text(json.dumps(asdict(found)))
        self.known[key] = found
        return found

    def _compiled(self, module: bytes, devices: int, compiler: Compiler) -> _Trial | None:
        try:
            found = compile_module(module, self.generation, devices, top=0, compiler=compiler)
        except LayoutError:
            return None
        parameters, results = entry_arrays(found.program)
        layouts = tuple(str(each.layout) for each in (*parameters, *results))
        return None if found.error else _Trial(found.figures, layouts)


def advise(
    function: Callable[..., Any],
    *arguments: Any,
    generation: str = "v5e",
    mesh: Any = None,
    budget: int = ADVICE_COMPILATIONS,
    compiler: Compiler | None = None,
    progress: Progress | None = None,
    memory: str | Path | None = None,
) -> Advice:
    """Try changes of a JAX function on the TPU compiler, and return those that are better.

    Each change is made by transformation of the function, compiled, and measured: HBM at the peak,
    the bytes of copies and relayouts, the compiler's estimate of cycles. Shown is what makes one of
    the first two smaller by a percent or more, and neither larger, nor the third by over 3 percent.
    The best are also tried together. A second list has what makes the peak smaller still, and
    copies or cycles larger. Changed functions are compared with the given one on the CPU, at random
    arguments of three sizes, and with NaN and infinities; the largest difference is told.

    Args:
        function: of arrays or trees of arrays, as for :func:`diagnose`.
        arguments: as for :func:`diagnose`.
        generation: one of ``ml.tpu.GENERATIONS``.
        mesh: as for :func:`diagnose`.
        budget: the number of changes that are compiled.
        compiler: the command that compiles, with its bounds.
        progress: is told, in a line, how far the work is.
        memory: a folder that keeps the figures of each program; work that was interrupted goes on
            from there.

    Raises:
        LayoutError: if the compiler is not here, or refuses the program as it is.

    An interruption by the user ends the search: the advice holds what was found until then.
    """
    require_generation(generation)
    budget = as_int(budget, "budget", fix="give the number of changes to compile")
    compiler = libtpu_compiler() if compiler is None else compiler
    program = trace(function, arguments, mesh)
    folder = None if memory is None else Path(memory)
    trials = _Trials(generation, compiler, progress, folder)
    as_it_is = _as_it_is(trials, program)
    before = as_it_is.figures
    candidates = _in_turn([list(kind(program)) for kind in KINDS])
    tried, refused, interrupted = _try_all(trials, program, candidates[:budget])
    good, costly, unfit = _finished(trials, before, tried)
    together = None if interrupted else _together(trials, good, _promising(before, tried))
    least = together.trial.figures.peak_bytes if together else before.peak_bytes
    costly = [found for found in costly if found.trial.figures.peak_bytes < least - _SAME]
    refused += unfit
    checks = _Checks(program, as_it_is.layouts, progress)
    both, smaller = (tuple(filter(None, map(checks.advised, some))) for some in (good, costly))
    return Advice(
        program.name,
        generation,
        program.devices,
        before,
        both,
        None if together is None else checks.advised(together),
        len(tried) + refused,
        refused + len(good) + len(costly) - len(both) - len(smaller),
        len(tried) - unfit - len(good) - len(costly),
        interrupted + len(candidates[budget:]),
        smaller,
    )


@frozen
class _Tried:
    """A change that compiled."""

    candidate: Change
    program: Program
    trial: _Trial


def _as_it_is(trials: _Trials, program: Program) -> _Trial:
    """Return the trial of the program without changes."""
    if trials.progress is not None:
        trials.progress("compiling the program as it is")
    found = trials.of(program)()
    if found is not None:
        return found
    again = compile_module(
        program.module(), trials.generation, program.devices, compiler=trials.compiler
    )
    raise LayoutError(
        f"the program as it is does not compile: {again.error.partition(chr(10))[0]}",
        "advice compares a program that compiles with changed ones",
        "ask tpu.diagnose where the memory goes; try smaller sizes",
    )


def _in_turn(kinds: Sequence[list[T]]) -> list[T]:
    """Return the first of each kind, then the second of each, and so on.

    >>> _in_turn([[1, 2, 3], [4], [5, 6]])
    [1, 4, 5, 2, 6, 3]
    """
    longest = max(map(len, kinds), default=0)
    return [kind[k] for k in range(longest) for kind in kinds if k < len(kind)]


def _try_all(
    trials: _Trials, program: Program, candidates: Sequence[Change]
) -> tuple[list[_Tried], int, int]:
    """Compile changed programs, some at once: what compiled, what was refused, what remains."""
    tried: dict[int, _Tried] = {}
    refused = 0
    with ThreadPoolExecutor(ADVICE_JOBS) as pool:
        work = {}
        try:
            for k, candidate in enumerate(candidates):
                changed = _changed(trials, candidate, program)
                if changed is None:
                    refused += 1
                else:
                    work[pool.submit(changed[1])] = k, changed[0]
            for finished in as_completed(work):
                k, what = work[finished]
                trial = finished.result()
                if trial is None:
                    refused += 1
                else:
                    tried[k] = _Tried(candidates[k], what, trial)
                if trials.progress is not None:
                    trials.progress(f"tried {len(tried) + refused} of {len(candidates)} changes")
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
    found = [tried[k] for k in sorted(tried)]
    return found, refused, len(candidates) - len(tried) - refused


def _changed(
    trials: _Trials, candidate: Change, program: Program
) -> tuple[Program, Callable[[], _Trial | None]] | None:
    """Return a changed program, and a function that compiles it; None if it does not fit."""
    try:
        changed = candidate.apply(program)
        return changed, trials.of(changed, _MEMORY_KNOWN)
    except Exception:  # JAX refuses a change by any error
        return None


def _finished(
    trials: _Trials, before: Figures, tried: Sequence[_Tried]
) -> tuple[list[_Tried], list[_Tried], int]:
    """Compile the smaller programs to the end: the better, the only smaller, how many refused."""
    better = [t.trial.figures.peak_bytes for t in tried if is_better(before, t.trial.figures)]
    least = min(better, default=before.peak_bytes)
    first: dict[tuple[str, Figures], _Tried] = {}
    for found in tried:
        figures = found.trial.figures
        is_least = is_smaller(before, figures) and figures.peak_bytes < least
        if is_least or is_better(before, figures):
            first.setdefault((found.candidate.kind, figures), found)
    with ThreadPoolExecutor(ADVICE_JOBS) as pool:
        work = [pool.submit(trials.of(found.program)) for found in first.values()]
        whole = [each.result() for each in work]
    done = [replace(f, trial=t) for f, t in zip(first.values(), whole, strict=True) if t]
    good = [found for found in done if is_better(before, found.trial.figures)]
    least = min((found.trial.figures.peak_bytes for found in good), default=before.peak_bytes)
    costly = [
        found
        for found in done
        if is_smaller(before, f := found.trial.figures) and f.peak_bytes < least - _SAME
    ]
    good.sort(key=lambda found: -saved(before, found.trial.figures))
    costly.sort(key=lambda found: found.trial.figures.peak_bytes)
    return good, costly, len(whole) - len(done)


def _promising(before: Figures, tried: Sequence[_Tried]) -> list[_Tried]:
    """Return exact changes that save something, even if not better: the best of each kind first."""
    kinds: dict[str, list[_Tried]] = {}
    for found in sorted(tried, key=lambda f: -_largest_share(before, f.trial.figures)):
        if found.candidate.exact and _largest_share(before, found.trial.figures) > 0.01:
            kinds.setdefault(found.candidate.kind, []).append(found)
    return _in_turn(list(kinds.values()))


def _largest_share(before: Figures, after: Figures) -> float:
    """Return the larger of the shares that a change saves of the peak and of copies."""
    pairs = [(before.peak_bytes, after.peak_bytes), (before.moved_bytes, after.moved_bytes)]
    return max((old - new) / old if old else 0.0 for old, new in pairs)


def _together(
    trials: _Trials, good: Sequence[_Tried], promising: Sequence[_Tried]
) -> _Tried | None:
    """Add changes to the best exact one while each makes it better still; None if none does."""
    best = current = next((found for found in good if found.candidate.exact), None)
    if best is None or current is None:
        return None
    chosen = [best.candidate]
    others = [found for found in promising if found.candidate != best.candidate]
    for more in others[:ADVICE_TOGETHER]:
        changed = _changed(trials, more.candidate, current.program)
        trial = None if changed is None else changed[1]()
        if not (changed and trial and is_better(current.trial.figures, trial.figures)):
            continue
        whole = trials.of(changed[0])()
        if whole and is_better(current.trial.figures, whole.figures):
            chosen.append(more.candidate)
            current = _Tried(_joined(chosen), changed[0], whole)
    return current if len(chosen) > 1 else None


def _joined(chosen: Iterable[Change]) -> Change:
    parts = list(chosen)
    return replace(
        parts[0],
        kind=" and ".join(dict.fromkeys(c.kind for c in parts)),
        change="; ".join(f"{c.where}: {c.change}" for c in parts),
        where="together",
    )


@dataclass(slots=True)
class _Checks:
    """Comparisons of changed functions with the given one, on the CPU."""

    program: Program
    layouts: tuple[str, ...]
    progress: Progress | None

    def advised(self, found: _Tried) -> Advised | None:
        """Return a change with what was compared; None if it is not the same function after all."""
        candidate, figures = found.candidate, found.trial.figures
        change = candidate.change + (self._chosen(found.trial) if candidate.chosen else "")
        advised = Advised(candidate.kind, change, candidate.where, figures)
        if found.program.jaxpr is self.program.jaxpr:
            return replace(advised, equal=True, note="the function itself is unchanged")
        if self.progress is not None:
            self.progress(f"comparing {candidate.kind} on the CPU")
        compared = self._compared(found.program)
        if isinstance(compared, str):
            return replace(advised, note=compared)
        values = list(compared.values())
        largest = None if None in values else max(x or 0.0 for x in values)
        if candidate.exact and not _is_small(values[0]):
            return None
        note = compared_words(compared)
        if not candidate.exact:
            note += "; whether that is close enough is yours to judge"
        return replace(advised, equal=largest == 0, note=note, difference=largest)

    def _chosen(self, trial: _Trial) -> str:
        """Return the layouts that the compiler chose instead of the default ones."""
        names = (*self.program.arguments, *self.program.results)
        if not len(names) == len(trial.layouts) == len(self.layouts):
            return ""
        rows = zip(names, self.layouts, trial.layouts, strict=True)
        new = [f"{name} {after}" for name, before, after in rows if before != after]
        return f"; it chooses {listed(new[:6])}" if new else ""

    def _compared(self, changed: Program) -> dict[str, float | None] | str:
        """Return the largest difference for each kind of arguments, or why there is none."""
        avals = (*self.program.avals, *self.program.result_avals)
        if sum(aval.size * aval.dtype.itemsize for aval in avals) > ADVICE_CHECK_BYTES:
            return "not compared: the arrays are too large to run on the CPU"
        first = changed.first_avals or changed.avals
        parts: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
            "given": (self.program.call, self.program.avals),
            "changed": (changed.call, changed.avals),
        }
        if changed.encoders:
            parts["stored"] = changed.stored, first
        if changed.decoders:
            parts["returned"] = changed.returned, changed.result_avals
        try:
            return _differences({name: exported(*part) for name, part in parts.items()})
        except Exception as error:
            return f"not compared: {str(error).partition(chr(10))[0]}"


def _is_small(difference: float | None) -> bool:
    return difference is not None and difference <= _EXACT


def exported(function: Callable[..., Any], avals: Sequence[Any]) -> bytes:
    """Return a function of arrays, as ``jax.export`` writes it."""
    import jax
    from jax import export

    structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
    return bytes(export.export(jax.jit(function), platforms=["cpu"])(*structs).serialize())


def _differences(functions: Mapping[str, bytes]) -> dict[str, float | None]:
    """Return the relative difference of two functions' results; None where it has no bound."""
    compare = Compiler((sys.executable, _COMPARE), ADVICE_CHECK_SECONDS)
    with tempfile.TemporaryDirectory(prefix="tpu_compare_") as name:
        folder = Path(name)
        for part, function in functions.items():
            (folder / f"{part}.jax").write_bytes(function)
        result = run_in(folder, compare, "comparing")
    if "error" in result:
        raise LayoutError(result["error"])
    found: dict[str, float | None] = result["differences"]
    return found


def compared_words(found: Mapping[str, float | None]) -> str:
    """Return in words how much results differ.

    >>> compared_words({"near 1": 0.25, "near 1,000": 0.0})
    'largest difference of results on the CPU over the largest value: 0.25 (near 1), 0 (near 1,000)'
    >>> compared_words({"near 1": 0.0, "with NaN and infinities": 0.0})
    'results on the CPU do not differ: arguments near 1, with NaN and infinities'
    """
    if set(found.values()) == {0.0}:
        return f"results on the CPU do not differ: arguments {', '.join(found)}"
    each = (f"{'no bound' if x is None else f'{x:.2g}'} ({kind})" for kind, x in found.items())
    return f"largest difference of results on the CPU over the largest value: {', '.join(each)}"
