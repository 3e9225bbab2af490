"""Steps are found in the marks of any loop: optimizers, accumulation, evaluation between."""

import pytest

from training_diagnosis.diagnosis import diagnose
from training_diagnosis.records import Look, Mark, Rank, Sample, Seen
from training_diagnosis.rules import RULES, Evidence
from training_diagnosis.steps import find

KINDS = {"N": "next", "B": "backward", "S": "step", "T": "step", "F": "forward", "K": "save",
         "E": "forward", "V": "next", "Z": "forward", "P": "forward", "L": "forward",
         "X": ""}  # fmt: skip
KEYS = {"S": "Adam#0", "T": "Adam#1", "N": "train", "V": "held out", "L": "F"}


def seen(marks: str) -> Seen:
    """Each letter takes 8 ms of 10: V is another loader's batch; without gradients, E and Z are
    forwards of other models, L of the trained one; P is in evaluation mode."""
    flags = {"F": 3, "E": 2, "Z": 2, "P": 1}
    made = [
        Mark(
            KINDS[c], i / 100, i / 100 + 0.008, KEYS.get(c, c), "train.py", ord(c), flags.get(c, 0)
        )
        for i, c in enumerate(marks)
    ]
    return Seen(marks=made)


@pytest.mark.parametrize(
    "step, by",
    [
        ("NFBS", "optimizer"),
        ("FBS", "optimizer"),
        ("NFBFBS", "optimizer"),  # accumulation
        ("NFBFBSFBT", "optimizer"),  # two optimizers, as a GAN's
        ("NFBSNFBSNFBST", "optimizer"),  # one of them every third time
        ("NFB", "backward"),
        ("N", "batch"),
    ],
)
def test_the_period_of_the_marks_is_the_step(step, by):
    found = find(seen(step * 10))
    assert found is not None and found.by == by
    assert found.typical() == pytest.approx(len(step) / 100)


def test_too_few_steps_are_none_even_with_many_batches():
    assert find(seen("NFBS" + "V" * 100)) is None


def test_validation_between_steps_counts_apart_and_in_the_mean():
    found = find(seen(("NFBS" * 4 + "VEVE" + "NFBS") * 6))
    assert found is not None
    assert found.typical() == pytest.approx((5 * 4 + 4) / 500, rel=0.05)
    validated = [step for step in found.steps if "validation" in step.kinds]
    assert validated[0].parts["validation"] == pytest.approx(0.038)
    assert validated[0].parts["waiting for data"] == pytest.approx(0.008)


@pytest.mark.parametrize(
    "step, seconds",
    [
        ("NZFBS", 0),  # a frozen encoder, or a teacher, before the trained model
        ("NPBS", 0),  # fine-tuned in evaluation mode
        ("ZFBS", 0),  # without a loader
        ("FBSL", 0.008),  # the trained model without gradients, after each step
        ("NZFBSVZ", 0.018),  # the encoder on a loader of its own
    ],
)
def test_a_forward_that_is_trained_on_is_no_validation(step, seconds):
    found = find(seen(step * 10))
    assert found is not None
    for one in found.steps:
        assert one.parts["validation"] == pytest.approx(seconds)


def test_every_second_of_a_step_is_in_one_part():
    found = find(seen("NFBSK" * 10))
    assert found is not None
    for step in found.steps:
        assert sum(step.parts.values()) == pytest.approx(step.seconds)


@pytest.mark.parametrize(
    "threads, ranks, rule",
    [(8, 0, ""), (9, 0, "threads"), (8, 2, "threads"), (4, 2, ""), (1, 2, "few-threads"),
     (1, 0, ""), (1, 8, "")],
)  # fmt: skip
def test_threads_are_held_against_the_cores_of_a_rank(threads, ranks, rule):
    record = seen("NFBS" * 10)
    record.facts = {"threads": threads, "cores": 8}
    record.ranks = [Rank(i) for i in range(ranks)]
    evidence = Evidence(record, find(record), Look())
    hits = {one.name for one in RULES if one.look(evidence)}
    assert hits & {"threads", "few-threads"} == ({rule} if rule else set())


@pytest.mark.parametrize(
    "line, backward, found",
    [
        ("loss = F.cross_entropy(x, y)", "loss.backward()", 3),
        ("loss /= 4", "scaler.scale(loss).backward()", 3),
        ("right = (x == y).sum()", "loss.backward()", 2),
        ("loss = loss.item()", "loss.backward()", 2),
    ],
)
def test_the_line_that_computes_the_loss_is_never_to_be_moved(tmp_path, line, backward, found):
    path = tmp_path / "train.py"
    path.write_text(f"{backward}\n{line}\nprint(1)\n")
    record, file = seen("FBSXXX" * 10), str(path)
    record.marks = [mark for mark in record.marks if mark.key != "X"]  # outside of torch's parts
    for mark in record.marks:
        mark.file, mark.line = file, 1
    steps = find(record)
    assert steps is not None
    look = Look(samples=[Sample("outside", file, 2, 60), Sample("outside", file, 3, 40)])
    (rule,) = [one for one in RULES if one.name == "outside"]
    hit = rule.look(Evidence(record, steps, look))
    assert hit is not None and hit.line == (file, found)


class Noisy:
    """Runs that take longer each time; a change to the checkpoints takes effect."""

    path, arguments, factor = "train.py", [], 1.0

    def run(self, change: str = "", look: bool = False) -> Seen:
        self.factor *= 1.5
        record = seen(("NFBSK" * 4 + "VEVE" * 3 + "NFBSK") * 6)
        for mark in record.marks:
            mark.begin, mark.end = mark.begin * self.factor, mark.end * self.factor
        record.applied = int(change == "no-save")
        return record


def test_a_bound_seen_in_one_run_is_said_though_runs_differ():
    report = diagnose(Noisy())
    assert {"validation", "checkpoint"} <= {one.rule for one in report.findings}
    assert "gains not decided" in report.verdict


def test_one_slow_step_moves_the_typical_one_little():
    record = seen("NFBS" * 12)
    for mark in record.marks[30:]:
        mark.begin, mark.end = mark.begin + 5, mark.end + 5
    found = find(record)
    assert found is not None and found.typical() == pytest.approx(0.04)
