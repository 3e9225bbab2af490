"""Settings are read as torch reads them, and a wrong one is refused."""

import pytest

from snapshots_and_traces.allocator.rules import MiB
from snapshots_and_traces.allocator.settings import Settings

pytestmark = pytest.mark.without_torch


def test_settings_are_read_as_torch_reads_them():
    # The text and what it means are those of torch's own test of its parser.
    found = Settings.parse(
        "max_split_size_mb:40,max_non_split_rounding_mb:30,"
        "roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1],expandable_segments:True"
    )
    assert found.max_split_size == 40 * MiB and found.max_non_split_rounding == 30 * MiB
    assert found.expandable_segments
    assert found.roundup_power2_divisions == (8,) * 7 + (2, 4, 2, 4) + (1,) * 5
    assert Settings.of_snapshot(found.recorded()) == found
    assert Settings.of_snapshot({}) == Settings() == Settings.parse("")


@pytest.mark.parametrize(
    "text, says",
    [
        ("max_split_size_mb:10", "at least 21"),
        ("expandable_segments:yes", "True or False"),
        ("speed:fast", "these are: max_split_size_mb"),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(text, says):
    with pytest.raises(ValueError, match=says):
        Settings.parse(text)
