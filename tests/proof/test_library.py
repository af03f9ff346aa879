"""ISL's functions, called without islpy, keep no memory and answer as islpy does."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = """
import sys
from types import SimpleNamespace
from pathlib import Path
if sys.argv[1] == "islpy":
    import islpy
    sys.modules["morello_layouts.proof.library"] = SimpleNamespace(isl=islpy)
import morello_layouts as ml

def answers(tile):
    text = "f32[M,N]{1,0:T(%d,128)}" % tile
    yield ml.is_surjective(text, confirm=True)
    yield ml.is_bijective(text, confirm=True)
    yield ml.are_equivalent(text, "f32[M,N]{1,0:T(8,128)}")
    yield ml.verify("f32[10,200]{1,0:T(%d,128)(2,1)}" % tile)
    rows = ml.from_sympy({"shape": (tile, 7), "size": 90}, "10*d0 + d1")
    yield ml.is_bijective(rows)
    yield ml.is_bijective("strided<[%d, 1]>" % tile, ("M", "N"))

def kilobytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4

for tile in range(3, 7):
    print(*answers(tile), sep="\\n")
before = kilobytes()
for _ in range(60):
    [*answers(8)]
print(kilobytes() - before)
"""


def printed(which: str) -> list[str]:
    """What each question answers, and by how many kilobytes 360 more of them grow the process."""
    command = [sys.executable, "-c", ASK, which]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_answers_are_those_through_islpy_and_memory_is_freed() -> None:
    (*ours, grown), (*theirs, grown_there) = printed("ours"), printed("islpy")
    assert ours == theirs
    assert len(ours) >= 20
    assert int(grown) < 1000 < int(grown_there)
