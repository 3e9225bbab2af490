"""A link that is played: what messages take, what they carry, who waits.

The ranks have clocks that stand still while they don't sleep, so times are exact.
"""

import pytest
import torch

import notebook_ranks as ranks

ALPHA, BETA = 0.25, 2.0**-20  # of 1 MiB 1 s


def linked(begins):
    """A rank's link, and the clock by which it sleeps."""
    from types import SimpleNamespace

    from course_utils.chapters.collectives import played_link

    now = [begins]
    played_link.time = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda seconds: now.append(now.pop() + seconds)
    )
    return played_link.PlayedLink(ALPHA, BETA)


@pytest.fixture(scope="module")
def two_ranks():
    ranks.start(2, device="cpu", limit_seconds=120)
    yield
    ranks.stop()


def carried(sizes):
    """What two ranks exchange, once for each size: seconds by their spans, and sums."""
    net, sums = linked(0.0), []
    for size in sizes:
        x, got = torch.full((size // 4,), net.rank + 1.0), torch.zeros(size // 4)
        net.exchange(x, 1 - net.rank, got, 1 - net.rank)
        sums.append(got.unique().tolist())
    return [span.seconds for span in net.spans if span.label != "wait"], sums, net.sent_bytes


def test_a_message_takes_its_latency_and_its_bytes_and_arrives(two_ranks):
    for rank, found in enumerate(ranks.run(carried, [2**10, 2**20])):
        assert found == ([0.25 + 2**-10, 1.25], [[2.0 - rank]] * 2, 2**10 + 2**20)


def waiting(late):
    """Rank 0 sends to rank 1, and one of them comes 2 s later; what each of them did."""
    import torch.distributed as dist

    net, x = linked(2.0 * (dist.get_rank() == late)), torch.zeros(2**18)
    if net.rank == 0:
        net.send(x, 1)
    else:
        net.receive(x, 0)
    return [(span.label, span.seconds) for span in net.spans], net.steps


@pytest.mark.parametrize("late", [0, 1])
def test_a_message_counts_from_when_both_sides_are_there(two_ranks, late):
    for rank, (spans, steps) in enumerate(ranks.run(waiting, late)):
        moved = ("send", "receive")[rank]
        assert spans == [("wait", 0.0 if rank == late else 2.0), (moved, 1.25)] and steps == 1
