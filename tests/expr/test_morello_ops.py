"""Our formulas hold far fewer divisions and mods than Morello's own, and give its offsets."""

from __future__ import annotations

import numpy as np
from simplify_morello import AIM, divisions, sound_rows

ROWS = list(sound_rows())


def test_the_rows_are_those_that_the_aim_is_about() -> None:
    assert len(ROWS) == 132
    assert sum(row.divisions for row in ROWS) == 315


def test_formulas_give_morello_s_offsets() -> None:
    for row in ROWS:
        at = {f"d{k}": x for k, x in enumerate(np.indices(row.shape))}
        for form in row.forms.values():
            offsets = np.broadcast_to(form.evaluate(at), row.shape)
            assert offsets.reshape(-1).tolist() == row.offsets, str(form)


def test_formulas_hold_at_most_the_aim_of_morello_s_divisions() -> None:
    most = AIM * sum(row.divisions for row in ROWS)
    for name in ("`m.form`", "cheapest"):
        assert sum(divisions(row.forms[name]) for row in ROWS) <= most
