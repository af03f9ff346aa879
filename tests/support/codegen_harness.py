"""Programs that run printed functions: many functions in one file, arguments and results in files.

Every value travels as 64 bits, in two's complement.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.support.codegen_cases import Case

MASK = 2**64 - 1


class Runner(NamedTuple):
    """A function, as it is called in a program, and what must come out of it."""

    label: str
    source: str
    call: str
    case: Case


C_HEAD = """\
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static FILE *in, *out;
static uint64_t get(void) { uint64_t x; if (fread(&x, 8, 1, in) != 1) exit(3); return x; }
static void put(uint64_t x) { if (fwrite(&x, 8, 1, out) != 1) exit(4); }
"""

C_MAIN = """\
int main(int argc, char **argv) {{
    if (argc != 3) return 5;
    in = fopen(argv[1], "rb"); out = fopen(argv[2], "wb");
    if (!in || !out) return 6;
{calls}
    return fclose(out);
}}
"""


def c_function(k: int, case: Case, target: str, **options: object) -> Runner:
    """A whole function and the loop that calls it."""
    name = f"f{k}"
    text = case.code(target, function=True, name=name, **options)
    signature = re.search(rf"{name}\((.*)\) {{$", text, re.MULTILINE)
    assert signature is not None
    parameters = [p for p in signature[1].split(", ") if p != "void"]
    inputs = [p.split()[0] for p in parameters if "*" not in p]
    outputs = [p.split()[0] for p in parameters if "*" in p]
    lines = [f"{kind} a{i} = ({kind})get();" for i, kind in enumerate(inputs)]
    lines += [f"{kind} r{i};" for i, kind in enumerate(outputs)]
    arguments = [f"a{i}" for i in range(len(inputs))] + [f"&r{i}" for i in range(len(outputs))]
    call = f"{name}({', '.join(arguments)})"
    is_void = re.search(rf"void {name}\(", text) is not None
    lines.append(f"{call};" if is_void else f"uint64_t r = (uint64_t){call};")
    lines += [f"put((uint64_t)r{i});" for i in range(len(outputs))]
    lines += [] if is_void else ["put(r);"]
    return Runner(f"{case.label} {options}", text, _loop(k, lines), case)


def c_expression(k: int, case: Case, kind: str, **options: object) -> Runner:
    """An expression, or lines, over variables of one C type."""
    lines = [f"{kind} {name} = ({kind})get();" for name in case.names]
    lines += [f"(void){name};" for name in case.names]
    text = case.code("c", **options)
    if case.statements:
        lines += text.splitlines()
        lines += [f"put((uint64_t){name});" for name in case.outputs]
    else:
        lines.append(f"put((uint64_t)({text}));")
    return Runner(f"{case.label} {kind} {options}", "", _loop(k, lines), case)


def _loop(k: int, lines: list[str]) -> str:
    body = "\n".join(f"        {line}" for line in lines)
    head = f"static void run{k}(void) {{\n    for (uint64_t n = get(); n > 0; n--) {{"
    return f"{head}\n{body}\n    }}\n}}"


def c_program(runners: list[Runner]) -> str:
    """A C or C++ program that runs them all."""
    calls = "\n".join(f"    run{k}();" for k in range(len(runners)))
    parts = [C_HEAD, *(f"{r.source}\n{r.call}" for r in runners), C_MAIN.format(calls=calls)]
    return "\n".join(parts)


def rust_function(k: int, case: Case, **options: object) -> Runner:
    """A Rust function and the loop that calls it."""
    name = f"f{k}"
    text = case.code("rust", function=True, name=name, **options)
    signature = re.search(rf"fn {name}\((.*)\) -> (.*) {{$", text, re.MULTILINE)
    assert signature is not None
    kinds = re.findall(r": (\w+)", signature[1])
    arguments = ", ".join("get()" + ("" if k == "u64" else f" as {k}") for k in kinds)
    results = re.findall(r"\w+", signature[2])
    lines = [f"let r = {name}({arguments});"]
    is_tuple = signature[2].startswith("(")
    for i, kind in enumerate(results):
        value = f"r.{i}" if is_tuple else "r"
        lines.append(f"put({value}{'' if kind == 'u64' else ' as u64'});")
    body = "\n".join(f"            {line}" for line in lines)
    call = f"        for _ in 0..get() {{\n{body}\n        }}"
    return Runner(f"{case.label} {options}", text, call, case)


RUST_MAIN = """\
fn main() {{
    let paths: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&paths[1]).unwrap();
    let mut words = bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap()));
    let mut results: Vec<u8> = Vec::new();
    {{
        let mut get = || words.next().unwrap();
        let mut put = |x: u64| results.extend(x.to_le_bytes());
{calls}
    }}
    std::fs::write(&paths[2], results).unwrap();
}}
"""


def rust_program(runners: list[Runner]) -> str:
    """A Rust program that runs them all; every warning is an error."""
    calls = "\n".join(r.call for r in runners)
    head = "#![deny(warnings)]\n"
    return "\n".join([head, *(r.source for r in runners), RUST_MAIN.format(calls=calls)])


def run_all(command: list[str], runners: list[Runner], folder: Path) -> None:
    """Run a program and compare all that comes out of it."""
    words: list[NDArray[np.uint64]] = []
    for runner in runners:
        rows = runner.case.arguments
        words.append(np.array([len(rows)], np.uint64))
        words.append(np.array([x & MASK for row in rows for x in row], np.uint64))
    np.concatenate(words).tofile(folder / "in")
    done = subprocess.run(
        [*command, str(folder / "in"), str(folder / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = np.fromfile(folder / "out", np.uint64)
    position = 0
    for runner in runners:
        rows = runner.case.results  # type: ignore[assignment]
        width = len(rows[0])
        values = found[position : position + len(rows) * width].reshape(len(rows), width)
        position += len(rows) * width
        for column in range(width):
            which = [k for k, row in enumerate(rows) if row[column] is not None]
            wanted = np.array([int(rows[k][column] or 0) & MASK for k in which], np.uint64)
            wrong = np.flatnonzero(values[which, column] != wanted)
            assert not len(wrong), (
                f"{runner.label}: result {column} at {runner.case.arguments[which[wrong[0]]]} is "
                f"{values[which[wrong[0]], column]}, not {wanted[wrong[0]]}\n"
                f"{runner.source}\n{runner.call}"
            )
    assert position == len(found)
