"""What fits: a step of the reader's own, and the widget: tight on a 4090, 8-bit Adam fits."""

import re

from course_utils.chapters.trading_compute_for_memory import fits_explorer
from course_utils.planner import Plan, peak, shape
from course_utils.planner.cards import needed


def controls_of(widget):
    columns, picture, reading = widget.children
    named = [control for column in columns.children for control in column.children]
    return named, picture, reading


def plain(reading):
    return re.sub("<.*?>", "", reading.value)


def test_unmoved_it_is_tight_on_a_4090_and_with_8_bit_adam_it_fits():
    widget = fits_explorer()
    named, _, reading = controls_of(widget)
    found = peak(Plan(shape("Llama 3.2 1B"), 1, 4096, checkpointing="every block"))
    least, safe = (n_bytes / 1e9 for n_bytes in needed(found.total, found.always))
    assert f"At the peak, {found.name}, {found.total / 1e9:.1f} GB are allocated" in plain(reading)
    assert f"needs {least:.1f} GB at least and {safe:.1f} GB with a margin" in plain(reading)
    assert "25 GB (RTX 4090): tight, 85 GB (H100 SXM): fits" in plain(reading)
    assert "T4: has no BF16" in plain(reading) and "1.21 times the FLOPs" in plain(reading)
    assert "tight in 25 GB" in widget._shown.alt
    for place, value in ((5, "Adam, fused"), (6, True), (7, True)):
        before, named[place].value = named[place].value, value
        assert "25 GB (RTX 4090): tight" in plain(reading)
        named[place].value = before
    named[5].value = "Adam 8-bit"
    assert "25 GB (RTX 4090): fits" in plain(reading)
    named[3].value = "FP32"
    assert "16 GB (T4)" in plain(reading)


def test_the_picture_follows_every_control():
    named, picture, _ = controls_of(fits_explorer())
    moves = ("GPT-2 large", 16, 2048, "pure BF16", "none", "SGD", True, True)
    for control, value in zip(named, moves, strict=True):
        before = bytes(picture.value)
        control.value = value
        assert bytes(picture.value) != before, control.description


def test_a_model_may_fit_nowhere():
    widget = fits_explorer()
    named, _, reading = controls_of(widget)
    for place, value in ((0, "Llama 3 8B"), (1, 64), (2, 8192), (4, "none")):
        named[place].value = value
    assert "fits in no one GPU" in widget._shown.alt
    assert "150 GB (H200): too small" in plain(reading)
