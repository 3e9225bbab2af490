"""A guess before the run is held against what was found, counted once, and never stops a page."""

import pytest

from course_utils.core import guesses
from course_utils.core.measurement import Measurement
from course_utils.lesson import calibration, predictions, progress
from course_utils.lesson.prediction_box import Box
from course_utils.lesson.predictions import answer, predict


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A reader without a past, in a kernel that has answered nothing."""
    monkeypatch.setenv(progress.FILE, str(tmp_path / "progress.json"))
    monkeypatch.setattr(predictions, "_found", {})
    monkeypatch.setattr(predictions, "_exact", set())
    monkeypatch.setattr(guesses, "_made", {})
    return lambda: progress.read()["predicted"]


def seconds(value):
    return Measurement((value,), 1, 0.0, "host")


def said(capsys):
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    "guess, unit, found, words, near",
    [
        (2.7, "ms", 11.3e-6, "It is ≈ 11.3 µs: you were ≈ 239 times too high.", False),
        (1, "ms", 1.9e-3, "you were ≈ 1.9 times too low.", True),
        (1, "ms", 2.1e-3, "you were ≈ 2.1 times too low.", False),
        (100, "MiB", 105 * 2**20, "It is 105 MiB: you foresaw it.", True),
        (40, "%", 0.8, "It is ≈ 80 %: you were ≈ 2 times too low.", True),
        ((2, 5), "times", 3.0, "You predicted 2 to 5 times. It is 3 times: within your", True),
        ((1, 5), "times", 3.0, "but a range so wide foresees little.", False),
        ((2, 5), "times", 30.0, "you were ≈ 6 times too low.", False),
        ((-1, 5), "times", 3.0, "but a range so wide foresees little.", False),
        ((-5, -3), "dB", -4.0, "within your range.", True),
        ((5, 20), "ms", 0.03, "you were ≈ 1.5 times too low.", False),
        (1e308, "s", 2e-9, "that was too high, and no factor", False),
        (0, "times", 0, "It is 0 times: you foresaw it.", True),
        (3, "times", 0, "that was too high, and no factor says by how much.", False),
        (-3, "dB", 3.0, "you were ≈ 6 dB too low.", False),
        (3, "dB", 22.3, "you were ≈ 19.3 dB too low.", False),
        (
            1,
            "times",
            3.0,
            "You predicted 1 time. It is 3 times: you were ≈ 3 times too low.",
            False,
        ),
        (-3, "dB", -1.0, "you were ≈ 2 dB too low.", True),
        (-3, "dB", -3.0, "you foresaw it.", True),
        ((2, 3), "dB", 22.0, "you were ≈ 19 dB too low.", False),
    ],
)
def test_a_number_is_told_by_which_factor_it_was_off(kept, capsys, guess, unit, found, words, near):
    predict("async.launch", guess, unit)
    answer("async.launch", found)
    assert words in said(capsys)
    (row,) = kept()
    assert (row["id"], row["near"]) == ("async.launch", near)


def test_a_measurement_in_seconds_answers_a_guess_in_any_unit_of_time(kept, capsys):
    predict("async.launch", "12 to 20", "µs")
    answer("async.launch", seconds(16e-6))
    assert said(capsys) == "You predicted 12 to 20 µs. It is ≈ 16 µs: within your range."


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
def test_a_choice_is_right_where_all_names_are(kept, capsys, guess, found, words, near):
    predict("collectives.quickest", guess, among=["naive", "tree", "ring"])
    answer("collectives.quickest", found)
    assert said(capsys).endswith(words)
    assert kept() == [{"id": "collectives.quickest", "near": near, "factor": None}]


@pytest.mark.parametrize("guess, near", [(9, False), (12, True), ((11, 13), False)])
def test_what_can_be_told_exactly_is_foreseen_exactly_or_not(kept, capsys, guess, near):
    predict("collectives.sum", guess)
    answer("collectives.sum", 12, exact=True)
    assert ("It is 12: you foresaw it." in said(capsys)) is near
    assert kept() == [{"id": "collectives.sum", "near": near, "factor": None}]


def test_without_a_guess_the_page_says_nothing(kept, capsys):
    predict("async.launch", ..., "ms")
    answer("async.launch", 0.001)
    assert capsys.readouterr().out == "" and kept() == []


def test_a_guess_that_cannot_be_read_is_said_and_the_page_goes_on(kept, capsys):
    predict("async.launch", "soon", "ms")
    assert said(capsys).startswith("✗ Your prediction isn't kept: 'soon' isn't a guess")
    answer("async.launch", 0.001)
    assert kept() == []


def test_a_guess_after_the_answer_is_judged_but_does_not_count(kept, capsys):
    predict("async.launch", ..., "ms")
    answer("async.launch", 0.001)
    predict("async.launch", 1, "ms")
    assert said(capsys).endswith("you foresaw it. (You had seen the answer, so it doesn't count.)")
    answer("async.launch", 0.001)
    assert kept() == []


def test_the_first_counted_guess_stands_also_in_a_new_kernel(kept, monkeypatch):
    predict("async.launch", 100, "ms")
    answer("async.launch", 0.001)
    monkeypatch.setattr(predictions, "_found", {})
    predict("async.launch", 1, "ms")
    answer("async.launch", 0.001)
    assert [row["near"] for row in kept()] == [False]


def test_an_answer_seen_without_a_guess_is_remembered_in_the_next_kernel(kept, monkeypatch, capsys):
    answer("async.launch", 0.001)
    monkeypatch.setattr(predictions, "_found", {})
    predict("async.launch", 1, "ms")
    answer("async.launch", 0.001)
    assert said(capsys).endswith("(You had seen the answer, so it doesn't count.)")
    assert kept() == []


def test_a_guess_after_an_answer_that_could_not_be_told_is_no_crash(kept, capsys):
    answer("async.gpu", None)
    predict("async.gpu", 3, "times")
    assert "This machine can't tell." in said(capsys)


def test_a_cell_run_again_keeps_what_was_typed_into_its_box(kept):
    predictions.take("async.launch", "2.7", "ms", ())
    predict("async.launch", ..., "ms")
    assert str(guesses.of("async.launch")) == "2.7 ms"
    box = Box(lambda typed: "", "ms", (), guesses.of("async.launch"))
    assert box.field.value == "2.7"


def test_what_this_machine_cannot_tell_is_said_and_does_not_count(kept, capsys):
    predict("async.gpu", 3, "times")
    answer("async.gpu", None)
    assert said(capsys) == "You predicted 3 times. This machine can't tell."
    assert kept() == []


def test_an_id_is_chapter_and_what():
    with pytest.raises(ValueError, match=r"such as async\.launch, not 'launch'"):
        predict("launch", ..., "ms")


def test_the_box_takes_what_is_typed_and_says_what_became_of_it(kept, capsys):
    box = Box(lambda typed: predictions.take("async.launch", typed, "ms", ()), "ms", ())
    box.field.value = "2.7"
    assert box.said == "Kept: 2.7 ms."
    answer("async.launch", 0.0027)
    assert said(capsys).endswith("you foresaw it.")
    box.field.value = "<b>3"
    assert "&lt;b&gt;3" in box.said and "<b>" not in box.said


def test_the_box_of_names_takes_one_or_several():
    among = ["naive", "tree", "ring"]
    box = Box(lambda chosen: predictions.take("a.b", chosen, "", among), "", among)
    box.field.value = ("tree", "ring")
    assert box.said == "Kept: tree, ring."
    box.field.value = ()
    assert guesses.of("a.b") is None


def guessed(*near):
    return [{"id": f"a.b{n}", "near": one, "factor": 1.5} for n, one in enumerate(near)]


def test_calibration_compares_the_first_half_with_the_second():
    few = calibration.in_words(guessed(True, False, True))
    assert few == "Predictions: 2 of 3 right or within 2 times, numbers typically 1.5 times off."
    better = calibration.in_words(guessed(*[False] * 5, True, *[True] * 5, False))
    assert "The first half 1 of 6, the second 5 of 6: you are getting better." in better
    assert "No predictions yet" in calibration.in_words([])


@pytest.mark.parametrize("near", [[True, False] * 4, [False] * 4 + [True, False] * 2])
def test_luck_is_not_called_getting_better(near):
    assert "better" not in calibration.in_words(guessed(*near))


def test_the_report_counts_the_predictions_of_each_chapter(kept, monkeypatch, capsys):
    from course_utils.lesson import catalog

    monkeypatch.setattr(catalog.Chapter, "predictions", lambda chapter: ["async.launch"])
    predict("async.launch", 1, "ms")
    answer("async.launch", 0.001)
    assert "1 of 1 predictions near" in progress.report()
