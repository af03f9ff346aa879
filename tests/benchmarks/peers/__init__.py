"""Simplifiers to compare with: each reads one neutral tree and gives its own expression."""

from peers.peer import Peer, available

__all__ = ["Peer", "available"]
