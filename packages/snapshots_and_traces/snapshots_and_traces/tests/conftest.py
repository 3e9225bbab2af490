"""An allocator's history, as tests of snapshots and of views share it."""

import pytest

from snapshots_and_traces.tests.support.snapshots import opened, some_work


@pytest.fixture(params=[False, True], ids=["segments", "expandable"])
def worked(request, tmp_path):
    """A toy allocator after 400 actions, and the history of its last 500 events."""
    toy = some_work(request.param)
    toy.states.append(toy.held())
    return toy, opened(toy, tmp_path, last=500)
