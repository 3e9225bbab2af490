"""A roofline of recorded evidence."""

from course_utils.chapters.your_machine.roofline import Roof
from course_utils.chapters.your_machine.roofline_widget import draw_rooflines, recorded_panel
from course_utils.core.evidence import Series


def test_a_recorded_roof_is_that_of_the_format_its_operators_ran_in():
    def kept(*rows):
        return Series.of_rows(list(rows), "recorded", "recorded: H200, torch 2.11.0")

    ran = {"operator": "product", "format": "BF16", "flops": 6e9, "n_bytes": 2e9, "seconds": 1e-3}
    rates = [{"format": "BF16", "flop_per_s": 7e14}, {"format": "FP8", "flop_per_s": 1e15}]
    streams = [
        {"operation": "copy", "gb_per_s": 4000.0},
        {"operation": "triad", "gb_per_s": 4100.0},
    ]
    panel = recorded_panel(kept(ran), kept(*rates), kept(*streams))
    assert panel.roof == Roof(7e14, 4.1e12)
    assert panel.points == {"product": (3.0, 6e12)} and panel.kind == "recorded"
    assert draw_rooflines("Recorded", panel).png
    assert recorded_panel(kept(ran), kept(*rates), None) is None
