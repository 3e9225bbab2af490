"""The commands of `python -m course_utils`: their help, and what they refuse."""

import pytest

from course_utils.__main__ import main


def test_an_option_that_no_command_knows_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["doctor", "--no-browser"])
    assert "unrecognized arguments: --no-browser" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["record", "normalise"])
def test_an_unknown_chapter_is_a_sentence_with_the_known_ones(command, capsys):
    assert main([command, "99"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("No single chapter is called '99'.") and "02_async_execution" in said


@pytest.mark.parametrize(
    "command, says",
    [
        ("doctor", ""),
        ("record", ""),
        ("normalise", ""),
        ("trace", "export_chrome_trace wrote"),
        ("diagnose", "it isn't changed"),
    ],
)
def test_every_command_has_help(command, says, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "usage: python -m course_utils" in said and says in said
