"""Questions to ISL share a context, which keeps nothing of them."""

from __future__ import annotations

from threading import Thread
from typing import Any

from morello_layouts.proof.ask import is_asking, isl_budget


def test_a_thread_has_one_context() -> None:
    """One for each question left 48 kB behind."""
    found: list[Any] = []

    def ask() -> None:
        for _ in range(2):
            with isl_budget(5) as context:
                found.append(context)

    ask()
    other = Thread(target=ask)
    other.start()
    other.join()
    assert found[0] is found[1]
    assert found[2] is found[3]
    assert found[0] is not found[2]


def test_the_outermost_question_has_the_budget() -> None:
    with isl_budget(7) as context:
        with isl_budget(900):
            assert context.get_max_operations() == 7
        assert is_asking()
    assert not is_asking()
    with isl_budget(8):
        assert context.get_max_operations() == 8
