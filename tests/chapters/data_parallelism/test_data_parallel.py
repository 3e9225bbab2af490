"""Data parallelism as chapter 12 writes it: its own cells, run on ranks, against one process."""

import json
import math
import re
import struct

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.collectives.simulated_ranks import simulate
from course_utils.chapters.data_parallelism.links import PlayedLink, SlowLink, apart
from course_utils.chapters.data_parallelism.real_steps import (
    HALVES,
    gpt_step,
    half_format,
    resnet_step,
    shown,
)
from course_utils.chapters.data_parallelism.scaling_trials import ddp_spans, gpu_efficiency
from course_utils.chapters.data_parallelism.trials import ddp_against_one, fashion, resnet18_for_28
from course_utils.chapters.data_parallelism.ways_to_split import draw_splits, tensors_to_send
from course_utils.core import files
from course_utils.lesson.exercises import grade
from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig

CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads((files.NOTEBOOKS / "12_data_parallelism.ipynb").read_text())["cells"]
}


def on_page(cell):
    """The source of a cell without its magic."""
    return CELLS[cell].partition("\n")[2] if CELLS[cell].startswith("%%") else CELLS[cell]


def names_of(cell):
    """What the first definition of a cell defines."""
    names = {"torch": torch, "GPTConfig": GPTConfig}
    exec(on_page(cell).partition("\n\n")[0], names)
    return names


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
        from course_utils.chapters.data_parallelism.links import SlowLink

        link, parts = SlowLink(0.01, 0), [torch.ones(5), torch.ones(3)]
        link.watch(lambda: [work.wait() for work in [link.all_reduce(x) for x in parts]])
        return link.messages, link.n_bytes, link.spans, parts

    for rank, (messages, n_bytes, spans, parts) in enumerate(ranks.run(carry)):
        first, second = (span for span in spans if span.label == "all_reduce")
        assert (messages, n_bytes, first.row) == (2, 32, f"rank {rank}, link")
        assert first.seconds >= 0.01 and second.start >= first.end
        assert all(x.eq(2).all() for x in parts)
        assert {span.label for span in spans} == {"compute", "wait", "all_reduce"}


def test_a_slow_link_takes_alpha_and_beta_of_what_a_ring_sends():
    assert SlowLink(1e-3, 1e-9).seconds(10**6, 4) == pytest.approx(1e-3 + 1.5e-3)


def test_more_ranks_than_samples_are_refused_and_others_are_dealt_out_whole():
    shard = names_of("shard")["shard"]
    with pytest.raises(ValueError, match="3 samples don't reach for 4 ranks: take a larger batch"):
        shard(torch.arange(3), 0, 4)
    parts = [shard(torch.arange(10), rank, 4) for rank in range(4)]
    assert [len(part) for part in parts] == [3, 3, 2, 2]
    assert torch.equal(torch.cat(parts), torch.arange(10))


@pytest.mark.parametrize("n, batch", [(2, 1), (4, 8), (8, 3)])
def test_the_bytes_of_each_way_are_those_of_the_models_own_tensors(n, batch):
    with torch.device("meta"):
        found = tensors_to_send(GPTConfig.small(), batch, n)
    assert names_of("split-bytes")["bytes_sent"](batch, n) == found


def test_the_drawing_of_the_splits_is_a_picture():
    assert draw_splits("title", {"data": 1e6, "layers": 2e6, "channels": 3e6}).png


def test_played_links_add_up_share_and_keep_sizes():
    def work(net):
        link, x, y = PlayedLink(net), torch.full((3,), float(net.rank)), torch.tensor([net.rank])
        link.all_reduce(x)
        link.broadcast(y, 2)
        return x.tolist(), y.item(), link.sizes

    assert simulate(3, work)[0] == [([3.0] * 3, 2, [12, 8])] * 3


def test_images_are_fashion_mnists_where_its_files_are_and_else_of_the_same_shape(tmp_path):
    pixels, kinds = fashion(30, tmp_path / "none", tmp_path / "none")
    assert pixels.shape == (30, 1, 28, 28) and pixels.min() >= 0 and pixels.max() <= 1
    assert kinds.dtype == torch.int64 and set(kinds.tolist()) <= set(range(10))
    images, labels = tmp_path / "images", tmp_path / "labels"
    images.write_bytes(struct.pack(">4I", 2051, 2, 28, 28) + bytes([0, 255] * 784))
    labels.write_bytes(struct.pack(">2I", 2049, 2) + bytes([7, 3]))
    pixels, kinds = fashion(2, images, labels)
    assert kinds.tolist() == [7, 3] and pixels.mean() == 0.5
    assert resnet18_for_28()(pixels).shape == (2, 10)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_step_of_real_size_trains_in_either_half_format(dtype):
    torch.manual_seed(0)
    model = GPT(GPTConfig.tiny())
    before = next(iter(model.state_dict().values())).clone()
    gpt_step(model, GPTConfig.tiny(), 2, "cpu", dtype)()
    after = next(iter(model.state_dict().values()))
    assert after.isfinite().all() and not torch.equal(before, after)


@pytest.mark.parametrize("capability, name", [((7, 5), "FP16"), ((8, 0), "BF16"), ((9, 0), "BF16")])
def test_a_gpu_older_than_ampere_trains_in_fp16(capability, name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert HALVES[half_format()] == name


def test_a_step_of_a_resnet_changes_its_weights():
    model = resnet18_for_28()
    before = model[0].weight.detach().clone()
    resnet_step(model, 2, "cpu")()
    assert not torch.equal(before, model[0].weight)


def test_a_gpus_efficiency_comes_from_rows_of_equal_batches():
    rows = [
        {"gpus": n, "batch": batch, "tokens_per_s": rate}
        for n, batch, rate in ((1, 8, 100.0), (2, 8, 150.0), (4, 8, 400.0), (1, 4, 60.0))
    ]
    assert gpu_efficiency(rows) == {1: 1.0, 2: 0.75, 4: 1.0}
    assert gpu_efficiency(rows[:1]) == gpu_efficiency(rows[1:3]) == gpu_efficiency([]) == {}


def test_live_rows_are_shown_with_units():
    rows = [{"way": "DDP", "gpus": 2, "seconds": 0.0123, "first_bytes": 2_000_000_000}]
    assert shown(rows) == [
        {"way": "DDP", "gpus": 2, "seconds": "≈ 12.3 ms", "first_bytes": "≈ 2.00 GB"}
    ]


def test_the_published_step_has_its_host_its_kernels_and_five_messages():
    spans = ddp_spans()
    assert {span.row for span in spans} == {"host", "kernels", "NCCL"}
    assert [s.note for s in spans if s.label == "all_reduce"][:2] == ["8 MB", "32 MB"]
    assert all(span.seconds >= 0 for span in spans)


def test_the_loop_with_three_bugs_on_the_page_is_wrong_every_time():
    quoted = re.sub(r"(?m)^> ?", "", CELLS["exercises"])
    names = {"torch": torch}
    exec(re.search(r"```python\n(.*?)```", quoted, re.S)[1], names)
    assert not any(grade("data_parallelism.train", names["train"]).passed for _ in range(5))
