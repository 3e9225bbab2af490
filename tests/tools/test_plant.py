"""`make plant`: what it plants is an error, stands where it says, and leaves nothing behind."""

import base64
import io
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from course_utils.core import files
from course_utils.figures.drawn.stamp import is_of
from tools.plant import __main__ as plant
from tools.plant import bugs, kinds, page, pictures, trial, words
from tools.plant.page import CantPlant, Page
from tools.plant.static_judge import Failed
from tools.plant.working_copy import Copy

STEMS = [path.stem for path in files.chapters()]


@pytest.fixture(scope="module")
def planned():
    return [one.plant for one in plant.plan(0)]


@pytest.fixture
def results(planned):
    """The whole plan, as it is before anything was judged."""
    judges = {kind.name: kind.judges for kind in plant.KINDS}
    return [trial.Result(one, judges[one.kind]) for one in planned]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("plant"))


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Writes a course of one page with these cells; gives what a kind finds in it, planted."""

    def written(*cells):
        folder = tmp_path / "notebooks"
        folder.mkdir()
        monkeypatch.setattr(files, "NOTEBOOKS", folder)
        content = {"cells": [cell | {"id": f"c{i}"} for i, cell in enumerate(cells)]}
        (folder / "03_new.ipynb").write_text(json.dumps(content))

        def plants_of(candidates):
            before = (folder / "03_new.ipynb").read_text()
            for one in candidates("kind", "03_new"):
                one.edit(tmp_path)
                changed = Page(folder / "03_new.ipynb")
                (folder / "03_new.ipynb").write_text(before)
                yield one.what, changed.cells[int(one.place[1:])]

        return plants_of

    return written


def python(source, *outputs):
    return {"cell_type": "code", "source": [source], "outputs": list(outputs), "metadata": {}}


def says(text):
    return {"output_type": "stream", "text": [text]}


def figure(title, colour="red"):
    file = io.BytesIO()
    Image.new("RGB", (400, 100), colour).save(file, format="png")
    png = base64.b64encode(file.getvalue()).decode()
    return {"data": {"image/png": png, "text/plain": [f"[figure] {title}\n", "more of it"]}}


def prose(text):
    return {"cell_type": "markdown", "source": [text], "metadata": {}}


def test_the_whole_course_gets_as_many_errors_of_each_kind_as_the_review_did(planned):
    assert Counter(one.kind for one in planned) == {
        "a stored output changed": 14,
        "a claim turned round": 7,
        "an output or a whole picture deleted": 7,
        "a PNG alone deleted": 7,
        "a library or page bug": 25,
        "a published figure changed by 20%": 17,
        "a blank picture": 12,
        "another picture, or mirrored": 15,
        "a claim's bound loosened": 7,
        "a claim's sentence exaggerated": 7,
        "a number changed in prose": 7,
        "prose or a title reversed": 14,
    }
    assert {one.chapter for one in planned} == set(STEMS)


def test_the_same_seed_plants_the_same_and_another_seed_other_errors(planned):
    assert [str(one) for one in planned] == [str(one.plant) for one in plant.plan(0)]
    others = {str(one.plant) for one in plant.plan(1)} - set(map(str, planned))
    assert len(others) > len(planned) / 2


def test_every_plant_of_the_course_changes_its_page_and_is_taken_back(planned, copy):
    for one in planned:
        copy.plant(one)
        changed = copy.changed()
        assert changed, one
        for name in changed:
            assert (copy.root / name).read_bytes() != (copy.clean / name).read_bytes(), one
        copy.restore()
    assert copy.changed() == []
    for name in copy.names:
        assert (copy.root / name).read_bytes() == (copy.clean / name).read_bytes()


@pytest.mark.parametrize("bug", bugs.bugs(), ids=lambda bug: bug["what"])
def test_every_bug_of_the_list_can_still_be_planted(bug, copy):
    bugs.plant_bug(copy.root, bug)
    copy.restore()
    assert (files.NOTEBOOKS / f"{bug['chapter']}.ipynb").exists()


@pytest.mark.parametrize(
    "change, said",
    [
        ({"find": "no such text"}, "0 times, not once"),
        ({"function": "nobody"}, "no nobody"),
        (
            {"file": "notebooks/06_floating_point_formats.ipynb", "function": "nobody"},
            "no function nobody",
        ),
    ],
)
def test_a_bug_whose_text_is_gone_says_so(change, said, copy):
    with pytest.raises(CantPlant, match=said):
        bugs.plant_bug(copy.root, bugs.bugs()[2] | change)


@pytest.mark.parametrize(
    "sentence, turned",
    [
        ("A ring is faster than a tree.", "A ring is slower than a tree."),
        ("More bytes take longer.", "Less bytes take longer."),
        ("It costs at least 3 times as much.", "It costs at most 3 times as much."),
        ("`first` says more than that.", "`first` says less than that."),
        ("The first call waits no more.", "The last call waits no more."),
    ],
)
def test_a_direction_is_turned_into_its_opposite(sentence, turned):
    assert (sentence, turned) in list(words.reversals(sentence))


@pytest.mark.parametrize(
    "sentence, changed",
    [
        ("It moves 76 GB/s.", ["It moves 91 GB/s."]),
        ("82% of 1,024 ranks", ["98% of 1,024 ranks", "82% of 1,229 ranks"]),
        ("It takes 2 or 5.5× more.", ["It takes 3 or 5.5× more.", "It takes 2 or 6.6× more."]),
        ("FP32 and H100, chapter 9, section 2, 2⁻²⁴, 10⁷, 2025, `(4, 8)`", []),
    ],
)
def test_a_quantity_is_made_a_fifth_larger_and_a_name_is_left_alone(sentence, changed):
    assert [new for _, new in words.other_numbers(sentence)] == changed


@pytest.mark.parametrize(
    "sentence, stronger",
    [
        ("at least 3 times as fast", "at least 30 times as fast"),
        ("within 15% of the model", "within 1.5% of the model"),
        ("less than half as long", "less than a tenth as long"),
        ("some of them wait", "all of them wait"),
    ],
)
def test_a_claim_is_exaggerated_in_the_direction_of_its_bound(sentence, stronger):
    assert (sentence, stronger) in list(words.exaggerations(sentence))


def test_questions_predictions_exercises_and_headings_are_no_statements():
    text = (
        "## Which is faster than that?\n\nOne is faster than the other. Is it faster than "
        "you thought?\n\n**Predict** what is faster than this. It is faster than that one.\n\n"
        "> Write what is faster than this one.\n\n- A list says what is faster too."
    )
    assert list(words.sentences(text)) == [
        "One is faster than the other.",
        "A list says what is faster too.",
    ]


def test_an_exaggerated_sentence_stands_in_the_stored_output_too(chapter):
    source = 'claim("a-b", "it is at least 3 times as fast", x / y, above=3)'
    said = says("✓ it is at least 3 times as fast (≈ 12 > 3, margin ≈ 4)\n")
    ((_, cell),) = chapter(python(source, said))(kinds.sentences_exaggerated)
    assert 'at least 30 times as fast", x / y, above=3' in page.source(cell)
    assert list(page.texts(cell)) == ["✓ it is at least 30 times as fast (≈ 12 > 3, margin ≈ 4)\n"]


@pytest.mark.parametrize(
    "call, loosened, said, stored",
    [
        ("x, above=3", "x, above=0.3", "≈ 12 > 3, margin ≈ 4", "≈ 12 > 0.3, margin ≈ 40"),
        ("x, below=0.15", "x, below=1.5", "≈ 0.1 < 0.15, margin ≈ 1.5", "≈ 0.1 < 1.5, margin ≈ 15"),
        ("x > 3", "x > 0.3", "≈ 12", "≈ 12"),
        ("abs(x) <= 2 and y", "abs(x) <= 20 and y", "≈ 1", "≈ 1"),
        ("0.5 < x", "0.05 < x", "≈ 1", "≈ 1"),
    ],
)
def test_a_loosened_bound_is_stored_with_its_margin(chapter, call, loosened, said, stored):
    cell = python(
        f'claim("a-b", "it holds 3 times", {call})', says(f"✓ it holds 3 times ({said})\n")
    )
    ((_, cell),) = chapter(cell)(kinds.bounds_loosened)
    assert page.source(cell) == f'claim("a-b", "it holds 3 times", {loosened})'
    assert list(page.texts(cell)) == [f"✓ it holds 3 times ({stored})\n"]


@pytest.mark.parametrize(
    "call, turned",
    [
        ("x, above=3", ["x, below=3"]),
        ("x > 3", ["not (x > 3)"]),
        ("x, above=3, below=5", []),
        ("lambda: x, needs='gpu'", []),
    ],
)
def test_a_claim_is_turned_round_where_it_is_tested_here(chapter, call, turned):
    found = chapter(python(f'claim("a-b", "it holds", {call})', says("✓ it holds\n")))
    sources = [page.source(cell) for _, cell in found(kinds.claims_turned)]
    assert sources == [f'claim("a-b", "it holds", {one})' for one in turned]


def test_a_claim_that_a_later_line_follows_is_not_turned_round(chapter):
    assert not list(chapter(python('claim("a-b", "c", x)\nx = 1'))(kinds.claims_turned))


def test_a_reversed_title_stands_in_the_figure_s_stored_text_too(chapter):
    cell = python('draw(x, "Rings run faster")', figure("Rings run faster"))
    ((what, cell),) = chapter(cell)(kinds.titles_reversed)
    assert what == "“Rings run faster” → “slower”"
    assert page.source(cell) == 'draw(x, "Rings run slower")'
    assert page.title(cell) == "Rings run slower"
    data = page.picture(cell)
    assert is_of(base64.b64decode(data["image/png"]), "".join(data["text/plain"]))


def test_pictures_are_blanked_mirrored_exchanged_and_deleted(chapter):
    plants_of = chapter(python("a", figure("A")), python("b", figure("B", "blue")))

    def shown(candidates):
        stored = [page.picture(cell) or {} for _, cell in plants_of(candidates)]
        found = [data.get("image/png") for data in stored]
        pictures = [
            png and Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB") for png in found
        ]
        return [picture and (picture.size, picture.getpixel((0, 0))) for picture in pictures]

    red, blue, white = (((400, 100), colour) for colour in ((255, 0, 0), (0, 0, 255), (255,) * 3))
    assert shown(pictures.blank) == [white, white]
    assert shown(pictures.mirrored) == [red, blue]
    assert shown(pictures.exchanged) == [blue, red]
    assert shown(pictures.deleted) == [None, None]


def test_a_measured_number_of_a_stored_output_is_left_alone(chapter):
    plants_of = chapter(python("x", says("took ≈ 12.3 ms of 40\n")))
    changed = {next(page.texts(cell)) for _, cell in plants_of(kinds.outputs_changed)}
    assert changed == {"koot ≈ 12.3 ms of 40\n", "took ≈ 12.3 ms of 41\n"}


class Item:
    """A test as pytest has it, with or without parameters."""

    def __init__(self, name, **params):
        self.path = Path("tests/pages") / name
        if params:
            self.callspec = SimpleNamespace(params=params)


@pytest.mark.parametrize(
    "item, judges",
    [
        (Item("test_prose.py", path=Path("notebooks/06_formats.ipynb")), True),
        (Item("test_prose.py", path=Path("notebooks/07_other.ipynb")), False),
        (Item("test_prose.py", chapter="06"), True),
        (Item("test_prose.py", n=3), False),
        (Item("test_prose.py"), False),
        (Item("test_structure.py"), True),
    ],
    ids=["its page", "another page", "its number", "a number", "of the check", "front pages"],
)
def test_stored_pages_are_judged_by_what_is_about_their_chapter(item, judges):
    assert Failed("06_formats").is_about_it(item) is judges


class Judging:
    """Judges who see what they are told to see."""

    def __init__(self, copy, static=(), tests=(), page=()):
        self.copy, self.answers, self.asked = copy, {"static": static, "page": page}, []
        self.by_tests, self.clean, self.said = list(tests), {}, {"Cell 3": "ClaimError: ✗ no"}

    def look_at_clean(self, what, chapter):
        return []

    def static(self, chapter):
        self.asked.append("static")
        return list(self.answers["static"])

    def page(self, chapter, to_the_end=True):
        self.asked.append("page")
        return list(self.answers["page"])

    def tests(self, paths):
        self.asked.append("tests")
        return self.by_tests.pop(0) if self.by_tests else []


@pytest.fixture
def bug(results):
    return next(one for one in results if one.plant.what == "busbw halved")


def test_judges_are_asked_in_order_until_one_sees_the_error(bug, copy):
    one, judges = bug, Judging(copy, tests=[[], []], page=["Cell 3"])
    trial.judge(one, judges)
    assert judges.asked == ["tests", "page"] and one.seen_by == ["Cell 3"]
    assert trial._outcome(one) == "seen by Cell 3 (ClaimError: ✗ no)"


def test_a_test_that_fails_without_the_plant_too_catches_nothing(bug, copy):
    one, judges = bug, Judging(copy, tests=[["a.py::a"], ["a.py::a"]])
    trial.judge(one, judges)
    assert judges.asked == ["tests", "tests", "page", "tests"] and one.seen_by == []


def test_in_a_batch_each_plant_is_seen_by_its_own_cell_alone(results, copy):
    some = [one for one in results if "batch" in one.judges and one.plant.chapter == STEMS[0]]
    first = some[0]
    number = [cell["id"] for cell in kinds.read(STEMS[0]).code].index(first.plant.place)
    (group,) = trial.batches(some)
    trial.judge_batch(group, Judging(copy, page=[f"Cell {number}", "Cell 999"]))
    assert first.seen_by == [f"Cell {number}"]
    assert not any(one.seen_by for one in some[1:])


def test_two_plants_in_one_cell_go_to_two_runs(results):
    one = next(one for one in results if "batch" in one.judges)
    twice = [one, trial.Result(one.plant, one.judges)]
    assert [len(group) for group in trial.batches(twice)] == [1, 1]


def test_the_table_counts_what_was_caught_and_names_what_escaped(results):
    seen, escaped, gone = results[:3]
    seen.seen_by, gone.problem = ["a test"], "its text is gone"
    text = plant.as_text([seen, escaped, gone])
    assert "a stored output changed  1/2" in text and "all                      1/2" in text
    assert f"Escaped:\n  a stored output changed · {escaped.plant}" in text
    assert "Not planted:" in text and "its text is gone" in text


def test_fewer_caught_than_wanted_is_a_failure(results, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(plant, "plan", lambda seed: results)
    monkeypatch.setattr(plant, "FILE", tmp_path / "plant.json")
    monkeypatch.setattr(plant, "judge_all", lambda results: {})
    monkeypatch.delenv("CHAPTER", raising=False)
    assert plant.main([]) == 1
    assert "0 were caught, at least 115 should be." in capsys.readouterr().out
    assert plant.main(["--kind", "prose"]) == 0
    assert len(json.loads((tmp_path / "plant.json").read_text())["plants"]) == 21
    monkeypatch.setenv("CHAPTER", "77")
    assert plant.main([]) == 2
