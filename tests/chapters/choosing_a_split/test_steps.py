"""A step's time by the formula: what it says at its ends, where one can know."""

from dataclasses import replace

import pytest

from course_utils.chapters.choosing_a_split import Work, step
from course_utils.planner import Split, cluster, shape

LLAMA = shape("Llama 3 8B")
H100 = cluster()


@pytest.fixture
def free(monkeypatch):
    """A cluster whose links take no time."""
    monkeypatch.setattr(type(H100), "seconds", lambda *_: 0.0)
    return replace(H100, inside_gb_per_s=1e12, between_gb_per_s=1e12)


def test_with_links_that_cost_nothing_all_splits_are_as_quick_as_one_gpu(free):
    alone = step(Work(LLAMA, 2), Split(), free, 0.4).tokens_per_s_gpu
    for sequences, split in ((2, Split(64)), (16, Split(8, tensor=8)), (4, Split(2, context=2))):
        found = step(Work(LLAMA, sequences), split, free, 0.4)
        assert found.tokens_per_s_gpu == pytest.approx(alone, rel=1e-6)
        assert found.parts["bubble"] == 0


def test_efficiency_is_the_share_of_the_peak_that_all_flops_reach(free):
    work = replace(Work(shape("GPT-2 xl"), 4), checkpointing="none")
    found = step(work, Split(), free, 0.4)
    half = 2 * 4 * 1024 * 48 * 1600 * 1024  # of attention's square: both products, forward
    flops = 6 * 4 * 1024 * (48 * 12 * 1600**2 + 50257 * 1600) + 3.5 * half
    assert found.seconds == pytest.approx(flops / (0.4 * 989e12))


@pytest.mark.parametrize("chunks", [1, 2])
def test_a_pipelines_bubble_is_stages_less_one_over_chunks_and_micro_batches(chunks, free):
    split = Split(1, pipeline=8, chunks=chunks, micro_batches=16)
    parts = step(Work(LLAMA, 16), split, free, 0.4).parts
    assert parts["bubble"] / parts["computing"] == pytest.approx(7 / (16 * chunks))


def test_async_collectives_hide_and_others_do_not():
    split = Split(8, tensor=8)
    waits = step(Work(LLAMA, 8), split, H100, 0.4)
    hides = step(Work(LLAMA, 8, hides_tensor=True), split, H100, 0.4)
    assert waits.parts["tensor and context"] > 0
    assert hides.parts["tensor and context"] == pytest.approx(0)
    assert hides.parts["computing"] == pytest.approx(waits.parts["computing"])


@pytest.mark.parametrize(
    "work, split, said",
    [
        (
            {"sequences": 3},
            Split(pipeline=2, micro_batches=2),
            "3 sequences don't divide into 2 micro",
        ),
        ({}, Split(tensor=5), "32 heads of Llama 3 8B can't be shared by 5 ranks"),
        ({"sequences": 40}, Split(pipeline=40, micro_batches=40), "32 layers can't fill 40 stages"),
        ({"checkpointing": "sqrt"}, Split(), "no checkpointing 'sqrt' here"),
        ({"sequences": 0}, Split(), "at least 1 sequence"),
        ({"shape": shape("BERT-Large")}, Split(), "choose a decoder"),
    ],
)
def test_what_does_not_divide_or_cannot_be_planned_is_refused_in_a_sentence(work, split, said):
    with pytest.raises(ValueError, match=said):
        step(Work(**{"shape": LLAMA, "sequences": 1} | work), split, H100, 0.4)
