"""``check``, and ``--certificate`` of ``prove``: what they say and their exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from morello_layouts.interfaces.cli.main import commands
from tests.support.json_keys import told_keys, untold
from tests.support.tables import each_row


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments, catch_exceptions=False)


def written(path: Path) -> dict[str, object]:
    """The certificate of a layout, and its file."""
    result = run("prove", "((4,2),8):((1,32),4)", "--certificate", str(path))
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_a_certificate_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    written(path)
    result = run("check", str(path))
    lines = result.output.splitlines()
    assert (result.exit_code, lines[0][:44]) == (0, "proved: bijective. In an array of the shape ")
    assert lines[-1] == "not checked: it says that it is about '((4,2),8):((1,32),4)'"
    facts = json.loads(run("check", str(path), "--json").output)
    assert (facts["holds"], facts["claim"], facts["why"]) == (True, "bijective", None)
    assert facts["statement"] in result.output
    words = " ".join(run("check", "--help").output.split())
    told = told_keys(words.partition(" JSON: ")[2].partition(". ")[0])
    assert (facts.keys(), [*untold(facts, told)]) == (told.keys(), [])


@each_row(
    "change, text",
    [
        ({"inverse": ["0", "0"]}, "refused: inverse 0: perhaps another element\n"),
        ({"offset": "d0 + d1"}, "refused: a remainder is not clear\n"),
        ({"offset": "d0//0"}, "refused: a divisor may be below 1\n"),
        ({"sizes": None}, "refused: sizes: not a list\n"),
        ({"claim": "true"}, "refused: claim: 'true' is not known\n"),
    ],
)
def test_refusals_are_words(change: dict[str, object], text: str, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(written(path) | change), encoding="utf-8")
    result = run("check", str(path))
    assert result.exit_code == 1
    assert result.output.startswith(text), result.output


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    result = run("check", str(path))
    assert result.exit_code == 2
    assert result.output.splitlines()[1] == "No such file or directory"


def test_a_claim_that_is_false_has_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    result = run("prove", "((4,2),8):((1,2),4)", "--certificate", str(path))
    assert result.exit_code == 1
    assert result.stderr == "no certificate is written, because the claim is not proved\n"
    assert not path.exists()


def test_a_weaker_claim_that_has_a_certificate_is_told(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    asked = ["prove", "f32[M,N]{1,0:T(8,128)}", "--certificate", str(path)]
    result = run(*asked)
    assert result.stderr.splitlines()[1:] == [
        "it is injective, which has a certificate: add --injective"
    ]
    assert not path.exists()
    assert run(*asked, "--injective").exit_code == run("check", str(path)).exit_code == 0


def test_another_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text('{"format": "morello-layouts certificate 1"}', encoding="utf-8")
    result = run("check", str(path))
    assert (result.exit_code, result.output.count("'morello-layouts certificate ")) == (1, 2)
