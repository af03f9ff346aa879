"""Forms of all large values chosen together: what they save where one value's form saves nothing.

``nice python tests/benchmarks/tpu_together.py [GENERATION …]`` needs the extra ``[tpu]``, and takes
a minute or two. For each program it compiles every form of one argument or result, each form of all
arrays of one shape, and what integer programming chooses for all values together; a program is
better as ``advise`` says it. It ends with 1 if a choice together is better on none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import inf
from time import process_time
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from tpu_programs import blend, hinted_programs, optimizer

from morello_layouts.programs.report import bytes_text
from morello_layouts.programs.tpu_compiler import advise as _advise  # noqa: F401  loads the module
from morello_layouts.programs.tpu_compiler.advice import is_better
from morello_layouts.programs.tpu_compiler.arguments import ordered_layouts, other_forms
from morello_layouts.programs.tpu_compiler.process import kept_warm, libtpu_compiler
from morello_layouts.programs.tpu_compiler.program import Change, trace
from morello_layouts.programs.tpu_compiler.values import (
    chosen_forms,
    constrained_values,
    folded_forms,
    folded_shapes,
    inlined,
    kept_in_forms,
    values_of,
)

search = sys.modules["morello_layouts.programs.tpu_compiler.advise"]


def average_beside_softmax(weights: Any, average: Any, scores: Any) -> Any:
    """Average weights, and a softmax over rows of the same shape beside it."""
    return 0.99 * average + 0.01 * weights, jax.nn.softmax(scores)


def adam_of_products(weight: Any, mean: Any, square: Any, x: Any, y: Any) -> Any:
    """Update weights of 7 by 33 by Adam; the gradient is a product."""
    return optimizer(weight, jnp.einsum("nbi,nbj->nij", x, y), mean, square)


def blend_and_mean(one: Any, other: Any, third: Any) -> Any:
    """Blend images, colours last, and return the mean colour of others."""
    return blend(one, other), third.mean(-1)


def tried() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return programs of one region, and programs whose values want different forms."""
    images, weights = "f32[4,225,225,3]", "f32[5000,7,33]"
    known = hinted_programs()
    return {
        **{name: known[name] for name in ("optimizer", "blend", "masked", "clipped")},
        "average beside softmax": (average_beside_softmax, (weights,) * 3),
        "Adam of products": (
            adam_of_products,
            (weights, weights, weights, "f32[5000,64,7]", "f32[5000,64,33]"),
        ),
        "blend and mean": (blend_and_mean, (images,) * 3),
    }


def forms_of_one(program: Any) -> Iterable[Change]:
    """Yield the folded forms of each value of a program, one at a time."""
    for k, value in enumerate(values_of(inlined(program).jaxpr.jaxpr)):
        for form in folded_forms(getattr(value.aval, "shape", ())):
            if program.bytes_of(value.aval):
                apply = partial(kept_in_forms, pick={k: form}.get)
                yield Change("folding", form.words, str(k), apply)


def best(trials: Any, program: Any, changes: Iterable[Change]) -> tuple[int, int, str]:
    """Return how many changes compiled, how many are better, and the best of these in words."""
    before = search._as_it_is(trials, program).figures
    found = []
    for change in changes:
        work = search._changed(trials, change, program)
        trial = None if work is None else work[1]()
        if trial is not None:
            found.append((trial.figures.peak_bytes, trial.figures.moved_bytes, trial.figures))
    better = [each for each in found if is_better(before, replace(each[2], cycles=None))]
    least = min(better, default=None, key=lambda each: each[:2])
    if least is None:
        return len(found), 0, "none"
    return len(found), len(better), f"{bytes_text(least[0])}, copies {bytes_text(least[1])}"


def main(generations: list[str]) -> int:
    """Print a table of what each way finds."""
    helped = 0
    print("| program | TPU | as it is | one value | all of one shape | chosen together | s |")
    print("|---|---|---|---|---|---|---|")
    with kept_warm(libtpu_compiler()) as warm:
        for generation in generations or ["v5e", "v6e"]:
            trials = search._Trials(generation, warm, None, None, inf)
            for name, (function, arguments) in tried().items():
                began = process_time()
                program = trace(function, arguments)
                as_it_is = search._as_it_is(trials, program)
                program = replace(program, held=as_it_is.held)
                figures = (as_it_is.figures.peak_bytes, as_it_is.figures.moved_bytes)
                cells = ["{}, copies {}".format(*map(bytes_text, figures))]
                single = [*forms_of_one(program), *other_forms(program)]
                single += [*ordered_layouts(program), *constrained_values(program)]
                for changes in (single, folded_shapes(program), chosen_forms(program)):
                    count, better, words = best(trials, program, changes)
                    cells.append(f"{better} of {count}: {words}")
                helped += better > 0
                spent = process_time() - began
                print(f"| {name} | {generation} | {' | '.join(cells)} | {spent:.1f} |", flush=True)
    return int(not helped)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
