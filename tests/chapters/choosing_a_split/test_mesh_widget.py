"""The widget of the mesh: it begins with something to see, and every control moves it."""

import re

import pytest

from course_utils.chapters.choosing_a_split import Work, held_bytes, mesh_explorer
from course_utils.chapters.choosing_a_split.mesh_widget import mesh
from course_utils.planner import Split, shape

MOVES = {
    "gpus": 128,
    "tensor": 4,
    "context": 2,
    "pipeline": 4,
    "replicas": 2,
    "model": "Llama 3 405B",
    "rank": 40,
}


def words(widget):
    return re.sub("<.*?>", "", widget._reading.value)


def test_unmoved_a_70b_model_fits_64_gpus_and_every_control_moves_it():
    widget = mesh_explorer()
    groups = "the groups of rank 13 among 64: shard 4, pipeline 2, tensor 8"
    assert widget._shown.alt == f"Llama 3 70B, {groups}"
    held = held_bytes(
        Work(shape("Llama 3 70B"), 2), Split(4, tensor=8, pipeline=2, micro_batches=2)
    )
    counted = f"{sum(held.values()) / 1e9:.1f} GB by count"
    assert f"holds up to {counted}, and a card has 80 GB" in words(widget)
    for control, value in MOVES.items():
        before = bytes(widget._picture.value)
        widget._controls[control].value = value
        assert bytes(widget._picture.value) != before, control


def test_sizes_that_do_not_divide_are_said_in_a_sentence():
    widget = mesh_explorer()
    widget._controls["gpus"].value = 8
    assert widget._controls["rank"].value == 7  # fewer GPUs take the rank along
    assert words(widget) == (
        "These sizes don't go together: tensor 8 × pipeline 2 makes 16, which 8 GPUs can't be "
        "divided by: lower one of them, or take more GPUs."
    )
    widget._controls["pipeline"].value = 1
    widget._controls["model"].value = "GPT-2 xl"
    assert "25 heads of GPT-2 xl can't be shared by 8 ranks" in words(widget)
    with pytest.raises(ValueError, match="tensor 8 makes 8, which 4 GPUs"):
        mesh(4, 8, 1, 1, 1)
