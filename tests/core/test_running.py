"""A long step shows a bar where somebody watches; an import logs nothing."""

import logging
import time

import pytest

from course_utils import bar, quiet_import
from course_utils.core.running import UNATTENDED


def test_a_long_step_shows_a_bar_where_somebody_watches_and_none_elsewhere(monkeypatch, capsys):
    assert list(bar(range(3), "steps")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
    for name in (UNATTENDED, "PYTEST_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for _ in bar(range(3), "training"):
        time.sleep(0.6)  # it appears after a second
    assert "training" in capsys.readouterr().err


def test_an_import_logs_nothing_and_later_warnings_are_logged_again(caplog, tmp_path, monkeypatch):
    (tmp_path / "noisy_module.py").write_text(
        "import logging\nlogging.warning('no kernel for this GPU')\nHERE = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert quiet_import("noisy_module").HERE == 1
    assert not caplog.records
    logging.warning("heard")
    assert caplog.messages == ["heard"]
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        quiet_import("no_such_module")
