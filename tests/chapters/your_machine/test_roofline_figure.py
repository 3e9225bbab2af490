"""Rooflines, sweeps and times in parts, drawn from what was measured, recorded or published."""

from course_utils.chapters.your_machine import operations
from course_utils.chapters.your_machine.roofline import Roof, gpu_roof
from course_utils.chapters.your_machine.roofline_figure import (
    draw_parts,
    draw_rooflines,
    draw_sweep,
    measured_panel,
    recorded_panel,
)
from course_utils.core.evidence import Series, published
from course_utils.core.gpus import gpu_specs
from course_utils.figures import style
from course_utils.figures.compare import compare_lines
from course_utils.figures.drawn.rounded import settled

ROOF = Roof(100e9, 10e9, 5e-6)


def test_the_figures_draw_what_they_are_given():
    works = {"product": operations.product(64, 64, 64, 4), "copy": operations.Work(0, 8000)}
    times = {"product": 1e-5, "copy": 2e-5}
    panel = measured_panel(ROOF, works, times)
    assert panel.points == {"product": (works["product"].intensity, 524288 / 1e-5)}
    assert draw_rooflines("A roof", panel).png and draw_parts("Parts", ROOF, works, times).png
    plain = compare_lines("Lines", [("one", {1: 1, 2: 4})], x_label="x", y_label="y")
    marked = compare_lines(
        "Lines", [("one", {1: 1, 2: 4})], x_label="x", y_label="y", marks={2: "L1"}
    )
    assert plain.png != marked.png


def test_an_operator_far_below_its_roof_is_in_the_picture(monkeypatch):
    works = {"product 64": operations.product(64, 64, 64, 4)}
    monkeypatch.setattr(style, "render", lambda figure, *_rest, **_options: figure)
    for seconds in (1e-5, 1.0):
        panel = measured_panel(ROOF, works, {"product 64": seconds})
        low, high = draw_rooflines("A roof", panel).axes[0].get_ylim()
        assert low < works["product 64"].flops / seconds < high


def test_a_recorded_roof_is_that_of_the_format_its_operators_ran_in():
    def kept(*rows):
        return Series.of_rows(list(rows), "recorded", "recorded: H200, torch 2.11.0")

    points = {
        "operator": "product",
        "format": "BF16",
        "flops": 6e9,
        "n_bytes": 2e9,
        "seconds": 1e-3,
    }
    rates = [{"format": "BF16", "flop_per_s": 7e14}, {"format": "FP8", "flop_per_s": 1e15}]
    streams = [
        {"operation": "copy", "gb_per_s": 4000.0},
        {"operation": "triad", "gb_per_s": 4100.0},
    ]
    panel = recorded_panel(kept(points), kept(*rates), kept(*streams))
    assert panel.roof == Roof(7e14, 4.1e12)
    assert panel.points == {"product": (3.0, 6e12)} and panel.kind == "recorded"
    assert draw_rooflines("Recorded", panel).png
    assert recorded_panel(kept(points), kept(*rates), None) is None


def test_a_sweep_is_drawn_under_its_data_sheets():
    sweep, roof = published("gpu_roofline"), gpu_roof(gpu_specs("H200"), "FP32")
    one, two = (draw_sweep("A sweep", sweep, {g: roof for g in gpus}).png
                for gpus in (["H200"], ["H200", "A100 40GB"]))  # fmt: skip
    assert one != two


def test_the_text_of_live_operators_is_the_same_whatever_was_measured():
    works = {"product": operations.product(64, 64, 64, 4), "softmax": operations.Work(5000, 8000)}

    def text(roof, *seconds):
        times = dict(zip(works, seconds, strict=True))
        rooflines = draw_rooflines("A roof", measured_panel(roof, works, times))
        return settled(rooflines.drawn + draw_parts("Parts", roof, works, times).drawn)

    assert text(ROOF, 1e-5, 2e-5) == text(Roof(3.3e12, 7e9, 1e-4), 3e-3, 1e-6)
