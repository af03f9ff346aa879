def test_what_to_change_comes_first_and_is_worth_a_percent() -> None:
    found = ml.diagnose("%a = s32[1024,8,4]{2,1,0:T(8,128)} parameter(0)", "v5e")
    (change,) = found.changes
    assert change.saved_bytes == found.wasteful[0].saved_bytes > 0
    assert "not tried" in change.write
    lines = str(found).splitlines()
    assert lines.index("What to change") < lines.index(
        "Bytes: results inside fusions and names for other buffers are left out"
    )
    nothing = ml.diagnose("%a = f32[1024,1024]{1,0:T(8,128)} parameter(0)", "v5e")
    assert nothing.changes == ()
    assert str(nothing).splitlines()[1].startswith("nothing to change")
