"""How shardings begin: the table of notations knows it before it loads their folder."""

from __future__ import annotations

import re
from typing import Final

BEGINS: Final = {
    "hlo_text": r"sharding\s*=\s*\{|\{\s*(devices\s*=|replicated|maximal|manual|unknown|"
    r"unreduced|mesh\s*\[|\{\s*(devices\s*=|replicated|maximal))",
    "sdy_text": r"(sdy\.mesh\b|@[\w.$-]+\s*=\s*<|%\w+\s*:\s*tensor<[^<>]*>\s*\{|#?sdy\.sharding\b)",
    "args_text": r"(NamedSharding|PartitionSpec|P)\s*\(|(mesh|spec|placements|desc|nb?|grid)\s*=|"
    r"[\[(]\s*(_?(Strided)?Shard|Replicate|Partial)\s*\(|"
    r"\(?\s*(\*\s*,\s*)*((BLOCK|CYCLIC)\b|\*\s*\)\s*ONTO)",
}
"""How the sharding begins, after the array."""

SHARDING: Final = re.compile(
    rf"\s*(?:(?:\(|/\*|[a-z]\w*\s*[\[<])[^\n]{{0,4000}}?(?:,|>\s*\{{?|(?<=[\]}}]))\s*)?(?:{'|'.join(BEGINS.values())})"
)
"""Matches the beginning of a text with a sharding."""
