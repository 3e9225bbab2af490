"""Ranks are gone after a test that started some."""

import pytest

from course_utils import ranks


@pytest.fixture(scope="module")
def ended_at_last():
    """For tests that may follow each other on the same ranks: starting them anew takes seconds."""
    yield
    ranks.stop()


@pytest.fixture
def ended():
    yield
    ranks.stop()
