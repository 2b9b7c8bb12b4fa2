"""The reason that the first screen gives for a kernel's time."""

from __future__ import annotations

import pytest

from profiler.analyse.causes.cause import Cause, Savings
from profiler.analyse.causes.headline import why_text


@pytest.mark.parametrize(("expected", "is_weak"), [(9.4, True), (9.6, False), (10.0, False)])
def test_a_cause_that_is_said_to_save_10_percent_is_not_called_smaller(expected: float, is_weak: bool):
    """The saving is printed in whole percents, in the next sentence."""
    cause = Cause("barriers", "Warps wait.", "Wait less.", Savings(expected, 30.0), [], {})
    assert why_text([cause]).startswith("No cause would save 10 % of the time") == is_weak
