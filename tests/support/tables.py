"""Tests of many rows: one test that checks each row and reports all rows that fail."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

MOST_SHOWN = 20
"""Failing rows whose reasons are shown; the others are counted."""


def each_row(
    names: str | Sequence[str],
    rows: Iterable[Any],
    ids: Sequence[object] | Callable[[Any], object] | None = None,
    fast: int = 0,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on each row: as ``pytest.mark.parametrize``, but one test, not one a row.

    Use it if the rows are many and each is quick. All rows are run, and fixtures are the same for
    all of them. If some fail, the test fails with the name and the reason of each. With ``fast``
    there are two tests: the fast one has each row of that many, the slow one has all.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [row if len(keys) > 1 else (row,) for row in rows]
    labels = [label(ids, row, number) for number, row in enumerate(table)]
    pairs = [*zip(labels, table, strict=True)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def looped(*args: Any, every: int = 1, **kwargs: Any) -> None:
            assert table, "the table has no rows"
            faults: dict[str, str] = {}
            skipped: list[str] = []
            for name, row in pairs[::every]:
                try:
                    test(*args, **kwargs, **dict(zip(keys, row, strict=True)))
                except pytest.skip.Exception as reason:
                    skipped.append(str(reason))
                except (Exception, pytest.fail.Exception) as error:
                    faults[f"row {name}"] = reason_of(error)
                    if os.environ.get("MUTANT_UNDER_TEST"):
                        break  # one row is enough to kill a mutant
            if faults:
                pytest.fail(report(faults, len(pairs[::every])), pytrace=False)
            if skipped:
                pytest.skip(f"{len(skipped)} of {len(pairs[::every])} rows: {skipped[0]}")

        signature = inspect.signature(test)
        free = [p for p in signature.parameters.values() if p.name not in keys]
        if fast:
            free.append(inspect.Parameter("every", inspect.Parameter.KEYWORD_ONLY))
        looped.__signature__ = signature.replace(parameters=free)  # type: ignore[attr-defined]
        lanes = [pytest.param(fast, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]
        return pytest.mark.parametrize("every", lanes)(looped) if fast else looped

    return decorate


def label(
    ids: Sequence[object] | Callable[[Any], object] | None, row: Sequence[Any], number: int
) -> str:
    """The name of a row, as pytest would give it: its id, or its values."""
    if ids is None:
        return ", ".join(map(repr, row))
    if callable(ids):
        return "-".join(str(ids(value)) for value in row)
    return str(ids[number])


def reason_of(error: BaseException) -> str:
    """The error and the line of the test where it was raised."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name.startswith("test_") or "/tests/" in code.co_filename:
            place = f"{code.co_filename.rpartition('/tests/')[2]}:{trace.tb_lineno}: "
        trace = trace.tb_next
    kind = (
        "" if isinstance(error, (AssertionError, pytest.fail.Exception)) else type(error).__name__
    )
    return place + ": ".join(part for part in (kind, str(error)) if part)


def report(faults: dict[str, str], count: int) -> str:
    """All failing rows with their reasons, the first ones in full."""
    shown = [
        f"{name}\n    " + reason.replace("\n", "\n    ")
        for name, reason in [*faults.items()][:MOST_SHOWN]
    ]
    more = len(faults) - len(shown)
    rest = [f"and {more} more: {', '.join([*faults][MOST_SHOWN:])}"] if more else []
    return "\n\n".join([f"{len(faults)} of {count} rows fail", *shown, *rest])
