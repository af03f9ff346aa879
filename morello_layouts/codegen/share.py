"""Naming what a program computes more than once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from morello_layouts.codegen.node import Node, users

__all__ = ["Named", "names_besides", "shared"]


@dataclass(frozen=True, slots=True)
class Named:
    """Nodes with names, operands before their users."""

    bindings: tuple[tuple[str, Node], ...]

    @property
    def names(self) -> dict[Node, str]:
        """The name of each node that has one."""
        return {node: name for name, node in self.bindings}


def shared(
    roots: Sequence[Node], fresh: Iterator[str], given: Mapping[Node, str] | None = None
) -> Named:
    """Names for what is used more than once among these nodes.

    Args:
        roots: what the program gives; each is one use.
        fresh: names that nothing else has.
        given: nodes that have a name whether or not they are used again.
    """
    names = dict(given or {})
    bindings = []
    for node, count in users(roots).items():
        if node.is_leaf:
            continue
        if node in names or count > 1:
            bindings.append((names.get(node) or next(fresh), node))
    return Named(tuple(bindings))


def names_besides(taken: Iterable[str], stem: str = "t") -> Iterator[str]:
    """t0, t1, … without those that are taken.

    >>> names = names_besides({"t0", "i"})
    >>> next(names), next(names)
    ('t1', 't2')
    """
    used, k = set(taken), 0
    while True:
        if f"{stem}{k}" not in used:
            yield f"{stem}{k}"
        k += 1
