"""Advice on 26 programs and some more, promises compiled again and judged by JAX.

``python tests/benchmarks/tpu_advice.py MEMORY [MINUTES [GENERATION …]]`` needs the extra ``[tpu]``
and a minute or two of one processor for a program; MEMORY is a folder that keeps the figures of
each compiled program, MINUTES what ``--minutes`` means, without a bound by default. What comes of a
program stands in ``tests/data/tpu_advice.jsonl``, and is asked again if figures are counted in
another way since. The page's tables are made of these lines by ``docs/generate.py``.

The judge gets the programs of the promises that the page shows, compiles them in a process of its
own, and asks JAX for the memory: arguments, results and temporaries, less what these share.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import islice
from math import inf
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, ClassVar

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from tpu_programs import drawn_programs, hinted_programs, programs

import morello_layouts as ml
from morello_layouts.programs.tpu_compiler import process
from morello_layouts.programs.tpu_compiler.child import compiled

search = sys.modules["morello_layouts.programs.tpu_compiler.advise"]
RESULTS = Path(__file__).parents[1] / "data" / "tpu_advice.jsonl"


def asked() -> dict[str, tuple[Any, Any]]:
    """Return the twenty programs, then those drawn at the end."""
    twenty = {**programs(), **dict(islice(hinted_programs().items(), 12))}
    for name in ("sort of triples", "top of logits"):
        del twenty[name]
    return {**twenty, **drawn_programs()}


def shown(advice: Any) -> list[Any]:
    """Return the promises of the page: together, first, first of the program, and of memory."""
    inside = [a for a in advice.advice if a.kind not in ("donation", "element type")]
    firsts = (advice.together, *advice.advice[:1], *inside[:1], *advice.memory_only[:1])
    return list(dict.fromkeys(filter(None, firsts)))


def bytes_by_jax(modules: list[bytes], generation: str, devices: int) -> list[int]:
    """Return the bytes that JAX says each module takes on a device."""
    os.environ.update(process._ENVIRONMENT)
    topology, found = process._topology(generation, devices), []
    with TemporaryDirectory() as name:
        for module in modules:
            Path(name, "program.mlir").write_bytes(module)
            stats = compiled(Path(name), topology, devices).get_compiled_memory_stats()
            held = stats.argument_size_in_bytes + stats.output_size_in_bytes
            found.append(held + stats.temp_size_in_bytes - stats.alias_size_in_bytes)
    return found


class Kept(search._Checks):  # type: ignore[misc]
    """Comparisons that keep each promise with the program that it was made of."""

    programs: ClassVar[dict[Any, Any]] = {}

    def _advised(self, found: Any, compared: Any) -> Any:
        advised = super()._advised(found, compared)
        if advised is not None:
            self.programs[advised] = found.program
        return advised


def result(name: str, generation: str, memory: str, minutes: float) -> dict[str, Any]:
    """Return what comes of a program: figures, counts, seconds, and each promise by JAX."""
    function, arguments = asked()[name]
    began = monotonic()
    advice = ml.tpu.advise(
        function,
        *arguments,
        generation=generation,
        memory=memory,
        minutes=None if minutes == inf else minutes,
    )
    seconds = monotonic() - began
    print(f"\n== {name}, {generation}, {seconds:.0f} s\n{advice}", flush=True)
    given = search.trace(function, arguments)
    promises = shown(advice)
    modules = [given.module(), *(Kept.programs[promise].module() for promise in promises)]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        before, *after = pool.submit(bytes_by_jax, modules, generation, given.devices).result()
    told = dict(zip(promises, after, strict=True))

    def row(promise: Any) -> dict[str, Any] | None:
        return promise and {**asdict(promise), "bytes_by_jax": told.get(promise)}

    return {
        "program": name,
        "drawn": name in drawn_programs(),
        "generation": generation,
        "libtpu": search._version(),
        "counting": search.COUNTING,
        "before": {**asdict(advice.before), "bytes_by_jax": before},
        "together": row(advice.together),
        "both": list(map(row, advice.advice)),
        "memory_only": list(map(row, advice.memory_only)),
        **{key: getattr(advice, key) for key in ("compiled", "refused", "worse", "left")},
        "seconds": round(seconds),
    }


def main(memory: str, minutes: str = "inf", *generations: str) -> None:
    """Ask what is not known, or was counted in another way, and keep each answer as it comes."""
    search._Checks = Kept
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    rows = {(row["program"], row["generation"]): row for row in map(json.loads, lines)}
    for generation in generations or ("v5e", "v6e"):
        for key in ((name, generation) for name in asked()):
            if rows.get(key, {}).get("counting") != search.COUNTING:
                rows[key] = result(*key, memory, float(minutes))
                texts = (json.dumps(row, ensure_ascii=False) for row in rows.values())
                RESULTS.write_text("".join(f"{text}\n" for text in texts))


if __name__ == "__main__":
    main(*sys.argv[1:])
