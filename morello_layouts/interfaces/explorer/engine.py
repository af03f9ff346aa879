"""Answer questions as JSON, a part at a time: what a process calls, and a browser's worker too."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from morello_layouts.core.lazy import importing
from morello_layouts.core.limits import EXPLORER_ANSWER

WARMING: Final = {"layout": "f32[M,N]{1,0:T(2,2)}", "other": "[1, 0]", "assuming": "2 | M"}
"""A question that loads the grammars, SymPy and ISL before anyone waits for them."""

_log = logging.getLogger(__name__)


def answered(fields: Mapping[str, str]) -> Iterator[str]:
    """Yield the parts of an answer, or of what is known of it and why the rest is missing.

    >>> [*answered({"layout": ""})][0][:24]
    '{"errors":[{"field":"lay'
    """
    with importing:
        from morello_layouts.interfaces.explorer.answer import parts

    # Sizes of many dimensions multiply to numbers of more digits than Python prints by default.
    sys.set_int_max_str_digits(0)
    left = EXPLORER_ANSWER
    try:
        for part in parts(fields):
            text = json.dumps(part, separators=(",", ":"))
            left -= len(text)
            if left < 0:
                yield trouble(
                    "the answer is too long to show", f"it has over {EXPLORER_ANSWER:,} bytes"
                )
                return
            yield text
    except (MemoryError, RecursionError):
        yield trouble("the answer takes too much memory", "a question's memory is limited")
    except Exception as error:  # a fault of this package, which must not end the explorer
        _log.exception("no answer to %.300s", fields)
        why = f"{type(error).__name__}: a fault of this package"
        yield trouble("the explorer failed at this text", why)


def joined(parts: list[str]) -> str:
    """Return the parts of an answer as one; readers of JSON keep the later of two equal keys.

    >>> joined(['{"a":1}', '{"b":2}'])
    '{"a":1,"b":2}'
    """
    return "{" + ",".join(part[1:-1] for part in parts) + "}"


def trouble(what: str, why: str, fix: str = "ask about something smaller, or ask again") -> str:
    """Return the part of an answer that says why it is not whole, through no fault of the text."""
    return json.dumps({"trouble": {"what": what, "why": why, "fix": fix}}, separators=(",", ":"))
