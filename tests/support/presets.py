"""The explorer's presets, as the page gets them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

PRESETS: list[dict[str, Any]] = json.loads(
    files("morello_layouts.interfaces.explorer")
    .joinpath("static/presets.json")
    .read_text(encoding="utf-8")
)
"""Each with ``group``, ``name``, and the fields of its ``question``."""
