"""Servers for the tests of the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from morello_layouts.interfaces.explorer.server import Server
from morello_layouts.interfaces.explorer.worker import Worker
from tests.explorer.page import PATIENCE, browser


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a deadline so long that a busy machine changes no answer."""
    with Server(0, Worker(PATIENCE)) as running:
        yield running.start()


@pytest.fixture(scope="module")
def hasty_server() -> Iterator[Server]:
    """A server with a short deadline, as users have it."""
    with Server(0, Worker(1)) as running:
        yield running.start()


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """A browser; a module that uses it is skipped where none is installed."""
    running = browser()
    yield running
    running.quit()
