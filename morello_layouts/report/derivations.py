"""Derivations as plain values."""

from __future__ import annotations

from typing import Any

from morello_layouts.formula import Derivation

__all__ = ["derivation_steps"]


def derivation_steps(derivation: Derivation) -> list[dict[str, Any]]:
    """A derivation as JSON takes it."""
    return [
        {
            "rule": step.rule,
            "before": str(step.before),
            "after": str(step.after),
            "because": step.because,
        }
        for step in derivation
    ]
