"""A fuzzer of the HLO reader: real programs, cut and damaged.

    python -m tests.support.fuzz_hlo --seed 1 --count 10000

What comes out must be a module, every part of which can be asked for, or a LayoutError; and a
truncation at a line's end must give the statements before it. A variant for which this is not so is
printed, cut to the lines that matter; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from random import Random

from morello_layouts.errors import LayoutError
from morello_layouts.programs.hlo import HloModule, read_hlo
from tests.support.hlo_xla import programs

LONGEST = 9000  # characters of a program; of longer ones a part is taken
BYTES = '{}()[]"\\,=%:/*-> \n\t\r0189afSTx.é\x00\ufeff'


def cut(text: str, random: Random) -> str:
    """The text up to some character."""
    return text[: random.randrange(len(text))]


def cut_front(text: str, random: Random) -> str:
    """The text from some character on."""
    return text[random.randrange(len(text)) :]


def replace(text: str, random: Random) -> str:
    """One to four characters are others."""
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text))
        text = text[:at] + random.choice(BYTES) + text[at + 1 :]
    return text


def insert(text: str, random: Random) -> str:
    """Insert a character somewhere, once or many times."""
    at = random.randrange(len(text))
    return text[:at] + random.choice(BYTES) * random.choice((1, 1, 2, 300)) + text[at:]


def drop_lines(text: str, random: Random) -> str:
    """One to five lines are missing."""
    lines = text.split("\n")
    for _ in range(random.randint(1, 5)):
        del lines[random.randrange(len(lines))]
        lines = lines or [""]
    return "\n".join(lines)


def move_line(text: str, random: Random) -> str:
    """Move or repeat a line."""
    lines = text.split("\n")
    line = lines[random.randrange(len(lines))]
    if random.random() < 0.5:
        lines.remove(line)
    lines.insert(random.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def drop_middle(text: str, random: Random) -> str:
    """Some characters in the middle are missing."""
    begin = random.randrange(len(text))
    return text[:begin] + text[begin + random.choice((1, 3, 20, 500)) :]


def break_lines(text: str, random: Random) -> str:
    """Blanks have become newlines, or newlines blanks."""
    mark = random.choice(" \n")
    share = random.choice((0.001, 0.01, 0.3))
    return "".join(" \n"[c == " "] if c == mark and random.random() < share else c for c in text)


DAMAGES: tuple[Callable[[str, Random], str], ...] = (
    cut, cut_front, replace, insert, drop_lines, move_line, drop_middle, break_lines,
)  # fmt: skip


def variants(seed: int, count: int) -> Iterator[str]:
    """Damaged programs, the same ones for the same seed."""
    random = Random(seed)
    texts = [text for _, text in sorted(programs().items())]
    for _ in range(count):
        text = random.choice(texts)
        if len(text) > LONGEST:
            begin = random.choice((0, random.randrange(len(text) - LONGEST)))
            begin = text.rfind("\n", 0, begin) + 1
            text = text[begin : begin + LONGEST]
        for _ in range(random.choice((1, 1, 1, 2))):
            text = random.choice(DAMAGES)(text, random) or "\n"
        yield text + "\n"  # a newline: it is text, no path


def visit(module: HloModule) -> None:
    """Ask for every part of a module."""
    assert module.name is not None
    assert isinstance(module.is_scheduled, bool)
    assert len(module) == sum(1 for _ in module.instructions)
    for computation in module.computations:
        assert len(computation.parameters) <= len(computation)
        assert computation.instructions == tuple(computation)
        for i in computation:
            assert i.name
            assert i.opcode
            assert i.line > 0
            assert len(i.operands) == len(i.operand_names)
            assert isinstance(i.attributes, dict)
            assert i.metadata is not None
            assert isinstance(i.called_computations, tuple)
            assert isinstance(i.control_predecessors, tuple)
            assert str(i.shape)
            assert repr(i)


def outcome(text: str) -> str | None:
    """What went wrong with a text; None where nothing did."""
    try:
        module = read_hlo(text)
        visit(module)
    except LayoutError as error:
        return None if str(error) else "an error without words"
    except Exception as error:  # any other is what the fuzzer looks for
        return f"{type(error).__name__}: {error}"
    if any("kept as text" in warning for warning in module.warnings):
        return None  # such a text may end in the middle of a value
    try:
        again = read_hlo(str(module) + "\n")
    except LayoutError as error:
        return f"what it printed is not read: {error}" if len(module) else None
    return None if str(again) == str(module) else "what it printed is read as something else"


def shrunk(text: str, wrong: Callable[[str], bool]) -> str:
    """The text with as few lines as keep it wrong."""
    lines = text.split("\n")
    size = len(lines) // 2
    while size:
        at = 0
        while at < len(lines):
            rest = lines[:at] + lines[at + size :]
            if wrong("\n".join([*rest, ""])):
                lines = rest
            else:
                at += size
        size //= 2
    return "\n".join([*lines, ""])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10000)
    options = parser.parse_args(arguments)
    wrong = 0
    for text in variants(options.seed, options.count):
        found = outcome(text)
        if found is not None:
            wrong += 1
            small = shrunk(text, lambda t: outcome(t) is not None)
            sys.stdout.write(f"{found}\n{small[:2000]!r}\n")
    sys.stdout.write(f"{options.count} variants, {wrong or 'none'} wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
