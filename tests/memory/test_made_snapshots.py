"""Made snapshots hold what was counted, and are written whole or not at all."""

import pytest
import torch

from course_utils.memory import counting
from course_utils.memory.made_snapshots import loaded, made, write
from snapshots_and_traces.snapshots.lives import history


def test_what_was_made_holds_what_was_counted():
    def run():
        model = torch.nn.Linear(300, 400)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            model(torch.ones(50, 300)).sum().backward()
            optimizer.step()
        return model, optimizer

    with counting.count() as counted:
        alive = run()
    del alive
    found = history(loaded(made(run)))
    assert found.live.max() == counted.peak.total


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pickle"
    write({"segments": [], "device_traces": [[]]}, path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="pickle"):
        write({"segments": [lambda: None]}, path)
    assert path.read_bytes() == before
