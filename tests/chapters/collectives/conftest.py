"""Four ranks, as this chapter's tests share them."""

import pytest

from course_utils import ranks


@pytest.fixture(scope="module")
def four_ranks():
    ranks.start(4, device="cpu", limit_seconds=120)
    yield
    ranks.stop()
