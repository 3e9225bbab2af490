"""Replicas of a model: chapter 12's own cells, run on ranks, against one process."""

import math

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.data_parallelism.links import SlowLink, apart
from course_utils.chapters.data_parallelism.trials import ddp_against_one
from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig
from tests.chapters.data_parallelism.page_cells import names_of, on_page


@pytest.fixture(scope="module")
def four_ranks():
    ranks.start(4, device="cpu", limit_seconds=120)
    ranks.push(
        GPT=GPT, GPTConfig=GPTConfig, answer_loss=answer_loss, lines=Addition().train,
        shard=names_of("shard")["shard"],
    )  # fmt: skip
    ranks.run_cell(on_page("train").replace("(1, 2, 4)", "(1, 2, 3, 4)"))
    yield
    ranks.stop()


def trained(steps, seed, what):
    """By rank, what each number of ranks has trained by the page's `train` and `groups`."""

    def on_a_rank():
        return {n: train(n, steps, seed)[what] for n in groups if rank < n}  # noqa: F821

    return ranks.run(on_a_rank)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_to_four_ranks_have_the_gradient_and_the_weights_of_one_process(four_ranks, seed):
    for steps, what, bound in ((1, "grad", 1e-5), (50, "data", 1e-4)):
        found = trained(steps, seed, what)
        one = found[0][1]
        assert set(found[0]) == {1, 2, 3, 4}
        assert all(apart(x, one) < bound for row in found for x in row.values())
        for n in (2, 3, 4):
            assert all(torch.equal(found[rank][n], found[0][n]) for rank in range(n))


def test_other_seeds_give_other_weights(four_ranks):
    first, second = (trained(2, seed, "data")[0][4] for seed in (0, 1))
    assert apart(first, second) > 0.1


@pytest.fixture(scope="module")
def two_ranks(four_ranks):
    ranks.start(2, device="cpu")
    for cell in ("one-by-one", "send", "hook", "ways"):
        ranks.run_cell(on_page(cell))


def test_messages_and_bytes_are_those_of_the_plan(two_ranks):
    ranks.run_cell(
        "sizes = [p.nbytes for p in plain.parameters()]\n"
        "counts = replicas.count(link, ways, step)\n"
        "plans = [[sum(p.nbytes for p in b) for b in fill_buckets(plain, k)] for k in (1, 10**9)]"
    )
    sizes, counts = ranks.pull("sizes")[0], ranks.pull("counts")[0]
    assert counts["one message a parameter"][:2] == (len(sizes), sum(sizes))
    for way in ("buckets", "buckets, sent by hooks"):
        assert counts[way][1] == sum(sizes)
        assert counts[way][0] >= math.ceil(sum(sizes) / 2**20)
        assert torch.allclose(counts[way][2], counts["torch's DDP"][2], atol=1e-6)
    assert ranks.pull("plans") == [[sizes[::-1], [sum(sizes)]]] * 2


def test_accumulating_sends_once_and_adds_up_the_same(two_ranks):
    ranks.run_cell(
        "ours, theirs = replicas.four_batches(link, by_hooks), replicas.ddp_messages(device)"
    )
    every, once = ranks.pull("ours")[0]
    assert every[0] == 4 * once[0] and every[1] == 4 * once[1]
    assert torch.allclose(every[2], once[2], atol=1e-6)
    theirs = ranks.pull("theirs")[0]
    assert theirs[0] == tuple(4 * count for count in theirs[1]) and theirs[1][1] == once[1]


UNUSED = """
class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.used(x).sum()
"""


def test_a_parameter_without_a_gradient_is_named_and_what_to_do(two_ranks):
    ranks.run_cell(UNUSED)
    ours = (
        "model = Half()\nby = Overlapped(model, fill_buckets(model, 8))\n"
        "model(torch.ones(1, 2)).backward()"
    )
    with pytest.raises(ranks.RankError, match=r"no gradient for unused.weight, unused.bias: use"):
        ranks.run_cell(f"{ours}\nby.finish()")
    theirs = "ddp = torch.nn.parallel.DistributedDataParallel(Half())\n"
    steps = "for _ in range(2):\n    ddp(torch.ones(1, 2)).backward()"
    with pytest.raises(ranks.RankError, match="Expected to have finished reduction"):
        ranks.run_cell(theirs + steps)


def test_ddp_is_one_process_too(two_ranks):
    for errors in ranks.run(ddp_against_one, "cpu", 5):
        assert errors["gradient_error"] < 1e-5 and errors["weights_error"] < 1e-4


def test_a_slow_link_carries_one_message_after_the_other_and_counts_them(two_ranks):
    def carry():

        link, parts = SlowLink(0.01, 0), [torch.ones(5), torch.ones(3)]
        link.watch(lambda: [work.wait() for work in [link.all_reduce(x) for x in parts]])
        return link.messages, link.n_bytes, link.spans, parts

    for rank, (messages, n_bytes, spans, parts) in enumerate(ranks.run(carry)):
        first, second = (span for span in spans if span.label == "all_reduce")
        assert (messages, n_bytes, first.row) == (2, 32, f"rank {rank}, link")
        assert first.seconds >= 0.01 and second.start >= first.end
        assert all(x.eq(2).all() for x in parts)
        assert {span.label for span in spans} == {"compute", "wait", "all_reduce"}


def test_more_ranks_than_samples_are_refused_and_others_are_dealt_out_whole():
    shard = names_of("shard")["shard"]
    with pytest.raises(ValueError, match="3 samples don't reach for 4 ranks: take a larger batch"):
        shard(torch.arange(3), 0, 4)
    parts = [shard(torch.arange(10), rank, 4) for rank in range(4)]
    assert [len(part) for part in parts] == [3, 3, 2, 2]
    assert torch.equal(torch.cat(parts), torch.arange(10))
