"""A part of the campaign: faults of all kinds, and correct programs that are slow."""

from tests.ranks import campaign
from tests.ranks.fault_kinds import KINDS
from tests.ranks.test_session import pytestmark  # noqa: F401

# One of each way to be slow; `python -m tests.ranks.campaign --slow` runs all of them.
SLOW = (
    "a program in forward", "a send about to come from another thread",
    "a key that nobody is meant to set", "a rank that is stopped while it waits",
    "two sub-groups at once, one of them slow", "C code that keeps the interpreter's lock",
)  # fmt: skip


def test_sixty_faults_of_all_kinds_are_named_and_leave_nothing_behind():
    _, bad, left, _ = campaign.campaign(campaign.drawn(60, 18, [*KINDS]))
    assert not bad and not left, "\n".join(bad)


def test_what_is_correct_but_slow_is_never_called_a_deadlock():
    trials = [trial for trial in campaign.slow() if trial[0] in SLOW]
    times, bad, left, _ = campaign.campaign(iter(trials))
    assert len(times) == len(SLOW) and not bad and not left, "\n".join(bad)


def test_fifty_of_each_are_there_and_no_two_are_the_same():
    for programs in (campaign.SLOW, campaign.DEADLOCKS):
        assert len({code for code, *_ in programs.values()}) == len(programs) >= 50
    assert set(SLOW) <= set(campaign.SLOW)


def test_every_kind_of_fault_is_drawn():
    assert {name for name, _ in campaign.drawn(60, 18, [*KINDS])} == set(KINDS)
