"""The plugin of pytest: it collects ``*.layouts.toml``, a test for each contract and shape.

pytest loads it at each start, so it imports nothing before such a file is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from morello_layouts.core.lazy import importing

if TYPE_CHECKING:
    from morello_layouts.interfaces.testing.contracts import Contract


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """Collect the contracts of a file."""
    if not file_path.name.endswith(".layouts.toml"):
        return None
    return ContractFile.from_parent(parent, path=file_path)


class ContractFile(pytest.File):
    """``*.layouts.toml`` as pytest sees it; what is wrong in it fails the collection."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each contract."""
        with importing:
            from morello_layouts.errors import LayoutError
            from morello_layouts.interfaces.testing.contracts import read_contracts

        try:
            contracts = read_contracts(os.fspath(self.path))
        except LayoutError as error:
            raise self.CollectError(str(error)) from None
        for contract in contracts:
            yield ContractItem.from_parent(self, name=contract.name, contract=contract)


class ContractItem(pytest.Item):
    """A contract as a test."""

    def __init__(self, *, contract: Contract, **more: Any) -> None:
        super().__init__(**more)
        self.contract = contract

    def runtest(self) -> None:
        """Check the contract at its shapes."""
        wrong = [str(outcome) for outcome in self.contract.check() if not outcome.holds]
        if wrong:
            raise AssertionError("\n".join(wrong))

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        """Return the answer alone: no line of Python belongs to a contract."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Return where the contract stands."""
        return self.path, self.contract.line - 1, self.name
