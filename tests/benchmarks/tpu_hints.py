"""Hints of ``hlo`` on 26 programs, each compiled as it is told: how many help, is one worse?

``nice python tests/benchmarks/tpu_hints.py [GENERATION [NAME …]]`` needs the extra ``[tpu]``; a
program takes from ten seconds to minutes. Without a generation it asks v5e and v6e. It ends with 1
if a hint makes a program worse, or if fewer than 90 percent help. A hint helps where the peak is a
percent smaller or more, and copies and relayouts write no more than that more; where the peak is
not smaller, or they write more, it is worse.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import replace

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax.numpy as jnp
from tpu_programs import hinted_programs, programs

from morello_layouts.errors import LayoutError
from morello_layouts.programs.report import bytes_text
from morello_layouts.programs.tpu_compiler.advise import _MEMORY_KNOWN
from morello_layouts.programs.tpu_compiler.compilation import Figures, compile_module
from morello_layouts.programs.tpu_compiler.process import libtpu_compiler
from morello_layouts.programs.tpu_compiler.program import Program, trace
from morello_layouts.tpu import Suggestion


def changed(program: Program, position: int, best: Suggestion, *, is_result: bool) -> Program:
    """Return the program with an argument or result stored as a suggestion says."""
    shape = (program.result_avals if is_result else program.avals)[position].shape
    folded, layout = best.shape.shape, best.shape.layout
    assert layout is not None
    order, told = layout.major_to_minor, "order" in best.changes
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    is_row_major = order == tuple(range(len(order)))

    def encode(x):  # type: ignore[no-untyped-def]
        x = x.reshape(folded)
        return jnp.transpose(x, order) if told and not is_row_major else x

    def decode(x):  # type: ignore[no-untyped-def]
        return (jnp.transpose(x, back) if told and not is_row_major else x).reshape(shape)

    found = (program.returning if is_result else program.storing)(position, encode, decode)
    if told and is_row_major:
        mode = ((position, str(layout)),)
        name = "result_modes" if is_result else "parameter_modes"
        found = replace(found, **{name: (*getattr(found, name), *mode)})
    return found


def verdict(before: Figures, after: Figures) -> str:
    """Return whether a program became better, or worse, or neither."""
    saved, more = before.peak_bytes - after.peak_bytes, after.moved_bytes - before.moved_bytes
    if saved <= 0 and more <= 0:
        return (
            "worse" if saved < -4096 else "helps" if more < -0.01 * before.moved_bytes else "same"
        )
    if more > saved:
        return "worse"
    return "helps" if saved > 0.01 * before.peak_bytes else "same"


def main(generation: str, *names: str) -> int:
    """Compile each hint, and print what came of it."""
    found = Counter[str]()
    compiler = replace(libtpu_compiler(), until=_MEMORY_KNOWN)
    for name, (function, arguments) in {**programs(), **hinted_programs()}.items():
        if names and name not in names:
            continue
        program = trace(function, arguments)
        as_it_is = compile_module(
            program.module(), generation, program.devices, top=None, compiler=compiler
        )
        print(f"{name}: {bytes_text(as_it_is.figures.peak_bytes)}", flush=True)
        found["programs"] += 1
        module = as_it_is.program
        layout = module.entry_computation_layout
        assert layout is not None
        parameters = [array for value in layout.parameters for _, array in value.arrays()]
        results = [array for _, array in layout.result.arrays()]
        for each in as_it_is.diagnosis.wasteful:
            best = each.alternative.suggestion
            if best is None:
                continue
            what, told = program, list[str]()
            for is_result, arrays, words in (
                (False, parameters, program.arguments),
                (True, results, program.results),
            ):
                for k, array in enumerate(arrays):
                    if array == each.waste.shape:
                        what = changed(what, k, best, is_result=is_result)
                        told.append(words[k])
            try:
                made = compile_module(what.module(), generation, what.devices, compiler=compiler)
                after = made.figures
            except LayoutError as error:
                print(f"  refused: {each.waste.shape}: {error.what}")
                found["refused"] += 1
                continue
            kind = verdict(as_it_is.figures, after)
            found[kind] += 1
            figures = (as_it_is.figures, after)
            peak, moved = (
                " → ".join(bytes_text(getattr(f, key)) for f in figures)
                for key in ("peak_bytes", "moved_bytes")
            )
            print(f"  {kind}: {each.waste.shape} {each.alternative} ({', '.join(told)})")
            print(f"    peak {peak}, copies {moved}; promised {bytes_text(each.saved_bytes)}")
    tried = sum(found[kind] for kind in ("helps", "same", "worse", "refused"))
    print(f"{generation}: {found['programs']} programs, {tried} hints tried: {dict(found)}")
    return int(found["worse"] > 0 or found["helps"] < 0.9 * tried)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if sys.argv[1:] else max(map(main, ("v5e", "v6e"))))
