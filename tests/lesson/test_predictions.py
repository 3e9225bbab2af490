"""Every question is answered; a guess is scored, counted once, and never stops a page."""

import msgspec
import pytest

from course_utils.core import guesses
from course_utils.core.measurement import Measurement
from course_utils.lesson import catalog, predictions, progress
from course_utils.lesson.predictions import Box, answer, empty_box, predict


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """What is kept of a reader without a past, in a kernel that has answered nothing."""
    monkeypatch.setenv(progress.FILE, str(tmp_path / "progress.json"))
    monkeypatch.setattr(predictions, "_found", {})
    monkeypatch.setattr(predictions, "_asked", {})
    monkeypatch.setattr(guesses, "_made", {})
    return lambda: msgspec.to_builtins(progress.read().predicted)


@pytest.fixture
def said(capsys):
    """The last line that was printed."""
    return lambda: capsys.readouterr().out.splitlines()[-1]


SIXTEEN_US = Measurement((16e-6,), 1, 0.0, "host")


@pytest.mark.parametrize(
    "guess, unit, found, words, near",
    [
        (2.7, "ms", 11.3e-6, "You said 2.7 ms, it is ≈ 11.3 µs: 239 times too high.", False),
        (1, "ms", 1.9e-3, ": 1.9 times too low.", True),
        (1, "ms", 2.1e-3, ": 2.1 times too low.", False),
        (
            "12 to 20",
            "µs",
            SIXTEEN_US,
            "You said 12 to 20 µs, it is ≈ 16 µs: within your range.",
            True,
        ),
        (100, "MiB", 105 * 2**20, "it is ≈ 105 MiB: within 10%.", True),
        (40, "%", 0.8, "it is ≈ 80 %: 2 times too low.", True),
        ((2, 5), "times", 3.0, "You said 2 to 5 times, it is 3 times: within your range.", True),
        ((1, 5), "times", 3.0, "but a range that wide decides nothing.", False),
        ((2, 5), "times", 30.0, ": 6 times too low.", False),
        ((5, 20), "ms", 0.03, ": 1.5 times too low.", False),
        (3, "times", 0, "You said 3 times, it is 0 times: too high.", False),
        (1, "times", 3.0, "You said 1 time, it is 3 times: 3 times too low.", False),
        (3, "dB", 22.3, ": 19.3 dB too low.", False),
        (-3, "dB", -1.0, ": 2 dB too low.", True),
        (3, "dB", 3, "it is 3 dB: right.", True),
        (3, "times", None, "You said 3 times. This machine can't tell.", None),
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
        ("ring", "ring", "You said ring, it is ring: right.", True),
        ("Tree", "ring", "You said tree, it is ring.", False),
        (["naive", "tree"], ["tree", "ring"], "1 right, 1 too many, 1 missed.", False),
        (["naive", "tree"], {"tree", "naive"}, "it is naive, tree: right.", True),
        ("tree", [], "it is none: 0 right, 1 too many, 0 missed.", False),
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
    assert ("it is 12: right." in said()) is near
    assert kept() == [{"id": "collectives.sum", "near": near}]


def test_a_guess_that_cannot_be_read_is_said_and_the_page_goes_on(kept, said):
    predict("async.launch", "soon", "ms")
    assert said().startswith("✗ Your prediction isn't kept: 'soon' isn't a guess")
    answer("async.launch", 0.001)
    assert kept() == []
    with pytest.raises(ValueError, match=r"such as async\.launch, not 'launch'"):
        predict("launch", ..., "ms")


@pytest.mark.parametrize(
    "unit, among, found, settings, line",
    [
        ("times", (), 2.31, {"how": "t1 / t2"}, "Answer: ≈ 2.31 times (t1 / t2)"),
        ("ms", (), SIXTEEN_US, {}, "Answer (launch): ≈ 16 µs"),
        ("%", (), 0.25, {"how": "a sum", "exact": True}, "Answer: 25 % (a sum)"),
        ("", ("ring", "tree"), "ring", {"how": "by a clock"}, "Answer: ring (by a clock)"),
        ("", ("ring", "tree"), {"tree", "ring"}, {}, "Answer (launch): ring, tree"),
        ("", ("ring", "tree"), "tree", {"varies": True}, "Answer (launch): ≈ [tree]"),
        ("ms", (), None, {"how": "no GPU"}, "Answer: this machine can't tell (no GPU)"),
    ],
)
def test_an_answer_is_printed_without_a_guess(kept, said, unit, among, found, settings, line):
    predict("async.launch", ..., unit, among)
    answer("async.launch", found, **settings)
    assert said() == line
    assert kept() == []


@pytest.mark.parametrize(
    "guess, near, is_near",
    [(2, 2.0, True), (2, 1.2, False), (1.5, 1.2, True), ((1, 3), 2.0, True), ((1, 3), 1.2, False)],
)
def test_a_question_may_narrow_what_is_near(kept, guess, near, is_near):
    predict("async.launch", guess, "times")
    answer("async.launch", 1.32, near=near)
    assert [row["near"] for row in kept()] == [is_near]
    with pytest.raises(ValueError, match=r"a factor over 1"):
        answer("async.launch", 1.32, near=0.2)


def test_a_question_without_a_reader_shows_an_empty_box(capsys):
    predict("async.launch", ..., "ms")
    predict("async.first", ..., among=["ring", "tree & all"])
    number, names = capsys.readouterr().out.splitlines()
    assert number.startswith("Your prediction: [") and number.endswith("] ms")
    assert names == "Your prediction: ☐ ring  ☐ tree & all"
    box = empty_box("", ["ring", "tree & all"])._repr_html_()
    assert box == "<p>✎ <b>Your prediction:</b> ☐ ring  ☐ tree &amp; all</p>"


def test_a_guess_after_the_answer_does_not_count(kept, capsys, monkeypatch):
    answer("async.launch", 0.001)
    answer("async.gpu", None)
    predict("async.launch", 1, "ms")
    predict("async.gpu", 3, "times")
    monkeypatch.setattr(predictions, "_found", {})  # a new kernel
    predict("async.launch", 1, "ms")
    answer("async.launch", 0.001)
    _, _, here, untold, _, _, anew = capsys.readouterr().out.splitlines()
    for line in (here, anew):
        assert line.endswith("right. (You had seen the answer, so it doesn't count.)")
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
    assert said().endswith("right.")
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
