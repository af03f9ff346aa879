"""Try changes of a function on the TPU compiler, keep those that are better, and report them."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, islice
from math import inf
from pathlib import Path
from threading import Event, current_thread, main_thread
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar

from morello_layouts.core.checks import as_int
from morello_layouts.core.description import listed
from morello_layouts.core.fields import frozen
from morello_layouts.core.files import written
from morello_layouts.core.limits import (
    ADVICE_CHECK_BYTES,
    ADVICE_CHECK_SECONDS,
    ADVICE_CODE_SECONDS,
    ADVICE_COMPILATIONS,
    ADVICE_JOBS,
    ADVICE_KEPT,
    ADVICE_TOGETHER,
)
from morello_layouts.errors import LayoutError
from morello_layouts.programs.diagnostics.buffers import entry_arrays
from morello_layouts.programs.tpu_compiler.advice import (
    SAME,
    Advice,
    Advised,
    compared_words,
    is_better,
    is_smaller,
    saved,
)
from morello_layouts.programs.tpu_compiler.arguments import ARGUMENT_KINDS
from morello_layouts.programs.tpu_compiler.compilation import (
    Figures,
    compile_module,
    held_bytes,
    require_generation,
)
from morello_layouts.programs.tpu_compiler.operations import OPERATION_KINDS
from morello_layouts.programs.tpu_compiler.process import (
    Compiler,
    Progress,
    kept_warm,
    libtpu_compiler,
    run_in,
)
from morello_layouts.programs.tpu_compiler.program import Change, Program, bytecode, key_of, trace
from morello_layouts.programs.tpu_compiler.values import VALUE_KINDS

T = TypeVar("T")

KINDS: Final = (*OPERATION_KINDS, *ARGUMENT_KINDS, *VALUE_KINDS)
"""Every kind of change: a function from a program to its candidates."""

COUNTING: Final = 4
"""How figures are counted, as a number: a folder's figures of another one are not read."""

# After this dump the compiler only makes code of the program, for most of its time.
_MEMORY_KNOWN: Final = "after_optimizations_after_buffer_assignment.txt"
_Compared: TypeAlias = "str | Mapping[str, float | None]"
"""The largest difference for each kind of arguments; or why it is not known."""
_EXACT: Final = 1e-3  # relative difference of sums of numbers near 1 in another order


@frozen
class _Trial:
    """A program that compiled: its figures, its arguments' and results' layouts, its bytes."""

    figures: Figures
    layouts: tuple[str, ...]
    held: Mapping[int, int] = field(default_factory=dict)  #: as ``Program.held``.


@dataclass(slots=True)
class _Trials:
    """Programs that are compiled for one generation, each once; ``memory`` keeps them longer."""

    generation: str
    compiler: Compiler
    progress: Progress | None
    memory: Path | None
    until: float  #: the time at which the search is over, by ``monotonic``.
    stopped: Event = field(default_factory=Event)
    known: dict[str, _Trial | None] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether the user or the time has ended the search."""
        return self.stopped.is_set() or monotonic() > self.until

    def tick(self, _line: str = "") -> None:
        """Raise an error if the search is over: it ends what runs."""
        if self.is_over:
            raise LayoutError("the search was ended")

    def of(
        self, program: Program, until: str = "", seconds: float = inf
    ) -> Callable[[], _Trial | None]:
        """Lower a program, and return a function that compiles it; None if that fails."""
        module = program.stablehlo()
        limit = min(seconds, self.compiler.seconds)
        compiler = replace(self.compiler, until=until, seconds=limit)
        return partial(self._trial, key_of(module), bytecode(module), program.devices, compiler)

    def _trial(self, key: str, module: bytes, devices: int, compiler: Compiler) -> _Trial | None:
        key = f"{self.generation}_{key}" + ("_memory" if compiler.until else "")
        if key in self.known:
            return self.known[key]
        kept = self.memory and self.memory / f"{key}.{COUNTING}_{_version()}.json"
        found = _read(kept) if kept else None
        if found is None:
            found = self._compiled(module, devices, compiler)
            if kept and found:
                with suppress(OSError, LayoutError):  # a folder that takes no files
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    with written(kept) as beside:
                        beside.write_text(json.dumps(asdict(found)))
        if not self.is_over:
            self.known[key] = found
        return found

    def _compiled(self, module: bytes, devices: int, compiler: Compiler) -> _Trial | None:
        try:
            self.tick()
            found = compile_module(
                module, self.generation, devices, top=0, compiler=compiler, progress=self.tick
            )
        except LayoutError:
            return None
        parameters, results = entry_arrays(found.program)
        layouts = tuple(str(each.layout) for each in (*parameters, *results))
        return None if found.error else _Trial(found.figures, layouts, held_bytes(found))


def _read(kept: Path) -> _Trial | None:
    """Return what a file keeps, which is used last from now on; None if it does not stand there."""
    try:
        read = json.loads(kept.read_text())
        held = {int(n): size for n, size in read["held"].items()}
        found = _Trial(Figures(**read["figures"]), tuple(read["layouts"]), held)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    with suppress(OSError):
        kept.touch()
    return found


def _forget(folder: Path) -> None:
    """Remove the files that were used first, if a folder keeps too many."""
    paths = folder.glob(f"*_{'[0-9a-f]' * 64}*.json")
    with suppress(OSError):  # another process removes the same
        for path in sorted(paths, key=lambda path: -path.stat().st_mtime)[ADVICE_KEPT:]:
            path.unlink()


@cache
def _version() -> str:
    """Return the version of libtpu, which decides what a program becomes."""
    try:
        return version("libtpu")
    except PackageNotFoundError:
        return ""


@contextmanager
def _interruptible(trials: _Trials) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end the search, and the second the program."""
    names = (signal.SIGINT, signal.SIGTERM)
    if current_thread() is not main_thread():
        yield
        return

    def stop(*_: object) -> None:
        trials.stopped.set()
        restore()

    def restore() -> None:
        for name, handler in zip(names, before, strict=True):
            signal.signal(name, handler)

    before = [signal.signal(name, stop) for name in names]
    try:
        yield
    finally:
        restore()


def advise(
    function: Callable[..., Any],
    *arguments: Any,
    generation: str = "v5e",
    mesh: Any = None,
    budget: int = ADVICE_COMPILATIONS,
    minutes: float | None = None,
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
        minutes: the time after which the advice holds what was found.
        compiler: the command that compiles, with its bounds.
        progress: is told, in a line, how far the work is.
        memory: a folder that keeps the figures of 10,000 programs, those that were used last: none
            of them is compiled a second time.

    Raises:
        LayoutError: if the compiler is not here, or refuses the program as it is.

    Ctrl-C and SIGTERM end the search: the advice holds what was found until then.
    """
    require_generation(generation)
    budget = as_int(budget, "budget", fix="give the number of changes to compile")
    given = libtpu_compiler() if compiler is None else compiler
    folder = None if memory is None else Path(memory)
    began, seconds = monotonic(), inf if minutes is None else 60 * minutes
    ends = [began + part * seconds for part in _PARTS]
    with kept_warm(given) as warm:
        trials = _Trials(generation, warm, progress, folder, ends[0])
        with _interruptible(trials):
            advice = _search(trials, trace(function, arguments, mesh), budget, ends)
    if folder:
        _forget(folder)
    return advice


_PARTS: Final = (0.6, 0.85, 1)  # of the time: ends of the search, of making code, of comparisons


def _search(trials: _Trials, program: Program, budget: int, ends: Sequence[float]) -> Advice:
    """Try changes, make the code of the best, and compare them, until a time each."""
    as_it_is = _as_it_is(trials, program)
    before = as_it_is.figures
    program = replace(program, held=as_it_is.held)
    candidates = _in_turn([list(kind(program)) for kind in KINDS])
    tried, refused = _try_all(trials, program, candidates[:budget])
    trials.until = ends[1]
    good, costly, unfit = _finished(trials, before, tried)
    together = None if trials.is_over else _together(trials, good, _promising(before, tried))
    least = together.trial.figures.peak_bytes if together else before.peak_bytes
    costly = [found for found in costly if found.trial.figures.peak_bytes < least - SAME]
    trials.until = ends[2]
    checks = _Checks(program, as_it_is.layouts, trials)
    more = [] if together is None else [together]
    advised = iter(checks.advised([*good, *costly, *more]))
    both, smaller = (tuple(filter(None, islice(advised, len(some)))) for some in (good, costly))
    wrong = len(good) + len(costly) - len(both) - len(smaller)
    return Advice(
        program.name,
        trials.generation,
        program.devices,
        before,
        both,
        next(advised, None),
        len(tried) - unfit,
        refused + unfit + wrong,
        len(tried) - unfit - len(good) - len(costly),
        len(candidates) - len(tried) - refused,
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
    until, trials.until = trials.until, inf  # without it there is nothing to compare with
    found = trials.of(program)()
    trials.until = until
    if found is not None:
        return found
    trials.tick()
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


def _jobs() -> int:
    """Return the number of programs that are compiled at once."""
    return min(ADVICE_JOBS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)


def _try_all(
    trials: _Trials, program: Program, candidates: Sequence[Change]
) -> tuple[list[_Tried], int]:
    """Compile changed programs, some at once: what compiled, and how many did not."""
    tried: dict[int, _Tried] = {}
    refused = 0
    with ThreadPoolExecutor(_jobs()) as pool:
        work = {}
        for k, candidate in enumerate(candidates):
            if trials.is_over:
                break
            changed = _changed(trials, candidate, program)
            if changed is None:
                refused += 1
            else:
                work[pool.submit(changed[1])] = k, changed[0]
        for finished in as_completed(work):
            k, what = work[finished]
            trial = finished.result()
            if trial is None:
                refused += not trials.is_over
            else:
                tried[k] = _Tried(candidates[k], what, trial)
            if trials.progress is not None:
                trials.progress(f"tried {len(tried) + refused} of {len(candidates)} changes")
    return [tried[k] for k in sorted(tried)], refused


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
    first: dict[tuple[str, Figures], _Tried] = {}
    for found in chain(*_lists(before, tried)):
        first.setdefault((found.candidate.kind, found.trial.figures), found)
    best = sorted(first.values(), key=lambda found: -saved(before, found.trial.figures))
    del best[2 * ADVICE_TOGETHER :]
    with ThreadPoolExecutor(_jobs()) as pool:
        whole = [each.result() for each in [pool.submit(_whole, trials, found) for found in best]]
    done = [replace(f, trial=t) for f, t in zip(best, whole, strict=True) if t]
    good, costly = _lists(before, done, is_known=before.cycles is not None)
    return good, costly, len(whole) - len(done)


def _lists(
    before: Figures, tried: Sequence[_Tried], *, is_known: bool = False
) -> tuple[list[_Tried], list[_Tried]]:
    """Return the better, the most bytes saved first, and the only smaller, the smallest first."""
    known = [found for found in tried if found.trial.figures.cycles is not None or not is_known]
    good = [found for found in known if is_better(before, found.trial.figures)]
    good.sort(key=lambda found: -saved(before, found.trial.figures))
    least = min((found.trial.figures.peak_bytes for found in good), default=inf) - SAME
    smaller = [found for found in tried if is_smaller(before, found.trial.figures)]
    costly = [found for found in smaller if found.trial.figures.peak_bytes < least]
    return good, sorted(costly, key=lambda found: found.trial.figures.peak_bytes)


def _whole(trials: _Trials, found: _Tried) -> _Trial | None:
    """Return the figures with cycles; without, if making the code takes long or is interrupted."""
    began = monotonic()
    trial = trials.of(found.program, seconds=ADVICE_CODE_SECONDS)()
    is_late = trials.is_over or monotonic() - began > ADVICE_CODE_SECONDS
    return found.trial if trial is None and is_late else trial


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
        if trials.is_over:
            break
        changed = _changed(trials, more.candidate, current.program)
        trial = None if changed is None else changed[1]()
        if not (changed and trial and is_better(current.trial.figures, trial.figures)):
            continue
        whole = _whole(trials, _Tried(more.candidate, changed[0], trial))
        is_known = whole and (whole.figures.cycles or current.trial.figures.cycles is None)
        if whole and is_known and is_better(current.trial.figures, whole.figures):
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
    trials: _Trials

    def advised(self, found: Sequence[_Tried]) -> list[Advised | None]:
        """Return changes with what was compared; None for another function after all."""
        if found and self.trials.progress is not None:
            self.trials.progress("comparing results on the CPU")
        others = [each for each in found if each.program.jaxpr is not self.program.jaxpr]
        compared = iter(self._compared([each.program for each in others]))
        return [self._advised(t, next(compared) if t in others else None) for t in found]

    def _advised(self, found: _Tried, compared: _Compared | None) -> Advised | None:
        candidate, figures = found.candidate, found.trial.figures
        change = candidate.change + (self._chosen(found.trial) if candidate.chosen else "")
        advised = Advised(candidate.kind, change, candidate.where, figures)
        if compared is None:
            return replace(advised, equal=True, note="the function itself is unchanged")
        if isinstance(compared, str):
            return replace(advised, note=compared)
        values = list(compared.values())
        largest = None if None in values else max(x or 0.0 for x in values)
        if candidate.exact and (values[0] is None or values[0] > _EXACT):
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

    def _compared(self, changed: Sequence[Program]) -> list[_Compared]:
        """Return the largest difference for each kind of arguments, or why there is none."""
        avals = (*self.program.avals, *self.program.result_avals)
        if self.trials.is_over:
            return [_not_compared("the search was ended")] * len(changed)
        if sum(aval.size * aval.dtype.itemsize for aval in avals) > ADVICE_CHECK_BYTES:
            return [_not_compared("the arrays are too large to run on the CPU")] * len(changed)
        found: list[_Compared] = []
        try:
            functions = {"given": exported(self.program.call, self.program.avals)}
        except Exception as error:  # JAX refuses a function by any error, such as kernels of a TPU
            return [_not_compared(error)] * len(changed)
        for program in changed:
            k = found.count("")
            try:
                functions |= {f"{k}_{name}": part for name, part in _parts(program).items()}
                found.append("")
            except Exception as error:
                found.append(_not_compared(error))
        try:
            compared = iter(self._differences(functions) if "" in found else ())
        except LayoutError as error:
            return [each or _not_compared(error) for each in found]
        return [each or next(compared) for each in found]

    def _differences(self, functions: Mapping[str, bytes]) -> list[_Compared]:
        """Return the relative difference of results for each change; None where it has no bound."""
        seconds, given = ADVICE_CHECK_SECONDS * len(functions), self.trials.compiler
        compare = Compiler((), seconds, server=None if given.command else given.server)
        with tempfile.TemporaryDirectory(prefix="tpu_compare_") as name:
            folder = Path(name)
            for part, function in functions.items():
                (folder / f"{part}.jax").write_bytes(function)
            result = run_in(folder, compare, "comparing", self.trials.tick)
        differences = result["differences"]
        return [_not_compared(each["error"]) if "error" in each else each for each in differences]


def _not_compared(why: object) -> str:
    return f"not compared: {str(why).partition(chr(10))[0]}"


def _parts(program: Program) -> dict[str, bytes]:
    """Return the functions that a changed program is, as ``compare.py`` reads them."""
    parts = {"changed": exported(program.call, program.avals)}
    if program.encoders:
        parts["stored"] = exported(program.stored, program.first_avals or program.avals)
    if program.decoders:
        parts["returned"] = exported(program.returned, program.result_avals)
    return parts


def exported(function: Callable[..., Any], avals: Sequence[Any]) -> bytes:
    """Return a function of arrays, as ``jax.export`` writes it."""
    import jax
    from jax import export

    structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
    layout = export.DisabledSafetyCheck.custom_call("LayoutConstraint")
    made = export.export(jax.jit(function), platforms=["cpu"], disabled_checks=[layout])
    return bytes(made(*structs).serialize())
