"""The widget of the mesh: it begins with something to see, and every control moves it."""

import re

import pytest

from course_utils.chapters.sharding import Split, Work, held_bytes, mesh_explorer
from course_utils.chapters.sharding.mesh_widget import GPUS, MODELS, mesh
from course_utils.chapters.trading_compute_for_memory import shape


def words(widget):
    return re.sub("<.*?>", "", widget._reading.value)


def test_unmoved_a_70b_model_fits_64_gpus_and_most_is_sent_inside_nodes():
    widget = mesh_explorer()
    assert widget._shown.alt == "Rank 13 shards its weights with 3 others, in 4 nodes"
    assert "it fits in 80 GB" in words(widget)
    assert "most of it along tensor, inside a node" in words(widget)


def test_its_bytes_are_the_planners():
    work = Work(shape("Llama 3 70B"), 2)
    held = held_bytes(work, Split(4, tensor=8, pipeline=2, micro_batches=2))
    assert f"holds up to {sum(held.values()) / 1e9:.1f} GB" in words(mesh_explorer())


@pytest.mark.parametrize(
    "control, value",
    [
        ("gpus", 128),
        ("tensor", 4),
        ("context", 2),
        ("pipeline", 4),
        ("replicas", 2),
        ("model", "Llama 3 405B"),
        ("group", "splits each matrix with"),
        ("rank", 40),
    ],
)
def test_every_control_moves_the_picture(control, value):
    widget = mesh_explorer()
    before = bytes(widget._picture.value)
    widget._controls[control].value = value
    assert bytes(widget._picture.value) != before


def test_sizes_that_do_not_divide_are_said_in_a_sentence():
    widget = mesh_explorer()
    widget._controls["gpus"].value = 8
    assert words(widget) == (
        "These sizes don't go together: tensor 8 × pipeline 2 makes 16, which 8 GPUs can't be "
        "divided by: lower one of them, or take more GPUs."
    )
    widget._controls["pipeline"].value = 1
    widget._controls["model"].value = "GPT-2 xl"
    assert "25 heads of GPT-2 xl can't be shared by 8 ranks" in words(widget)


def test_fewer_gpus_take_the_rank_along():
    widget = mesh_explorer(gpus=512, rank=511)
    widget._controls["gpus"].value = 64
    assert widget._controls["rank"].value == 63 and "Rank 63" in words(widget)


def test_a_rank_alone_sends_nothing():
    widget = mesh_explorer(8, 1, 1, "GPT-2 xl", 0)
    widget._controls["replicas"].value = 8
    widget._controls["group"].value = "splits each line with"
    assert widget._shown.alt == "Rank 0 splits each line with nobody"
    assert "along replicas" in words(widget)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("gpus", GPUS)
def test_any_model_on_any_number_of_gpus_says_something(model, gpus):
    assert "Rank 0 (" in words(mesh_explorer(gpus, 1, 1, model, 0))


def test_what_there_is_not_is_refused():
    with pytest.raises(ValueError, match="no model 'Llama 4' here; there are GPT-2 xl"):
        mesh_explorer(model="Llama 4")
    with pytest.raises(ValueError, match="tensor 8 makes 8, which 4 GPUs"):
        mesh(4, 8, 1, 1, 1)
