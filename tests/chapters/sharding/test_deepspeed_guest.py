"""DeepSpeed is a guest: without it there are no rows, and no rank is asked."""

import importlib.util

import pytest

from course_utils import ranks
from course_utils.chapters.sharding.deepspeed_guest import deepspeed_rows


@pytest.mark.skipif(importlib.util.find_spec("deepspeed") is not None, reason="it is installed")
def test_without_deepspeed_there_are_no_rows_and_no_ranks(monkeypatch):
    monkeypatch.setattr(ranks, "run", lambda *_: pytest.fail("a rank was asked"))
    assert deepspeed_rows() == []
