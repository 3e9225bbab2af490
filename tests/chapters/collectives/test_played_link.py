"""A link that is played: what messages take, what they carry, who waits."""

import pytest
import torch

from course_utils import ranks

ALPHA, BETA = 0.04, 1e-7  # of 400,000 bytes 0.08 s


def carried(sizes):
    """What two ranks exchange, once for each size: seconds by their spans, and sums."""
    import torch.distributed as dist

    from course_utils.chapters.collectives.played_link import PlayedLink

    net, sums = PlayedLink(ALPHA, BETA), []
    for size in sizes:
        x, got = torch.full((size // 4,), net.rank + 1.0), torch.zeros(size // 4)
        dist.barrier()
        net.exchange(x, 1 - net.rank, got, 1 - net.rank)
        sums.append(got.unique().tolist())
    return [span.seconds for span in net.spans if span.label != "wait"], sums, net.sent_bytes


@pytest.fixture
def two_ranks():
    ranks.start(2, device="cpu", limit_seconds=120)
    yield
    ranks.stop()


def test_a_message_takes_its_latency_and_its_bytes_and_arrives(two_ranks):
    for rank, (seconds, sums, sent) in enumerate(ranks.run(carried, [4, 400_000])):
        assert sums == [[2.0 - rank], [2.0 - rank]] and sent == 400_004
        short, long = seconds
        assert 0.039 < short < 0.08 < long + 1e-3 < 0.16


def waiting(late):
    """Rank 0 sends to rank 1, and one of them comes 0.3 s later; what each of them did."""
    import time

    import torch.distributed as dist

    from course_utils.chapters.collectives.played_link import PlayedLink

    net, x = PlayedLink(ALPHA, BETA), torch.zeros(1)
    dist.barrier()
    if net.rank == late:
        time.sleep(0.3)
    if net.rank == 0:
        net.send(x, 1)
    else:
        net.receive(x, 0)
    return [(span.label, span.seconds) for span in net.spans], net.steps


@pytest.mark.parametrize("late", [0, 1])
def test_a_message_counts_from_when_both_sides_are_there(two_ranks, late):
    both = ranks.run(waiting, late)
    for rank, (spans, steps) in enumerate(both):
        (waited, seconds), (moved, moving) = spans
        assert (waited, moved, steps) == ("wait", ("send", "receive")[rank], 1)
        assert 0.039 < moving < 0.2
        assert seconds < 0.1 if rank == late else 0.2 < seconds < 0.6
