"""What a notebook keeps of a trace's page: a picture and its words."""

import json
import re

import pytest

from course_utils.traces.still import trace_page
from snapshots_and_traces.tests.support.traces import ODD, training, write
from tests.support.figures import problems

MEASURED = re.compile(r"≈\s?[-+]?\d+([.,]\d+)*(e[-+]?\d+)?\s?[\w%/µμ×]*")  # as tests/sanitise.cfg


def test_of_a_trace_made_here_a_notebook_keeps_nothing_that_the_next_run_changes(tmp_path):
    texts = []
    for steps in (1, 3):
        bundle, _ = trace_page(write(tmp_path / "mine.json", training(steps)))._repr_mimebundle_()
        texts.append(MEASURED.sub("≈", bundle["text/plain"]))
        assert len(json.dumps({**bundle, "image/png": ""})) < 2000 and "text/html" not in bundle
    assert texts[0] == texts[1]
    assert texts[0].startswith("[widget] mine.json: a trace of ≈ in ≈\n")


def test_of_a_published_trace_it_keeps_every_word_in_a_picture_as_the_house_wants_it(tmp_path):
    stored = trace_page(write(tmp_path / "mine.json", training(2)), exact=True).stored()
    text = stored["text/plain"]
    assert "Look first at " in text and "≈" not in text
    assert "kernel: 131 boxes\n" in text and "message between GPUs: 4 boxes" in text
    cell = {"source": ["trace_page('mine.json')"], "outputs": [{"data": stored}]}
    assert problems(cell) == []


@pytest.mark.parametrize("events", ODD.values(), ids=ODD)
def test_small_and_odd_traces_have_a_picture(events, tmp_path):
    file = write(tmp_path / "$a$.json", events)
    for exact in (False, True):
        assert trace_page(file, exact=exact).stored()["image/png"]
