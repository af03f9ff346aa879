"""Assertions about layouts for test suites, and contracts between producers and consumers.

>>> import morello_layouts as ml
>>> print(ml.testing.assert_agree("[0, 1]", "{1,0}", ("M", "N")).verdict)
producer and consumer agree for all sizes
"""

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.interfaces.testing.asserts import (
        assert_agree as assert_agree,
        assert_bijective as assert_bijective,
        assert_matches as assert_matches,
        assert_no_conflicts as assert_no_conflicts,
    )
    from morello_layouts.interfaces.testing.contracts import (
        Contract as Contract,
        Outcome as Outcome,
        check_contracts as check_contracts,
        read_contracts as read_contracts,
    )

_MODULES = {
    "asserts": "assert_agree assert_bijective assert_matches assert_no_conflicts",
    "contracts": "Contract Outcome check_contracts read_contracts",
}

__all__ = sorted(" ".join(_MODULES.values()).split())  # noqa: PLE0605

__getattr__ = loader(__name__, _MODULES)
