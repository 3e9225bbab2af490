"""A guess before the run is held against what was found, counted once, and never stops a page."""

import pytest

from course_utils.core import guesses
from course_utils.core.measurement import Measurement
from course_utils.lesson import catalog, predictions, progress
from course_utils.lesson.predictions import Box, answer, predict


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """What is kept of a reader without a past, in a kernel that has answered nothing."""
    monkeypatch.setenv(progress.FILE, str(tmp_path / "progress.json"))
    monkeypatch.setattr(predictions, "_found", {})
    monkeypatch.setattr(predictions, "_exact", set())
    monkeypatch.setattr(guesses, "_made", {})
    return lambda: progress.read()["predicted"]


@pytest.fixture
def said(capsys):
    """The last line that was printed."""
    return lambda: capsys.readouterr().out.splitlines()[-1]


SIXTEEN_US = Measurement((16e-6,), 1, 0.0, "host")


@pytest.mark.parametrize(
    "guess, unit, found, words, near",
    [
        (2.7, "ms", 11.3e-6, "It is ≈ 11.3 µs: you were ≈ 239 times too high.", False),
        (1, "ms", 1.9e-3, "you were ≈ 1.9 times too low.", True),
        (1, "ms", 2.1e-3, "you were ≈ 2.1 times too low.", False),
        ("12 to 20", "µs", SIXTEEN_US, "12 to 20 µs. It is ≈ 16 µs: within your range.", True),
        (100, "MiB", 105 * 2**20, "It is 105 MiB: you foresaw it.", True),
        (40, "%", 0.8, "It is ≈ 80 %: you were ≈ 2 times too low.", True),
        ((2, 5), "times", 3.0, "You predicted 2 to 5 times. It is 3 times: within your", True),
        ((1, 5), "times", 3.0, "but a range so wide foresees little.", False),
        ((2, 5), "times", 30.0, "you were ≈ 6 times too low.", False),
        ((5, 20), "ms", 0.03, "you were ≈ 1.5 times too low.", False),
        (3, "times", 0, "that was too high.", False),
        (1, "times", 3.0, "You predicted 1 time. It is 3 times: you were ≈ 3", False),
        (3, "dB", 22.3, "you were ≈ 19.3 dB too low.", False),
        (-3, "dB", -1.0, "you were ≈ 2 dB too low.", True),
        (3, "dB", 3, "It is 3 dB: you foresaw it.", True),
        (3, "times", None, "You predicted 3 times. This machine can't tell.", None),
    ],
)
def test_a_number_is_told_by_which_factor_it_was_off(kept, said, guess, unit, found, words, near):
    predict("async.launch", guess, unit)
    answer("async.launch", found)
    assert words in said()
    assert [row["near"] for row in kept()] == [near] * (near is not None)


@pytest.mark.parametrize(
    "guess, found, words, near",
    [
        ("ring", "ring", "You chose ring. It is ring: you foresaw it.", True),
        ("Tree", "ring", "You chose tree. It is ring: not what you chose.", False),
        (["naive", "tree"], ["tree", "ring"], "1 right, 1 too many, 1 missed.", False),
        (["naive", "tree"], {"tree", "naive"}, "It is naive, tree: you foresaw it.", True),
        ("tree", [], "It is none: 0 right, 1 too many, 0 missed.", False),
    ],
)
def test_a_choice_is_right_where_all_names_are(kept, said, guess, found, words, near):
    predict("collectives.quickest", guess, among=["naive", "tree", "ring"])
    answer("collectives.quickest", found)
    assert said().endswith(words)
    assert kept() == [{"id": "collectives.quickest", "near": near}]


@pytest.mark.parametrize("guess, near", [(9, False), (12, True), ((11, 13), False)])
def test_what_can_be_told_exactly_is_foreseen_exactly_or_not(kept, said, guess, near):
    predict("collectives.sum", guess)
    answer("collectives.sum", 12, exact=True)
    assert ("It is 12: you foresaw it." in said()) is near
    assert kept() == [{"id": "collectives.sum", "near": near}]


def test_a_guess_that_cannot_be_read_is_said_and_the_page_goes_on(kept, said):
    predict("async.launch", "soon", "ms")
    assert said().startswith("✗ Your prediction isn't kept: 'soon' isn't a guess")
    answer("async.launch", 0.001)
    assert kept() == []
    with pytest.raises(ValueError, match=r"such as async\.launch, not 'launch'"):
        predict("launch", ..., "ms")


def test_without_a_guess_nothing_is_said_and_one_after_the_answer_does_not_count(
    kept, capsys, monkeypatch
):
    predict("async.launch", ..., "ms")
    answer("async.launch", 0.001)
    answer("async.gpu", None)
    assert capsys.readouterr().out == ""
    predict("async.launch", 1, "ms")
    predict("async.gpu", 3, "times")
    monkeypatch.setattr(predictions, "_found", {})  # a new kernel
    predict("async.launch", 1, "ms")
    answer("async.launch", 0.001)
    here, untold, _, anew = capsys.readouterr().out.splitlines()
    for line in (here, anew):
        assert line.endswith("you foresaw it. (You had seen the answer, so it doesn't count.)")
    assert "This machine can't tell." in untold and kept() == []


def test_the_box_takes_what_is_typed_and_keeps_it_when_its_cell_is_run_again(said):
    def typed(text):
        return predictions.take("async.launch", text, "ms", ())

    box = Box(typed, "ms", ())
    box.field.value = "<b>3"
    assert "&lt;b&gt;3" in box.said and "<b>" not in box.said
    box.field.value = "2.7"
    assert box.said == "Kept: 2.7 ms."
    predict("async.launch", ..., "ms")
    assert Box(typed, "ms", (), guesses.of("async.launch")).field.value == "2.7"
    typed("1200 to 1800")
    assert Box(typed, "ms", (), guesses.of("async.launch")).field.value == "1200 to 1800"
    typed("2.7")
    answer("async.launch", 0.0027)
    assert said().endswith("you foresaw it.")
    among = ["naive", "tree", "ring"]
    box = Box(lambda chosen: predictions.take("a.b", chosen, "", among), "", among)
    box.field.value = ("tree", "ring")
    assert box.said == "Kept: tree, ring."
    box.field.value = ()
    assert guesses.of("a.b") is None


def test_the_report_counts_the_predictions_of_each_chapter(monkeypatch):
    monkeypatch.setattr(catalog.Chapter, "predictions", lambda chapter: ["async.launch"])
    predict("async.launch", 1, "ms")
    answer("async.launch", 0.001)
    assert "1 of 1 predictions near" in progress.report()
