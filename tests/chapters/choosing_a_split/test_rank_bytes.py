"""What a rank holds: chapter 10's planner and the counts by hand say the same."""

import pytest

from course_utils.chapters.choosing_a_split import Work, held_bytes
from course_utils.chapters.choosing_a_split.steps import in_flight
from course_utils.planner import Plan, Split, peak, shape

LLAMA = shape("Llama 3 8B")


@pytest.mark.parametrize("ranks", [8, 64])
@pytest.mark.parametrize("way", ["every second product", "every block"])
def test_without_tensor_or_pipeline_it_is_chapter_10s_peak_to_an_eighth(ranks, way):
    """The gradient and the logits' own moment are one here, so the sum is a little higher."""
    whole = sum(held_bytes(Work(LLAMA, 2, checkpointing=way), Split(ranks)).values())
    plan = Plan(LLAMA, 2, 0, "sharded, BF16", way, compiled=True, ranks=ranks)
    assert 0 <= whole / peak(plan).total - 1 < 0.125


def test_states_are_16_bytes_a_parameter_over_all_ranks_that_share_them():
    held = held_bytes(Work(LLAMA, 1), Split(4, tensor=2, context=2))
    states = sum(held[part] for part in ("weights", "gradients", "optimizer states"))
    assert states == pytest.approx(16 * LLAMA.parameters / 16)
    twice = held_bytes(Work(LLAMA, 1), Split(4, 2, tensor=2, context=2))
    assert held["weights"] == twice["weights"]  # replicas save nothing


def test_as_many_micro_batches_are_in_flight_as_1f1b_and_interleaved_begin():
    assert [in_flight(Split(pipeline=p, micro_batches=16)) for p in (1, 2, 8)] == [1, 2, 8]
    assert in_flight(Split(pipeline=8, micro_batches=4)) == 4
    assert in_flight(Split(pipeline=8, chunks=2, micro_batches=32)) == (14 + 8 + 1) / 2


def test_a_layers_backward_has_its_gradients_in_bf16_and_in_fp32_whatever_the_tokens():
    """FSDP2's foreach_reduce copies BF16 gradients into an FP32 buffer: 6 bytes a parameter."""
    one, two = (
        held_bytes(Work(LLAMA, 1, n, compiled_loss=True), Split(8))["a layer's backward"]
        for n in (1024, 2048)
    )
    assert 2 * one - two == pytest.approx(6 * LLAMA.block_parameters)


def test_a_compiled_loss_holds_a_third_of_the_logits_bytes():
    plain, compiled = (
        held_bytes(Work(LLAMA, 8, compiled_loss=loss), Split(8))["logits"] for loss in (False, True)
    )
    assert plain == 12 * 8 * 8192 * LLAMA.vocabulary and compiled == plain / 3
