"""The 44 TPU programs, each diagnosed once for all tests."""

from __future__ import annotations

from functools import cache

from morello_layouts.programs.diagnostics import Diagnosis, diagnose
from morello_layouts.programs.hlo import HloModule, read_hlo
from tests.support.hlo_xla import programs

NAMES = tuple(sorted(programs()))


@cache
def module(name: str) -> HloModule:
    return _modules()[name]


@cache
def _modules() -> dict[str, HloModule]:
    return {name: read_hlo(text) for name, text in programs().items()}


@cache
def diagnosis(name: str) -> Diagnosis:
    return diagnose(module(name), top=None)
