"""Faults planted in a plain training script are found on their lines; a healthy one has none."""

import shutil
from pathlib import Path

import pytest

from training_diagnosis.diagnosis import diagnose
from training_diagnosis.passes import DEBUGGING, Script
from training_diagnosis.report import in_words

PLANTED = Path(__file__).with_name("planted.py")
FAULTS = {  # the rule that must find it, and a text of the line it must name
    "slow-loader": ("slow-loader", "return DataLoader("),
    "too-many-workers": ("too-many-workers", "return DataLoader("),
    "workers-restart": ("workers-restart", "return DataLoader("),
    "threads": ("threads", "set_num_threads("),
    "anomaly": ("anomaly", "set_detect_anomaly("),
    "double": ("float64", "torch.float64"),
    "padding": ("padding", "return DataLoader("),
    "unused-gradients": ("unused-gradients", "torch.optim.Adam("),
    "per-sample": ("per-sample", "for one in x"),
    "small-operators": ("small-operators", "loss = loss + 1e-3"),
    "unused-forward": ("unused-forward", "model(x).argmax(1)"),
    "checkpoint": ("checkpoint", "torch.save("),
    "kept-tensors": ("kept-tensors", "outputs.append("),
    "validation-graph": ("validation-graph", "loss_of(model(a), b)"),
    "outside": ("outside", "rows.append("),
    "list-of-arrays": ("list-of-arrays", "torch.tensor(big)"),
    "recompiles": ("recompiles", "torch.compile("),
    "garbage": ("garbage", ""),
    "optimizer": ("optimizer", "optimizer.step()"),
}
HEALTHY = ("none", "unused-gradients-fixed", "padding-fixed")
CHANGES = {  # by the fault that it mends
    "slow-loader": "workers:1", "workers-restart": "persistent", "none": "first-batch",
    "threads": "threads:1", "anomaly": "no-anomaly", "double": "float32", "padding": "trimmed",
    "checkpoint": "no-save", "optimizer": "fused", "garbage": "gc-freeze",
    "unused-gradients": "frozen", "validation-graph": "eval-no-grad",
    "list-of-arrays": "stack-arrays", "recompiles": "dynamic",
}  # fmt: skip
QUICK = ("anomaly", "checkpoint", "kept-tensors")


@pytest.fixture
def script(tmp_path):
    """The planted script outside of this package, whose own lines are never the reader's."""
    return shutil.copy(PLANTED, tmp_path)


def found(script: str, fault: str) -> dict[str, int]:
    report = diagnose(Script(str(script), [fault]), try_changes=False)
    assert "planted.py" in in_words(report)
    return {one.rule: one.line for one in report.findings}


def check(script: str, fault: str) -> None:
    rule, text = FAULTS[fault]
    lines = found(script, fault)
    assert rule in lines
    if text:
        assert text in PLANTED.read_text().splitlines()[lines[rule] - 1]


@pytest.mark.parametrize("fault", QUICK)
def test_a_planted_fault_is_found_on_its_line(script, fault):
    check(script, fault)


@pytest.mark.thorough("packages/training_diagnosis")
@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in QUICK])
def test_every_planted_fault_is_found_on_its_line(script, fault):
    check(script, fault)


@pytest.mark.parametrize("fault", HEALTHY)
def test_a_healthy_script_has_no_finding(script, fault, monkeypatch):
    for name in DEBUGGING:  # another test of this process may have left one
        monkeypatch.delenv(name, raising=False)
    assert any(found(script, fault) == {} for _ in range(3))  # a busy machine may stretch any part


@pytest.mark.thorough("packages/training_diagnosis")
@pytest.mark.parametrize("fault", CHANGES)
def test_a_change_takes_effect_and_the_script_still_runs(script, fault):
    seen = Script(str(script), [fault]).run(change=CHANGES[fault])
    assert seen.ended == "stopped", seen.error
    assert seen.applied
