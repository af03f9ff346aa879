"""What a peer is, and which of them are installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

from peers.tree import Bounds, Tree

__all__ = ["Peer", "Unreadable", "available"]

MODULES = (("islpy", "isl"), ("tvm", "tvm_analyzer"), ("tinygrad", "tinygrad_rules"))
MODULES += (("sympy", "sympy_simplify"),)
DISTRIBUTIONS = {"tvm": "apache-tvm"}


class Unreadable(Exception):  # noqa: N818
    """The peer's expression holds more than sums, products, floors and remainders."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A simplifier.

    Attributes:
        name: what the tables call it.
        solve: from a tree and bounds to the simplifier's own expression; this is what is timed.
        read: that expression as a tree again, operation for operation.
        variants: other ways to ask the same simplifier, whose cheapest answer counts.
        library: its version.
    """

    name: str
    solve: Callable[[Tree, Bounds], Any]
    read: Callable[[Any], Tree]
    variants: tuple[Callable[[Tree, Bounds], Any], ...] = ()
    library: str = ""


def available() -> tuple[list[Peer], list[str]]:
    """The peers that can be imported, and why the others cannot."""
    found, missing = [], []
    for package, module in MODULES:
        try:
            import_module(package)
        except ImportError as error:
            missing.append(f"{package}: {error}")
            continue
        library = f"{package} {version(DISTRIBUTIONS.get(package, package))}"
        found += import_module(f"peers.{module}").peers(library)
    return found, missing
