"""The commands ``banks`` and ``fragments``."""

from __future__ import annotations

import json

import pytest

from morello_layouts.cli.main import main
from tests.support.tables import each_row


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit status and what is printed."""
    with pytest.raises(SystemExit) as end:
        main(["banks", *arguments])
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


@each_row(
    "arguments, status, words",
    [
        (["f32[32,32]", "row"], 0, "no conflicts: load row of f32[32,32]{1,0}, 32 bits"),
        (["f32[32,32]", "row", "column"], 1, "32-way conflict: load column"),
        (["(32,32):(33,1)", "--bits", "32", "column"], 0, "no conflicts"),
        (["f32[M,LD]", "column"], 1, "gcd(LD, 32)-way conflict"),
        (["f16[M,N]", "--assuming", "N % 64 == 8", "row"], 2, "an assumption"),
        (["f32[32,64]", "--at", "0,3", "column"], 1, "lanes 0, 1, 2"),
        (["--best", "--shape", "64x64", "--bits", "16", "ldmatrix"], 0, "Sw<3,3,3> o 0 o"),
        (["--best", "--shape", "64x64", "--bits", "16", "row.b128", "column"], 1, "4 ways"),
        (["--in", "global", "f32[64,64]", "column"], 0, "not coalesced"),
        (["--in", "cache", "f32[64,64]", "column"], 0, "64 lines of 64 bytes: 4 at best"),
        (["--best", "row"], 2, "missing: the shape of the tile and the bits of an element"),
        (["--best", "--shape", "MxN", "--bits", "8", "row"], 2, "size 0 of the shape"),
        (["f32[32,32]"], 2, "no access of f32[32,32]"),
        (["f32[32,32]", "diagonal"], 2, "expected the name of an access"),
        (["f32[32,32]", "SM80_16x8x16_F32F16F16F32_TN Q"], 2, "^"),
        (["f32[32,32", "row"], 2, "^"),
        (["(32,32):(32,1)", "row"], 2, "give --bits 16"),
        (["f32[32,32]", "--at", "x", "row"], 2, "--at: expected a coordinate"),
        (["f32[32,32]", "--bits", "-1", "row"], 2, "bits: expected an integer from 1"),
        (["f32[32,33]", "row.b128"], 2, "are not one vector"),
        (["--in", "cache", "f32[32,32]", "ldmatrix"], 2, "the number of lanes is missing"),
        ([], 2, "Missing argument"),
    ],
)
def test_answers(
    arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(arguments, capsys)
    assert found == status, (out, err)
    assert words in (err if status == 2 else out), (out, err)
    assert "Traceback" not in err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["f32[32,32]", "row", "column", "--json"], capsys)
    row, column = json.loads(out)["answers"]
    assert (row["ways"], column["ways"]) == (1, 32)
    assert column["collisions"][1] == {"word": 32, "lanes": [1], "coordinate": [1, 0]}
    _, out, _ = run(["--best", "--shape", "64x64", "--bits", "16", "ldmatrix", "--json"], capsys)
    assert json.loads(out)["cute"] == "Sw<3,3,3> o 0 o (64,64):(64,1)"
    _, out, _ = run(["f32[M,LD]", "column", "--json"], capsys)
    (answer,) = json.loads(out)["answers"]
    assert (answer["pitch"], answer["formula"]) == ("LD", "gcd(LD, 32)")


def test_fragments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, status, printed in (
        (["tdpbf16"], 0, "tdpbf16ps A\ntdpbf16ps B\ntdpbf16ps C\n"),
        (["tmmultf32ps", "--json"], 0, None),
        (["SM81"], 1, ""),
    ):
        with pytest.raises(SystemExit) as end:
            main(["fragments", *arguments])
        found = capsys.readouterr().out
        assert int(end.value.code or 0) == status
        if printed is None:
            assert json.loads(found)["fragments"][0] == "tmmultf32ps A"
        else:
            assert found.strip() == printed.strip()
