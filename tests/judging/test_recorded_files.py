"""Recorded files are judged: those of the course, a good one, and one with every planted error."""

import hashlib
import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from course_utils import record
from course_utils.__main__ import main
from course_utils.core import evidence, files
from course_utils.core import recording as keeping
from course_utils.core.measurement import Measurement
from course_utils.judging import offering
from course_utils.judging.judge import judge
from course_utils.lesson import drawn_map

KEPT = [pytest.param(p, id="-".join(p.parts[-3:])) for p in offering.recordings(files.RECORDED)]
NONE = pytest.param(None, id="none: nothing is recorded yet")
FIVE = Measurement((1.0, 2.0, 3.0, 4.0, 5.0), 6, 0.0, "host").per(1000)
CHAPTER = "02_async_execution"
DECLARED = {
    "speed": ["what", "run_seconds"],
    "rates": ["format", "tflop_per_s"],
    "flops": ["format", "n", "flop_per_s"],
    "copies": ["way", "gb_per_s"],
    "host_device_copies": ["way", "gb_per_s", "n_bytes"],
    "stream": ["operation", "gb_per_s"],
    "roofline_points": ["operator", "format", "flops", "n_bytes", "seconds"],
    "nccl_allreduce": ["gpus", "n_bytes", "seconds"],
    "peaks": ["model", "peak_bytes", "outside_mib"],
    "snapshot": ["file", "file_sha256"],
    "old_units": ["what", "run_ms"],
}


@pytest.mark.parametrize("path", KEPT or [NONE])
def test_nothing_speaks_against_a_file_of_the_course(path):
    assert path is None or judge(path) == []


def test_no_file_lies_among_the_recordings_that_is_none():
    assert offering.strays(files.RECORDED) == []


@pytest.fixture
def keep(recording, fake_machine, monkeypatch):
    """Records rows of an experiment as `make record` does on an H200; gives the file."""
    fake_machine(gpus=1)
    monkeypatch.setattr(keeping, "code_of", lambda *_: "c0dec0dec0de")
    monkeypatch.setattr(keeping, "_commit", lambda: "0123456789" * 4)
    declared = {name: {"version": 2, "columns": columns} for name, columns in DECLARED.items()}
    evidence.experiments()[CHAPTER].update(declared)

    def kept(experiment="speed", rows=({"what": "a", "run_seconds": FIVE},)):
        record(experiment, rows)
        (path,) = recording.glob(f"*/*/{experiment}.json")
        return path

    return kept


def forge(path, change):
    """The file with another content and the right checksum."""
    content = json.loads(path.read_text())
    change(content)
    content.pop("sha256", None)
    content["sha256"] = evidence.digest(content)
    path.write_text(json.dumps(content))
    return path


GOOD = {
    "speed": [{"what": "a", "run_seconds": FIVE}],
    "rates": [
        {"format": "BF16", "tflop_per_s": 760.0},
        {"format": "FP8 E4M3", "tflop_per_s": 1400},
    ],
    "flops": [{"format": "FP32", "n": 4096, "flop_per_s": 52e12}],
    "copies": [{"way": "pinned", "gb_per_s": 55.0}],
    "host_device_copies": [
        {"way": "host to host", "gb_per_s": 90.0, "n_bytes": 2**27},
        {"way": "within a device", "gb_per_s": 2000.0, "n_bytes": 2**31},
        {"way": "device to device", "gb_per_s": 400.0, "n_bytes": 2**31},
    ],
    "stream": [{"operation": "copy, a = b (GPU)", "gb_per_s": 4300.0}],
    "roofline_points": [
        {"operator": "GELU", "format": "BF16", "flops": 10**9, "n_bytes": 2**30, "seconds": 3e-4},
        {"operator": "in halves", "format": "BF16", "flops": 1, "n_bytes": 2**38, "seconds": 1},
        {"operator": "in L2", "format": "BF16", "flops": 1, "n_bytes": 2**20, "seconds": 1e-7},
    ],
    "nccl_allreduce": [{"gpus": 2, "n_bytes": 2**30, "seconds": 0.004}],
    "peaks": [{"model": "small", "peak_bytes": 10**10, "outside_mib": 500}],
    "claims": [{"id": "as-fast", "claim": "as fast as m/s", "needs": None, "held": False}],
}


@pytest.mark.parametrize("experiment", GOOD)
def test_a_file_as_make_record_keeps_it_is_good(keep, experiment):
    assert judge(keep(experiment, GOOD[experiment])) == []


def drop(key, *inside):
    def change(content):
        for name in inside:
            content = content[name]
        del content[key]

    return change


def put(value, *keys):
    def change(content):
        for name in keys[:-1]:
            content = content[name]
        content[keys[-1]] = value

    return change


DAY = timedelta(days=1)
TOMORROW = (datetime.now(UTC) + DAY).isoformat(timespec="seconds")
FORGED = {
    "a missing key": (drop("commit"), "'commit' is a required property"),
    "another key": (put("me", "author"), "'author' was unexpected"),
    "a key of the machine": (drop("driver", "machine"), "machine: 'driver' is a required"),
    "a version": (drop("torch", "versions"), "versions: 'torch' is a required property"),
    "a commit that is none": (put("main", "commit"), "commit: 'main' does not match"),
    "no commit": (put(None, "commit"), "commit: None is not of type 'string'"),
    "a digest too short": (put("c0de", "code"), "code: 'c0de' does not match"),
    "a date without a zone": (put("2026-11-21T10:00:00", "date"), "date: "),
    "the 31st of June": (put("2026-06-31T10:00:00Z", "date"), "is no date"),
    "a future date": (put(TOMORROW, "date"), "in the future"),
    "a date before the course": (put("2025-11-21T10:00:00Z", "date"), "before the course"),
    "rows within rows": (put([1], "rows", 0, "what"), "row 1: what: [1] is not of type"),
    "an unknown column": (put(1, "rows", 0, "colour"), "row 1: column colour isn't declared"),
    "a missing column": (drop("what", "rows", 0), "row 1: column what is missing"),
    "another version": (put(1, "version"), "version 1 of an experiment that is at 2"),
    "an unknown experiment": (put("sped", "experiment"), "has no experiment 'sped'"),
    "an unknown chapter": (put("99_none", "chapter"), "No chapter '99_none' records"),
    "negative seconds": (put(-1e-3, "rows", 0, "run_seconds"), "row 1: run_seconds -0.001 is neg"),
    "a negative quartile": (put(-1.0, "rows", 0, "run_seconds_q1"), "run_seconds_q1 -1 is neg"),
    "no number": (put(float("nan"), "rows", 0, "run_seconds"), "run_seconds is nan"),
    "q1 above the median": (put(0.0031, "rows", 0, "run_seconds_q1"), "isn't between its quart"),
    "q3 below the median": (put(0.0029, "rows", 0, "run_seconds_q3"), "isn't between its quart"),
    "no repetition": (put(0, "rows", 0, "run_seconds_n"), "the median of 0 repetitions"),
    "a lost quartile": (drop("run_seconds_q3", "rows", 0), "run_seconds_n some are missing"),
    "a busy machine": (put(0.0083, "rows", 0, "run_seconds_q3"), "was the machine busy?"),
    "another machine": (put("NVIDIA A100-SXM4-80GB", "machine", "gpus", 0, "name"), "belongs into"),
    "a path in a row": (put("/home/me/x.py", "rows", 0, "what"), "holds a path of a machine"),
    "a path in a message": (put(["a: (in /home/ann/x.py)"], "left_out"), "'/home/ann/x.py'"),
    "a path of Windows": (put("C:\\Users\\me", "rows", 0, "what"), "holds a path of a machine"),
    "a user at a host": (put("me@node7.edu", "machine", "processor"), "holds an address"),
    "a host's address": (put(["no route to 10.1.2.3"], "left_out"), "'10.1.2.3'"),
}


@pytest.mark.parametrize("change, says", FORGED.values(), ids=FORGED)
def test_a_planted_error_is_objected_to_with_file_and_row(keep, change, says):
    (objection, *_) = found = judge(forge(keep(), change))
    assert any(says in objection for objection in found), found
    assert objection.startswith(f"h200-x1/{CHAPTER}/speed.json: ")


TOO_MUCH = {
    "rates": ({"format": "FP16", "tflop_per_s": 1100}, "is above the 1009 of a H200"),
    "rates in FP8": ({"format": "FP8 E4M3", "tflop_per_s": 2100}, "dense peak in FP8 E4M3"),
    "rates with sparsity": ({"format": "BF16", "tflop_per_s": 1979}, "dense peak in BF16"),
    "rates in INT4": ({"format": "INT4", "tflop_per_s": 2100}, "the data sheet's highest"),
    "flops": ({"format": "TF32", "n": 4096, "flop_per_s": 6e14}, "dense peak in TF32"),
    "copies": ({"way": "pinned", "gb_per_s": 65.0}, "PCIe 5 x16, its link to the host"),
    "host_device_copies": (
        {"way": "device to host", "gb_per_s": 70.0, "n_bytes": 2**27},
        "its link to the host",
    ),
    "host_device_copies within": (
        {"way": "within a device", "gb_per_s": 4800.0, "n_bytes": 2**31},
        "what its memory delivers",
    ),
    "host_device_copies between": (
        {"way": "device to device", "gb_per_s": 500.0, "n_bytes": 2**31},
        "NVLink 4, its link to other GPUs",
    ),
    "stream": ({"operation": "triad (GPU)", "gb_per_s": 9000.0}, "what its memory delivers"),
    "roofline_points": (
        GOOD["roofline_points"][0] | {"seconds": 1e-4},
        "n_bytes/seconds 1.074e+13 is above",
    ),
    "roofline_points, flat": (
        {"operator": "p", "format": "BF16", "flops": 2**40, "n_bytes": 9, "seconds": 0.001},
        "flops/seconds 1.1e+15 is above",
    ),
    "roofline_points, at once": (
        GOOD["roofline_points"][0] | {"seconds": 0.0},
        "flops/seconds inf is above",
    ),
    "nccl_allreduce": ({"gpus": 2, "n_bytes": 2**30, "seconds": 1e-3}, "its link to other GPUs"),
    "peaks": ({"model": "s", "peak_bytes": 2 * 10**11, "outside_mib": 1}, "more than the GPU's"),
    "peaks in MiB": ({"model": "s", "peak_bytes": 1, "outside_mib": 2**18}, "outside_mib 262,144"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_cannot_be_is_objected_to(keep, name):
    row, says = TOO_MUCH[name]
    (objection, *_) = judge(keep(name.split()[0].strip(","), [row]))
    assert says in objection and "row 1: " in objection


def test_an_edited_row_shows_in_the_checksum(keep):
    path = keep()
    path.write_text(path.read_text().replace("0.003", "0.0031"))
    assert any("its checksum differs" in objection for objection in judge(path))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\x00", '{"rows": [7]}'])
def test_what_is_no_recording_is_one_objection_or_more_and_no_error(keep, text):
    path = keep()
    path.write_text(text)
    assert judge(path)


def test_a_column_that_every_row_lacks_is_one_objection(keep):
    path = keep("speed", [{"what": name, "run_seconds": 1.0} for name in "abc"])
    forge(path, lambda content: [row.pop("what") for row in content["rows"]])
    (objection,) = judge(path)
    assert objection.endswith("row 1 and 2 more: column what is missing")


def test_a_time_in_a_unit_of_its_own_is_objected_to(keep):
    (objection,) = judge(keep("old_units", [{"what": "a", "run_ms": 3.0}]))
    assert "column run_ms: a time is in _seconds" in objection


def test_every_experiment_declares_its_units_by_the_rules():
    from course_utils.judging.judge import OTHER_UNITS

    declared = json.loads((files.ROOT / "data/experiments.json").read_text())
    columns = {c for chapter in declared.values() for e in chapter.values() for c in e["columns"]}
    assert [column for column in columns if OTHER_UNITS.search(column)] == []


@pytest.mark.parametrize("folder", ["h100-x1/02_async_execution", "h200-x1/01_your_machine"])
def test_a_file_in_the_folder_of_another_machine_or_chapter_is_objected_to(keep, folder):
    path, recorded = keep(), files.RECORDED
    other = recorded / folder / path.name
    other.parent.mkdir(parents=True, exist_ok=True)
    path.rename(other)
    (objection,) = judge(other)
    assert f"belongs into h200-x1/{CHAPTER}/speed.json" in objection


def test_boards_with_pcie_may_have_a_bridge_to_their_neighbour(keep, fake_machine):
    fake_machine(gpus=2, gpu="NVIDIA A100 80GB PCIe")
    row = {"way": "device to device", "gb_per_s": 250.0, "n_bytes": 2**31}
    assert judge(keep("host_device_copies", [row])) == []


def test_geforce_boards_may_boost_past_their_data_sheet(keep, fake_machine):
    fake_machine(gpus=1, gpu="NVIDIA GeForce RTX 3090")
    assert judge(keep("rates", [{"format": "BF16", "tflop_per_s": 78.0}])) == []
    assert judge(keep("rates", [{"format": "BF16", "tflop_per_s": 142.0}]))


def test_a_gpu_without_a_known_data_sheet_is_no_objection_and_is_said(keep, fake_machine):
    fake_machine(gpus=1, gpu="NVIDIA Z900")
    path = keep("rates", [{"format": "BF16", "tflop_per_s": 1e6}])
    assert judge(path) == []
    lines, objected = offering.verdict(path)
    assert not objected and "'NVIDIA Z900' aren't in data/gpus.toml" in lines[0]
    assert lines[1:] == ["1 file, no objection"]


def test_a_processor_has_no_data_sheet_to_be_judged_by(keep, fake_machine):
    fake_machine(gpus=0)
    assert judge(keep("rates", [{"format": "FP32", "tflop_per_s": 1e6}])) == []


@pytest.fixture
def snapshot(keep):
    """A recording that names a snapshot beside it, and the path of that."""

    def kept(content=b"", digest=None, name=None):
        beside = files.RECORDED / "h200-x1" / CHAPTER / "snapshot.pickle"
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content or pickle.dumps({"segments": []}, 4))
        digest = digest or hashlib.sha256(beside.read_bytes()).hexdigest()
        named = name or f"h200-x1/{CHAPTER}/snapshot.pickle"
        return keep("snapshot", [{"file": named, "file_sha256": digest}]), beside

    return kept


def test_a_snapshot_stands_beside_its_recording(snapshot):
    path, beside = snapshot()
    assert judge(path) == [] and offering.verdict(files.RECORDED) == (
        ["1 file, no objection"],
        False,
    )
    beside.unlink()
    assert "isn't a file beside this one" in judge(path)[0]


@pytest.mark.parametrize(
    "made, says",
    [
        ({"digest": "0" * 64}, "isn't what was recorded"),
        ({"name": "../experiments.json"}, "isn't a file beside this one"),
        ({"content": pickle.dumps({"filename": "/home/me/train.py"}, 4)}, "holds a path"),
        ({"content": pickle.dumps(Path, 4)}, "can't be opened: it asks for"),
    ],
    ids=["another file", "elsewhere", "a path", "a program"],
)
def test_a_snapshot_that_is_another_is_objected_to(snapshot, made, says):
    path, _ = snapshot(**made)
    assert says in judge(path)[0]


def test_the_command_prints_objections_and_fails(keep, capsys):
    path = keep()
    assert main(["judge"]) == 0 and capsys.readouterr().out == "1 file, no objection\n"
    forge(path, put(-1, "rows", 0, "run_seconds"))
    (path.parent / "notes.txt").write_text("mine")
    assert main(["judge", str(files.RECORDED)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"✗ h200-x1/{CHAPTER}/speed.json: row 1: run_seconds -1 is negative")
    assert "notes.txt: no recording, and none names it" in said
    assert main(["judge", "nowhere"]) == 1 and "no nowhere to judge" in capsys.readouterr().err


def test_three_lines_say_how_to_offer_a_recording():
    lines = offering.how_to_offer(files.RECORDED / "h200-x1").splitlines()
    assert len(lines) == 3
    assert "data/recorded/h200-x1" in lines[0] and "stay here until you offer them" in lines[0]
    assert lines[1].endswith("python -m course_utils judge data/recorded/h200-x1")
    assert "pull request with data/recorded/h200-x1/ and nothing else" in lines[2]


def shown():
    return drawn_map.recorded_on().data


def test_the_map_says_how_to_be_the_first_where_nothing_was_recorded(own_data):
    assert "Be the first" in shown() and "make record" in shown()


def test_the_map_shows_machines_with_date_torch_and_chapters(keep, fake_machine):
    path = keep("speed", [{"what": "a", "run_seconds": 1.0}])
    keep("rates", GOOD["rates"])
    keep("copies", [])
    forge(path, put("2026-11-21T10:00:00+00:00", "date"))
    fake_machine(gpus=0)
    record("speed", [{"what": "a", "run_seconds": 1.0}])
    _, _, processor, gpu = shown().splitlines()
    today = datetime.now(UTC).date().isoformat()
    assert gpu == f"| H200 | {today} | 2.11.0 | [02]({CHAPTER}.ipynb) (2) |"
    assert processor.startswith("| A processor, 2 cores | ")


def test_the_map_passes_over_what_is_no_recording(keep):
    keep().write_text("{")
    assert "Be the first" in shown()
