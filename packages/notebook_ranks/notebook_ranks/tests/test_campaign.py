"""The campaign: faults drawn at random, programs that are correct but slow, and deadlocks."""

import pytest

from notebook_ranks.tests import THOROUGH, campaign


@THOROUGH
@pytest.mark.parametrize("trials", [campaign.drawn(60, 18), campaign.slow(), campaign.stuck()],
                         ids=["faults", "slow programs", "deadlocks"])  # fmt: skip
def test_all_are_told_for_what_they_are_and_leave_nothing_behind(trials):
    _, bad = campaign.campaign(trials)
    assert not bad, "\n".join(bad)
