"""What every proof says, looked at wherever a test of this folder makes one."""

from __future__ import annotations

from typing import Any

import pytest

from morello_layouts.proof.verdict import Proof

CLAIMS = ("injective", "surjective", "bijective", "verified", "equivalent", "a bitcast")


@pytest.fixture(autouse=True)
def proofs_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Proof.__init__

    def checked(self: Proof, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        assert isinstance(self.claim, str)
        assert self.claim
        assert self.holds in (True, False, None)
        assert isinstance(self.reason, str)
        assert self.reason or self.claim not in CLAIMS
        assert isinstance(self.decider, str)
        if self.claim == "surjective" and self.holds is not None and isinstance(self.padding, int):
            assert (self.padding == 0) == self.holds

    monkeypatch.setattr(Proof, "__init__", checked)
