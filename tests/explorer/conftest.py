"""Servers for the tests of the explorer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from morello_layouts.explorer.server import Server
from morello_layouts.explorer.worker import Workers

PATIENCE = 60.0
"""Seconds that something may take on a busy machine; nothing waits longer than it must."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that lets a process work for long: a busy machine changes no answer."""
    with Server(0, Workers(seconds=PATIENCE)) as running:
        yield running.start()


@pytest.fixture(scope="module")
def hasty_server() -> Iterator[Server]:
    """A server that ends work after a while, as the one that users start does."""
    with Server(0, Workers(seconds=2)) as running:
        yield running.start()
