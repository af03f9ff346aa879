from typing import Any

import numpy as np
import pytest

from morello_layouts.machines.resharding.combs import Pieces, Run, between
from morello_layouts.machines.resharding.moves import copy, local_buffer
from tests.support.naive_resharding import messages
from tests.support.resharding_cases import Case, cases


def delivered(case: Case, devices: int, most: int) -> list[Any]:
    """The buffers after all pieces of all messages were packed and unpacked, in this process."""
    array = np.arange(1, 1 + np.prod(case.shape), dtype=np.int32).reshape(case.shape)
    ends = list(zip((case.source, case.target), (case.layout(0), case.layout(1)), strict=True))
    source, target = (
        [local_buffer(sharding, case.shape, layout, d) for d in range(devices)]
        for sharding, layout in ends
    )
    have = [None if x is None else np.zeros(x.recipe.size, np.int32) for x in target]
    for message in messages(case.source, case.target, case.shape, devices):
        sender, receiver = source[message.sender], target[message.receiver]
        given = case.local(array, 0, message.sender).reshape(-1)
        pieces = Pieces(message, (1, 0) if case.layouts[1] == "{0,1}" else (0, 1), most)
        total = 0
        for k in range(len(pieces)):
            room = np.zeros(most, np.int32)
            copy(sender.portion(pieces[k], pieces.order), given, room, into=False)
            copy(receiver.portion(pieces[k], pieces.order), have[message.receiver], room, into=True)
            total += sum(run.size for run in pieces[k][0]) * sum(run.size for run in pieces[k][1])
        assert total == message.size
    wanted = [case.local(array, 1, d) for d in range(devices)]
    assert [x is None for x in have] == [x is None for x in wanted]
    return [(x, y.reshape(-1)) for x, y in zip(have, wanted, strict=True) if x is not None]


@pytest.mark.parametrize(
    ("devices", "most"),
    [(2, 30), *(pytest.param(*x, marks=pytest.mark.slow) for x in ((1, 1000), (4, 1000), (6, 11)))],
)
def test_pieces_arrive(devices: int, most: int) -> None:
    wrong = [
        f"{case}: {x} for {y}"
        for case in cases(devices)
        for x, y in delivered(case, devices, most)
        if not np.array_equal(x, y)
    ]
    assert not wrong, "\n".join(wrong)


def test_between_takes_the_positions_that_it_says() -> None:
    runs = [Run(0, 3, 10, 4), Run(50, 1), Run(60, 2, 2, 3)]
    every = [x for run in runs for x in run]
    for low in range(len(every)):
        for high in range(low, len(every) + 1):
            assert [x for run in between(runs, low, high) for x in run] == every[low:high]
