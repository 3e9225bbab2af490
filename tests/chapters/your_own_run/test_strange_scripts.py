"""The scripts that readers diagnose run with any fault, and each fault is where it is said."""

import re
from itertools import combinations

import pytest

from course_utils.chapters.your_own_run import strange_scripts as strange
from course_utils.lesson.exercises import grade
from training_diagnosis.diagnosis import diagnose
from training_diagnosis.passes import Script

FAULTS = [(name, fault) for name in strange.names() for fault in strange.faults_of(name)]
LOOKED_FOR = {"second-forward": "unused-forward", "kept": "kept-tensors",
              "validation": "validation"}  # fmt: skip


@pytest.mark.parametrize("name", strange.names())
def test_every_pair_of_faults_is_a_whole_script_without_its_marks(name):
    assert len(strange.faults_of(name)) >= 5
    for pair in combinations(strange.faults_of(name), strange.AT_ONCE):
        text, places = strange.with_faults(name, 0, set(pair))
        compile(text, name, "exec")
        assert "#!" not in text and "#=" not in text
        assert set(places) == set(pair) and all(places.values())


@pytest.mark.parametrize("name", strange.names())
def test_a_script_trains_with_all_its_faults_and_without(name, tmp_path):
    for faults in (set(), set(strange.faults_of(name))):
        path = tmp_path / "train.py"
        path.write_text(strange.with_faults(name, 0, faults)[0])
        seen = Script(str(path), [], steps=4).run()
        assert seen.ended == "stopped" and not seen.error


def test_a_handed_out_script_is_graded_and_a_changed_one_refused(tmp_path, capsys):
    path = tmp_path / "reader.py"
    strange.hand_out(str(path), draw=3)
    right = [min(lines) for lines in strange.handed_out(str(path)).values()]
    assert grade("own.faults", lambda: (str(path), right)).passed
    path.write_text(path.read_text() + "# mine\n")
    assert "has been changed" in grade("own.faults", lambda: (str(path), right)).message


def test_a_file_of_the_readers_own_is_not_overwritten(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("print('mine')")
    with pytest.raises(FileExistsError, match="another name"):
        strange.hand_out(str(path))
    assert path.read_text() == "print('mine')"


def test_the_shown_reports_keep_their_findings_to_themselves(capsys):
    strange.show_reports()
    shown = capsys.readouterr().out
    assert len(re.findall("what is wrong", shown)) == 4 and "Change:" not in shown


@pytest.mark.thorough
@pytest.mark.parametrize("name, fault", FAULTS)
def test_diagnose_finds_each_fault_on_one_of_its_lines(name, fault, tmp_path):
    path = tmp_path / "train.py"
    text, places = strange.with_faults(name, 0, {fault})
    path.write_text(text)
    report = diagnose(Script(str(path), [], steps=40), try_changes=False)
    rule = LOOKED_FOR.get(fault, fault)
    (found,) = [one for one in report.findings if one.rule == rule]
    assert not found.line or found.line in places[fault]
