"""``agree``: verdicts, exit statuses, JSON and errors."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from morello_layouts.cli.main import commands
from tests.support.json_keys import keys_text
from tests.support.tables import each_row

V_SCALES = "[0, 1, 0 p(4)]"
TILES = "u8[M,K]{1,0:T(8,128)}"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["agree", *arguments], catch_exceptions=False)


@each_row(
    "arguments, status, text",
    [
        ((V_SCALES, "[0, 1]", "--shape", "T,S"), 1, "agree on offsets iff S = 1"),
        ((V_SCALES, V_SCALES, "--shape", "16x8"), 0, "producer and consumer agree."),
        ((TILES, TILES), 0, "producer and consumer agree for all sizes."),
        ((TILES, TILES, "--reads", "buffer"), 1, "what nobody wrote unless 128 | K and 8 | M"),
        ((TILES, TILES, "--reads", "buffer", "--writes", "buffer"), 0, "for all sizes"),
        ((TILES, TILES, "--reads", "buffer", "--assuming", "M % 8 == 0, K % 128 == 0"), 0, "agree"),
        ((TILES, TILES, "--producer-bytes", "M*K"), 1, "the producer writes outside"),
        (("u8[5,7]", "u8[5,7]", "--consumer-bytes", "34"), 1, "element (4, 6) lies at byte 34"),
        (("ab", "[0, 1]", "--shape", "M,N"), 0, "for all sizes"),
        (("aBcd16b", "[0, 1]", "--notation", "onednn", "--shape", "M,N"), 2, "notation"),
        (("[0, 1]", "[1, 0]"), 2, "--shape 6x8"),
        (("[0, 1]", "[1, 0]", "--shape", "M,N", "--producer-bytes", "M*("), 2, "^"),
        (
            ("[0, 1]", "[1, 0]", "--shape", "M,N", "--producer-bytes", "K"),
            2,
            "K is not a size here",
        ),
    ],
)
def test_verdicts(arguments: tuple[str, ...], status: int, text: str) -> None:
    result = run(*arguments)
    assert result.exit_code == status, result.output
    assert text in result.output or status == 2, result.output


def test_json_has_the_keys_of_the_help() -> None:
    found = json.loads(run(V_SCALES, "[0, 1]", "--shape", "16x8", "--json").stdout)
    assert found["counterexample"]["at"] == [0, 1]
    assert found["advice"][:2] == ["make the consumer [0, 1, 0 p(4)]", "make the producer [0, 1]"]
    help_text = " ".join(run("--help").output.split())
    listed = keys_text({key: x for key, x in found.items() if key not in PROOFS})
    assert f"JSON: {listed}, and four proofs as of prove: {', '.join(PROOFS)}." in help_text


PROOFS = ("offsets", "writes", "reads", "definition")
