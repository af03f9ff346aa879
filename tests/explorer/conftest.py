"""Servers for the tests of the explorer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from morello_layouts.explorer.server import Server
from morello_layouts.explorer.worker import Worker

PATIENCE = 60.0
"""Seconds that a step may take on a busy machine; no test waits longer than it must."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a deadline so long that a busy machine changes no answer."""
    with Server(0, Worker(PATIENCE)) as running:
        yield running.start()


@pytest.fixture(scope="module")
def hasty_server() -> Iterator[Server]:
    """A server with a short deadline, as users have it."""
    with Server(0, Worker(2)) as running:
        yield running.start()
