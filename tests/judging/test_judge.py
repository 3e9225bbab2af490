"""Recorded files are judged: those of the course, good ones, and some with a planted error."""

import hashlib
import json
import pickle
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from course_utils.__main__ import main
from course_utils.core import files
from course_utils.judging.judge import how_to_offer, judge, verdict
from tests.support.recordings import CHAPTER, GOOD, forge, put


def test_nothing_speaks_against_the_recordings_of_the_course():
    lines, objected = verdict(files.RECORDED)
    assert not objected, "\n".join(lines)


@pytest.mark.parametrize("experiment", GOOD)
def test_a_file_as_make_record_keeps_it_is_good(keep, experiment):
    assert judge(keep(experiment, GOOD[experiment])) == []


TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")
FORGED = {
    "no commit": (put(None, "commit"), "commit: None is not of type 'string'"),
    "a date without a zone": (put("2026-11-21T10:00:00", "date"), "date: "),
    "a future date": (put(TOMORROW, "date"), "in the future"),
    "an unknown column": (put(1, "rows", 0, "colour"), "column colour isn't declared"),
    "a missing column": (put([{"what": "a"}], "rows"), "lacks what every recording has"),
    "another version": (put(1, "version"), "version 1 of the experiment"),
    "an unknown experiment": (put("sped", "experiment"), "has no experiment 'sped'"),
    "negative seconds": (
        put(-1e-3, "rows", 0, "run_seconds"),
        "row 1: run_seconds: -0.001 is less",
    ),
    "a step of a nanosecond": (put(1e-9, "rows", 0, "run_seconds"), "run_seconds: 1e-09 is less"),
    "no number": (put(float("nan"), "rows", 0, "run_seconds"), "can't be read as JSON"),
    "q1 above the median": (put(0.0031, "rows", 0, "run_seconds_q1"), "isn't between its quart"),
    "no repetition": (put(0, "rows", 0, "run_seconds_n"), "run_seconds_n: 0 is less than"),
    "a busy machine": (put(0.0083, "rows", 0, "run_seconds_q3"), "was the machine busy?"),
    "another machine": (put("NVIDIA A100-SXM4-80GB", "machine", "gpus", 0, "name"), "belongs into"),
    "another chapter": (put("01_your_machine", "chapter"), "belongs into h200-x1/01_your_machine/"),
    "a path in a message": (put(["a: (in /home/ann/x.py)"], "left_out"), "'/home/ann/x.py'"),
    "a path of Windows": (put("C:\\Users\\me", "rows", 0, "what"), "holds a path of a machine"),
    "a user at a host": (put("me@node7.edu", "machine", "processor"), "holds an address"),
    "a host's address": (put(["no route to 10.1.2.3"], "left_out"), "'10.1.2.3'"),
}


@pytest.mark.parametrize("change, says", FORGED.values(), ids=FORGED)
def test_a_planted_error_is_objected_to(keep, change, says):
    found = judge(forge(keep(), change))
    assert any(says in objection for objection in found), found
    assert found[0].startswith(f"h200-x1/{CHAPTER}/speed.json: ")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\x00", '{"rows": [7]}'])
def test_what_is_no_recording_or_was_edited_is_an_objection_and_no_error(keep, text):
    path = keep()
    whole = path.read_text()
    path.write_text(text)
    assert judge(path)
    path.write_text(whole.replace("0.003", "0.0031"))
    assert any("its checksum differs" in objection for objection in judge(path))


def test_every_experiment_declares_its_units_by_the_rules():
    """Seconds, bytes and rates per second: the judge knows what those columns can be."""
    others = r"(^|_)(time|times|secs?|[mnuµ]s|minutes|hours|[tg]?flops?ps|[kmg]bps)$|(?<!_per)_s$"
    declared = json.loads((files.ROOT / "data/experiments.json").read_text())
    columns = {c for chapter in declared.values() for e in chapter.values() for c in e["columns"]}
    assert [column for column in columns if re.search(others, column)] == []


def test_a_snapshot_is_beside_its_recording_unchanged_and_opens_safely(keep):
    beside = files.RECORDED / "h200-x1" / CHAPTER / "snapshot.pickle"
    beside.parent.mkdir(parents=True)
    named = str(beside.relative_to(files.RECORDED))

    def said_of(content=None, name=named, digest=None):
        data = pickle.dumps(content or {"segments": [], "device_traces": []}, 4)
        beside.write_bytes(data)
        row = {"file": name, "file_sha256": digest or hashlib.sha256(data).hexdigest()}
        lines, _ = verdict(keep("snapshot", [row]).parents[2])
        return lines[0]

    assert said_of() == "1 file, no objection"
    assert "isn't what was recorded" in said_of(digest="0" * 64)
    assert "holds a path" in said_of({"filename": "/home/me/train.py"})
    assert "can't be opened" in said_of(Path)
    assert "isn't a file beside this one" in said_of(name="../experiments.json")


def test_the_command_prints_objections_and_fails(keep, capsys):
    path = keep()
    assert main(["judge"]) == 0 and capsys.readouterr().out == "1 file, no objection\n"
    forge(path, put(-1, "rows", 0, "run_seconds"))
    (path.parent / "notes.txt").write_text("mine")
    assert main(["judge", str(files.RECORDED)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"✗ h200-x1/{CHAPTER}/speed.json: row 1: run_seconds: -1 is less")
    assert "notes.txt: no recording, and none names it" in said
    assert main(["judge", "nowhere"]) == 1 and "no nowhere to judge" in capsys.readouterr().err
    how = how_to_offer(files.ROOT / "data" / "recorded" / "h200-x1")
    assert "python -m course_utils judge data/recorded/h200-x1\n" in how


MOVED = {"n_bytes": 2**31}
AS_MEASURED = GOOD["roofline_points"][0]
TOO_MUCH = [
    ("rates", {"format": "FP16", "tflop_per_s": 1100}, "is above the 1009 of a H200"),
    ("rates", {"format": "FP8 E4M3", "tflop_per_s": 2100}, "dense peak in FP8 E4M3"),
    ("rates", {"format": "INT4", "tflop_per_s": 2100}, "the data sheet's highest"),
    ("flops", {"format": "TF32", "n": 4096, "flop_per_s": 6e14}, "dense peak in TF32"),
    ("copies", {"way": "pinned", "gb_per_s": 65.0}, "PCIe 5 x16, its link to the host"),
    ("host_device_copies", MOVED | {"way": "device to host", "gb_per_s": 70.0}, "to the host"),
    ("host_device_copies", MOVED | {"way": "within a device", "gb_per_s": 4800.0}, "its memory"),
    ("host_device_copies", MOVED | {"way": "device to device", "gb_per_s": 500.0}, "NVLink 4, its"),
    ("stream", {"operation": "triad (GPU)", "gb_per_s": 9000.0}, "what its memory delivers"),
    ("roofline_points", AS_MEASURED | {"seconds": 1e-4}, "n_bytes/seconds 1.074e+13 is above"),
    ("roofline_points", AS_MEASURED | {"seconds": 0.0}, "seconds: 0.0 is less"),
    ("nccl_allreduce", {"gpus": 2, "n_bytes": 2**30, "seconds": 1e-3}, "its link to other GPUs"),
    ("nccl_allreduce", {"gpus": 2, "n_bytes": 2**30, "seconds": 1e-9}, "seconds: 1e-09 is less"),
    ("tokens", {"way": "eager", "tokens_per_s": 1e12}, "tokens_per_s: 1000000000000.0 is greater"),
    ("peaks", {"model": "s", "peak_bytes": 2 * 10**11, "outside_mib": 1}, "more than the GPU's"),
    ("peaks", {"model": "s", "peak_bytes": 1, "outside_mib": 2**18}, "outside_mib 262,144"),
]


@pytest.mark.parametrize("experiment, row, says", TOO_MUCH)
def test_what_the_data_sheet_or_the_memory_forbids_is_objected_to(keep, experiment, row, says):
    (objection, *_) = judge(keep(experiment, [row]))
    assert says in objection and "row 1: " in objection


BRIDGED = MOVED | {"way": "device to device", "gb_per_s": 250.0}


@pytest.mark.parametrize(
    "gpu, experiment, row, objections",
    [
        ("NVIDIA A100 80GB PCIe", "host_device_copies", BRIDGED, 0),
        ("NVIDIA GeForce RTX 3090", "rates", {"format": "BF16", "tflop_per_s": 78.0}, 0),
        ("NVIDIA GeForce RTX 3090", "rates", {"format": "BF16", "tflop_per_s": 142.0}, 1),
        ("NVIDIA Z900", "rates", {"format": "BF16", "tflop_per_s": 1e4}, 0),
        (None, "rates", {"format": "FP32", "tflop_per_s": 1e4}, 0),
    ],
    ids=["a bridge between PCIe boards", "a GeForce's boost", "too much of it", "unknown", "a CPU"],
)
def test_what_a_data_sheet_leaves_open_is_no_objection(
    keep, fake_machine, gpu, experiment, row, objections
):
    fake_machine(gpus=2 if gpu else 0, gpu=gpu or "")
    path = keep(experiment, [row])
    assert len(judge(path)) == objections
    lines, _ = verdict(path)
    assert ("'NVIDIA Z900' aren't in data/gpus.toml" in lines[0]) is (gpu == "NVIDIA Z900")
