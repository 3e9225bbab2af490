"""Ranks are gone after a test that started some; stand-ins that tests of ranks share."""

import json
import pickle

import pytest

from course_utils import ranks
from course_utils.ranks.groups import torch_inside


@pytest.fixture(scope="module")
def ended_at_last():
    """For tests that may follow each other on the same ranks: starting them anew takes seconds."""
    yield
    ranks.stop()


@pytest.fixture
def ended():
    yield
    ranks.stop()


@pytest.fixture
def recorders(monkeypatch):
    """Stand-ins for torch's two flight recorders, by name; they say what the lists hold."""
    from torch._C import _distributed_c10d as c10d

    held = {name: [] for name in torch_inside.RECORDERS}
    for name, entries in held.items():
        form = json if name.endswith("_json") else pickle
        told = lambda entries=entries, form=form, **_: form.dumps({"entries": entries})  # noqa: E731
        monkeypatch.setattr(c10d, name, told, raising=False)
    return held
