"""A recording is offered: the command's verdict, what lies beside, and three lines that say how."""

from course_utils.__main__ import main
from course_utils.core import files
from course_utils.judging import offering
from tests.support.recordings import CHAPTER, forge, put


def test_no_file_lies_among_the_recordings_that_is_none():
    assert offering.strays(files.RECORDED) == []


def test_the_command_prints_objections_and_fails(keep, capsys):
    path = keep()
    assert main(["judge"]) == 0 and capsys.readouterr().out == "1 file, no objection\n"
    forge(path, put(-1, "rows", 0, "run_seconds"))
    (path.parent / "notes.txt").write_text("mine")
    assert main(["judge", str(files.RECORDED)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"✗ h200-x1/{CHAPTER}/speed.json: row 1: run_seconds -1 is negative")
    assert "notes.txt: no recording, and none names it" in said
    assert main(["judge", "nowhere"]) == 1 and "no nowhere to judge" in capsys.readouterr().err


def test_three_lines_say_how_to_offer_a_recording():
    lines = offering.how_to_offer(files.RECORDED / "h200-x1").splitlines()
    assert len(lines) == 3
    assert "data/recorded/h200-x1" in lines[0] and "stay here until you offer them" in lines[0]
    assert lines[1].endswith("python -m course_utils judge data/recorded/h200-x1")
    assert "pull request with data/recorded/h200-x1/ and nothing else" in lines[2]
