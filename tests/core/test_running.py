"""A long step shows a bar where somebody watches."""

import time

from course_utils import bar
from course_utils.core.running import UNATTENDED


def test_a_long_step_shows_a_bar_where_somebody_watches_and_none_elsewhere(monkeypatch, capsys):
    assert list(bar(range(3), "steps")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
    for name in (UNATTENDED, "PYTEST_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for _ in bar(range(3), "training"):
        time.sleep(0.6)  # it appears after a second
    assert "training" in capsys.readouterr().err
