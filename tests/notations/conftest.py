"""What tests of the notations share."""

from __future__ import annotations

import pytest

from morello_layouts.notations import registry


@pytest.fixture
def readers_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors are the readers' own, without a text that may have been meant."""
    monkeypatch.setattr(registry, "repaired", lambda *_: None)
