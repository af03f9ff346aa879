"""Settings that all tests share."""

import os

import pytest
from hypothesis import Phase, settings

pytest.register_assert_rewrite("tests.support")

# The same examples at every run: dev is quick, ci looks longer. HYPOTHESIS_PROFILE=fuzz tries
# other ones at every run; mutants does not make a failing example smaller.
settings.register_profile("dev", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("ci", max_examples=150, deadline=None, derandomize=True)
settings.register_profile("fuzz", max_examples=1000, deadline=None)
settings.register_profile(
    "mutants",
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
