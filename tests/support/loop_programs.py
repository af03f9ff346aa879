"""One program of many nests: each reads its array at every offset, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.loop_cases import Case

C_HEAD = """\
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void run(void (*nest)(const uint64_t *, uint64_t *), size_t size, size_t count) {
    uint64_t *x = malloc((size + !size) * 8), *out = calloc(count + !count, 8);
    for (size_t k = 0; k < size; ++k) x[k] = k;
    nest(x, out);
    fwrite(out, 8, count, stdout);
    free(x); free(out);
}
"""

RUST_HEAD = """\
use std::io::Write;
fn run(nest: fn(&[u64], &mut Vec<u64>), size: u64) {
    let x: Vec<u64> = (0..size).collect();
    let mut out: Vec<u64> = Vec::new();
    nest(&x, &mut out);
    let bytes: Vec<u8> = out.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::io::stdout().write_all(&bytes).unwrap();
}
"""


def c_program(cases: Sequence[Case]) -> str:
    """The program in C; memory of each array ends with it."""
    functions, calls = [], []
    for k, case in enumerate(cases):
        text = case.nest("*out++ = x[{x}];").code(
            "c", function=True, name=f"f{k}", arguments="const uint64_t *x, uint64_t *out"
        )
        numbers = "".join(f", {n}" for _, n in sorted(case.sizes.items()))
        functions.append(f"{text}\nstatic void g{k}(const uint64_t *x, uint64_t *out) "
                         f"{{ f{k}(x, out{numbers}); }}")  # fmt: skip
        m = case.at_numbers
        calls.append(f"    run(g{k}, {m.size}, {int(np.prod(m.shape))});")
    return "\n".join([C_HEAD, *functions, "int main(void) {", *calls, "    return 0;\n}\n"])


def rust_program(cases: Sequence[Case]) -> str:
    """The program in Rust, which checks each index."""
    functions, calls = [], []
    for k, case in enumerate(cases):
        nest = case.nest("out.push(x[{x} as usize]);")
        arguments = "x: &[u64], out: &mut Vec<u64>"
        text = nest.code("rust", function=True, name=f"f{k}", arguments=arguments)
        numbers = "".join(f", {n}" for _, n in sorted(case.sizes.items()))
        functions.append(f"{text}\nfn g{k}({arguments}) {{ f{k}(x, out{numbers}); }}")
        calls.append(f"    run(g{k}, {case.at_numbers.size});")
    return "\n".join([RUST_HEAD, *functions, "fn main() {", *calls, "}\n"])


def wanted(cases: Sequence[Case]) -> list[NDArray[np.int64]]:
    """The offsets of each nest in their order."""
    found = []
    for case in cases:
        _, offsets = case.expected()
        found.append(np.asarray(offsets))
    return found


def split(output: Path, parts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """The numbers of an output in parts of these lengths."""
    values = np.fromfile(output, np.int64)
    ends = np.cumsum([len(part) for part in parts])
    assert len(values) == ends[-1], (len(values), ends[-1])
    return np.split(values, ends[:-1])
