"""Ranks of torchrun are diagnosed together, and end together."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough("packages/training_diagnosis")
TRAINS = """
    import sys, time, torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    layers = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(3)])
    model = torch.nn.parallel.DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1000):
        if sys.argv[1] == "fails" and step == 8 and dist.get_rank() == 1:
            raise ValueError("rank 1 has no more data")
        for micro in range(3):
            time.sleep(0.05 * dist.get_rank())
            model(torch.ones(4, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def torchrun(folder: Path, what: str, *options: str) -> subprocess.CompletedProcess:
    script = folder / "train.py"
    script.write_text(textwrap.dedent(TRAINS))
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*run, "-m", "training_diagnosis", "--steps", "12", *options, str(script), what]
    environment = {**os.environ, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)


def test_one_report_names_the_slow_rank_and_the_needless_messages(tmp_path):
    told = tmp_path / "report.json"
    done = torchrun(tmp_path, "slow", "--json", str(told))
    assert done.returncode == 0, done.stderr
    report = json.loads(told.read_text())
    rules = {one["rule"]: one for one in report["findings"]}
    assert "rank 1 works" in rules["slow-rank"]["seen"]
    line = (tmp_path / "train.py").read_text().splitlines()[rules["slow-rank"]["line"] - 1]
    assert "everything else" in rules["slow-rank"]["seen"] and "time.sleep" in line
    tried = [gain["change"] for gain in report["nothing_gained"]]
    assert "gradient-sync" in rules or "no-sync:3" in tried
    waits, works = (one["communicating"] for one in report["ranks"])
    assert waits > 0.1 and works < waits  # rank 0 waits for the sleep of rank 1
    assert done.stdout.count("train.py:") >= 1 and "2 ranks: steps of" in done.stdout


def test_a_rank_that_fails_ends_all_with_its_own_error(tmp_path):
    done = torchrun(tmp_path, "fails")
    assert done.returncode != 0
    assert "ValueError: rank 1 has no more data" in done.stderr
    assert "Rank 1 failed first" in done.stderr
    assert not list(tmp_path.glob("diagnose-*"))
