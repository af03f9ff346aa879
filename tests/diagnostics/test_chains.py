"""Chains of moves in programs: which copies are needless, their bytes, and the map of the whole."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.programs.diagnostics.chains import MoveChain
from tests.support.hlo_xla import programs
from tests.support.tpu_dumps import path_of


def chains(*lines: str) -> tuple[MoveChain, ...]:
    return ml.diagnose("\n".join(f"%{line}" for line in lines)).chains


SOURCE = "a = f32[8,4]{1,0} negate(f32[8,4]{1,0} %x)"
TRANSPOSED = "b = f32[4,8]{1,0} transpose(%a), dimensions={1,0}"


def test_a_copy_that_only_moves_read_is_needless() -> None:
    (found,) = chains(
        SOURCE,
        TRANSPOSED,
        "c = f32[32]{0} reshape(%b)",
        "d = f32[16]{0} slice(%c), slice={[8:24]}",
        "e = f32[16]{0} dot(%d, %y)",
    )
    assert found.path == "a → b → c → d"
    assert [step.written_bytes for step in found.steps] == [128, 0, 64]
    assert [step.is_needless for step in found.steps] == [True, False, False]
    assert (found.verdict, found.saved_bytes) == ("one pass", 128)
    assert found.map.function == "(d0) -> (d0 mod 8, d0 floordiv 8 + 1)"
    assert found.because == "d stays: e reads it"


def test_what_something_else_reads_stays() -> None:
    (found,) = chains(
        SOURCE,
        TRANSPOSED,
        "c = f32[2,8]{1,0} slice(%b), slice={[0:2], [0:8]}",
        "d = f32[4,8]{1,0} add(%b, %b)",
    )
    assert (found.path, found.verdict, found.saved_bytes) == ("b → c", "kept", 0)
    assert found.because == "b stays: d reads it"


def test_moves_that_undo_each_other_are_free() -> None:
    (found,) = chains(
        SOURCE,
        TRANSPOSED,
        "c = f32[8,4]{1,0} transpose(%b), dimensions={1,0}",
        "d = f32[8,4]{1,0} add(%c, %c)",
    )
    assert (found.verdict, found.saved_bytes, found.because) == ("free", 256, None)
    assert found.advice.startswith("the last result has the bytes of the source")


COMPILED = """HloModule jit_two, is_scheduled=true
%f (p.1: f32[64,128,96]) -> f32[8192,96] {{
  %p.1 = f32[64,128,96]{{2,1,0}} parameter(0)
  %transpose.4 = f32[96,64,128]{{2,1,0}} transpose(%p.1), dimensions={{2,0,1}}
  %bitcast.2 = f32[96,8192]{{1,0}} bitcast(%transpose.4)
  ROOT %transpose.5 = f32[8192,96]{{1,0}} transpose(%bitcast.2), dimensions={{1,0}}
}}
ENTRY %main.1 (x.1: f32[64,128,96]) -> f32[8192,96] {{
  %x.1 = f32[64,128,96]{{2,1,0}} parameter(0)
  {}
}}"""
ONE = "ROOT %g = f32[8192,96]{1,0} fusion(%x.1), kind=kLoop, calls=%f"
TWO = ONE[5:] + "\n  ROOT %copy.5 = f32[8192,96]{1,0} copy(%g)"


def test_advice_that_was_followed() -> None:
    """What XLA's CPU compiler (jaxlib 0.10.2) makes of a transpose, a barrier and a transpose back.

    The parameter is donated; the text with the fusion alone is that without donation. The same
    function as one reshape, ``x.reshape(8192, 96)``, compiles to a bitcast: nothing is written.
    """
    (found,) = ml.diagnose(COMPILED.format(TWO)).chains
    assert (found.verdict, found.saved_bytes) == ("free", 2 * 64 * 128 * 96 * 4)
    assert found.because == "copy.5 stays unless x.1 is donated"
    (found,) = ml.diagnose(COMPILED.format(ONE)).chains
    assert (found.path, found.saved_bytes) == ("x.1 → g", 64 * 128 * 96 * 4)
    after = "ROOT %bitcast = f32[8192,96]{1,0} bitcast(%x.1)"
    text = COMPILED.format(after)
    report = ml.diagnose(text[text.index("ENTRY") :])
    assert not report.chains
    assert sum(move.written_bytes for move in report.moves) == 0


def test_what_is_no_chain() -> None:
    """One move alone, another memory space, another width, a sum, a program's result."""
    assert not chains(SOURCE, TRANSPOSED, "c = f32[4,8]{1,0} negate(%b)")
    assert not chains(SOURCE, "b = f32[8,4]{1,0:S(1)} copy(%a)", "c = f32[8,4]{0,1} copy(%b)")
    assert not chains(SOURCE, TRANSPOSED, "c = u16[4,8,2]{2,1,0} bitcast-convert(%b)")
    assert not chains(
        SOURCE, TRANSPOSED, "c = f32[8]{0} reduce(%b, %z), dimensions={0}, to_apply=f"
    )
    entry = f"ENTRY %e {{\n %{SOURCE}\n %{TRANSPOSED}\n ROOT %t = f32[4,8]{{0,1}} copy(%b)\n}}"
    (found,) = ml.diagnose(entry).chains
    assert (found.verdict, found.because) == ("free", None)
    assert not ml.diagnose(
        entry.replace("%t = f32[4,8]{0,1} copy(%b)", "%t = f32[] sum(%b)")
    ).chains


def test_a_fusion_of_moves_is_a_move() -> None:
    text = f"""HloModule m
    %f {{ %p = f32[8,4]{{1,0}} parameter(0)
      %z = f32[] constant(0)
      %q = f32[9,4]{{1,0}} pad(%p, %z), padding=1_0x0_0
      ROOT %r = f32[4,9]{{1,0}} transpose(%q), dimensions={{1,0}} }}
    ENTRY %e {{ %{SOURCE}
      %b = f32[4,9]{{1,0}} fusion(%a), kind=kLoop, calls=%f
      %k = f32[4,9]{{1,0}} broadcast(f32[] %w), dimensions={{}}
      %c = f32[4,18]{{1,0}} concatenate(%b, %k), dimensions={{1}}
      ROOT %d = f32[4,18]{{1,0}} negate(%c) }}"""
    found = {chain.source: chain for chain in ml.diagnose(text).chains}
    assert list(found) == ["a"]
    assert found["a"].needless[0].written_bytes == 4 * 9 * 4
    assert found["a"].map.function == "(d0, d1) -> (d1 - 1, d0)"
    assert found["a"].map.bounds["d1"] == (1, 8)


def test_a_fusion_that_reads_twice_is_no_move() -> None:
    text = f"""HloModule m
    %f {{ %p = f32[8,4]{{1,0}} parameter(0)
      ROOT %q = f32[16,4]{{1,0}} concatenate(%p, %p), dimensions={{0}} }}
    ENTRY %e {{ %{SOURCE}
      %b = f32[16,4]{{1,0}} fusion(%a), kind=kLoop, calls=%f
      ROOT %c = f32[4,16]{{1,0}} transpose(%b), dimensions={{1,0}} }}"""
    assert not ml.diagnose(text).chains
    (found,) = chains(
        SOURCE,
        "b = f32[16,4]{1,0} pad(%a, f32[] %z), padding=8_0x0_0",
        "c = f32[8,4]{1,0} slice(%b), slice={[0:8], [0:4]}",
        "d = f32[] sum(%c)",
    )
    assert found.map.is_known_empty  # all of it is padding


def test_bytes_of_a_real_program_by_hand() -> None:
    """24 x 130 x 8 floats in tiles of 8 by 128: 24 · 17 tiles of 4 kB each are 1,671,168 B."""
    found = {c.path: c for c in ml.diagnose(programs()["v3_reshapes"]).chains}
    chain = found["a.1 → copy.5 → reshape.19"]
    assert chain.saved_bytes == 24 * 17 * 8 * 128 * 4
    assert chain.steps[-1].result == "f32[24960]{0:T(1024)}"
    d0 = np.arange(24960)
    index = chain.map(d0)
    assert np.array_equal(np.ravel_multi_index(index, (24, 130, 8)), d0)
    assert found["a.1 → copy.4 → bitcast → copy.6"].saved_bytes == 130 * 8 * 128 * 4
    assert len(found) == 5


def test_a_loop_s_chain_names_what_forces_its_last_step() -> None:
    found = ml.diagnose(path_of("sort_topk_argsort.v6e_0052")).chains
    assert [c.because for c in found] == ["copy.6 stays: reduce-window.1 reads it"]


def random_chain(rng: random.Random) -> tuple[list[str], np.ndarray, tuple[int, ...]]:
    """Return a program, and the place in the source of each element of its result; -1 is new."""
    sizes = tuple(rng.choice((1, 2, 3, 4, 6)) for _ in range(rng.randint(1, 3)))
    at = np.arange(prod(sizes)).reshape(sizes)
    lines = [f"m0 = f32[{','.join(map(str, sizes))}] negate(%x)"]
    for k in range(1, rng.randint(3, 6)):
        kind = rng.choice(("transpose", "reshape", "slice", "reverse", "pad", "broadcast"))
        text = f"%m{k - 1}"
        if kind == "transpose":
            order = rng.sample(range(at.ndim), at.ndim)
            at, text = at.transpose(order), f"({text}), dimensions={{{','.join(map(str, order))}}}"
        elif kind == "reshape":
            n = rng.choice([d for d in range(1, at.size + 1) if at.size % d == 0])
            at, text = at.reshape(n, at.size // n), f"({text})"
        elif kind == "slice":
            cuts = [sorted(rng.sample(range(n + 1), 2)) for n in at.shape]
            step = rng.choice((1, 2))
            at = at[tuple(slice(a, b, step) for a, b in cuts)]
            text = f"({text}), slice={{{', '.join(f'[{a}:{b}:{step}]' for a, b in cuts)}}}"
        elif kind == "reverse":
            at, text = np.flip(at, 0), f"({text}), dimensions={{0}}"
        elif kind == "pad":
            ends = [(rng.randint(0, 1), rng.randint(0, 2)) for _ in at.shape]
            at = np.pad(at, ends, constant_values=-1)
            config = "x".join(f"{a}_{b}" for a, b in ends)
            text = f"({text}, f32[] %z), padding={config}"
        else:
            at = np.broadcast_to(at[:, None], (at.shape[0], 2, *at.shape[1:]))
            kept = [0, *range(2, at.ndim)]
            text = f"({text}), dimensions={{{','.join(map(str, kept))}}}"
        lines.append(f"m{k} = f32[{','.join(map(str, at.shape))}] {kind}{text}")
    return lines, at, sizes


def whole_chains(seed: int) -> int:
    """Judge the map of a random chain by NumPy; return how many were found whole."""
    lines, at, sizes = random_chain(random.Random(seed))
    found = 0
    for chain in chains(*lines, f"end = f32[] sum(%m{len(lines) - 1})"):
        if chain.source == "m0" and len(chain.steps) == len(lines) - 1:
            found += 1
            points = chain.map.points()
            index = [x + 0 * points[0] for x in chain.map(*points)]
            places = np.full(at.shape, -1)
            places[points] = np.ravel_multi_index(tuple(index), sizes)
            assert np.array_equal(places, at), f"seed {seed}"
            written = [prod(ml.parse(s.result).shape) * 4 for s in chain.steps if s.is_needless]
            assert chain.saved_bytes == sum(written)
    return found


def test_maps_of_random_chains_are_numpy_s() -> None:
    assert sum(whole_chains(seed) for seed in range(20)) > 8


@pytest.mark.slow
def test_maps_of_more_random_chains_are_numpy_s() -> None:
    assert sum(whole_chains(seed) for seed in range(1000, 1150)) > 75
