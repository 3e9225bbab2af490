"""A chapter's start."""

import pytest


def test_a_chapter_that_does_not_exist_cannot_start():
    from course_utils import start

    with pytest.raises(LookupError, match="No single chapter is called '77_none'"):
        start("77_none")
