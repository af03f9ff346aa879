"""CITATION.cff says what the project says of itself, in fields of the Citation File Format."""

from __future__ import annotations

import re
import tomllib

import morello_layouts as ml
from tests.support.paths import ROOT

CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Of the schema: the fields of a citation of software, those that it needs first.
NEEDED = {"cff-version", "message", "title", "authors"}
KNOWN = NEEDED | {"type", "abstract", "version", "license", "keywords", "date-released"}


def fields() -> dict[str, str]:
    """The top fields with their text; lists and folded text as their lines."""
    found = re.findall(r"^([a-z-]+):(.*\n(?:[ ].*\n|$)*)", CITATION, re.MULTILINE)
    assert "".join(f"{name}:{text}" for name, text in found) == CITATION  # nothing is left over
    return {name: text.strip() for name, text in found}


def test_it_has_the_fields_of_the_schema() -> None:
    assert NEEDED <= set(fields()) <= KNOWN
    assert fields()["cff-version"] == "1.2.0"
    assert fields()["type"] == "software"
    assert fields()["authors"] == '- name: "The morello_layouts authors"'


def test_it_agrees_with_the_package() -> None:
    assert fields()["version"] == ml.__version__
    assert fields()["license"] == PROJECT["license"]


def test_keywords_are_those_of_the_package() -> None:
    keywords = [line.strip().removeprefix("- ") for line in fields()["keywords"].splitlines()]
    assert set(PROJECT["keywords"]) <= set(keywords)
