"""The snapshots that the course ships: made of real code, in torch's schema, and up to date."""

import json
from pathlib import Path

import pytest
import torch

from course_utils.chapters.memory_snapshots import chapter_snapshots
from course_utils.chapters.memory_snapshots.made_snapshots import (
    FOLDER,
    history_of,
    loaded,
    made,
    write,
)
from course_utils.chapters.memory_snapshots.programs import PROGRAMS, training
from course_utils.chapters.memory_snapshots.published_snapshots import published_snapshot
from course_utils.core import evidence, files, recording
from course_utils.memory import counting
from course_utils.memory.recorded import blocks, events, is_repeated
from course_utils.memory.snapshots import snapshot
from course_utils.memory.snapshots.lives import history
from course_utils.memory.views.timeline import draw_histories


@pytest.fixture
def chapter(monkeypatch):
    monkeypatch.setenv(evidence.CHAPTER, chapter_snapshots.CHAPTER)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shipped_snapshot_is_what_the_program_does_today(name, tmp_path):
    again = tmp_path / "again.pickle"
    write(chapter_snapshots.make(name), again)
    shipped, fresh = (snapshot.load(path).trace() for path in (FOLDER / f"{name}.pickle", again))
    assert [(e.action, e.addr, e.size, e.category) for e in shipped.events()] == [
        (e.action, e.addr, e.size, e.category) for e in fresh.events()
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shipped_snapshot_replays_exactly_and_names_no_folder_of_a_machine(name):
    loaded = snapshot.load(FOLDER / f"{name}.pickle")
    assert is_repeated(loaded)
    names = {frame.filename for stack in loaded.stacks for frame in stack}
    assert names and all(not Path(n).is_absolute() and n.count("/") <= 1 for n in names)


def test_what_was_made_holds_what_was_counted():
    def run():
        return training(torch.device("cpu"), counted.watch, steps=2, batch=4)

    with counting.count() as counted:
        alive = run()
    del alive
    found = history_of(lambda: training(torch.device("cpu"), steps=2, batch=4))
    assert found.live.max() == counted.peak.total


def test_the_leak_ends_with_several_times_what_a_healthy_run_holds():
    leaking, healthy = (
        history(snapshot.load(FOLDER / f"{name}.pickle")).live[-1]
        for name in ("snapshot_leak", "snapshot_step_fp32")
    )
    assert leaking > 3 * healthy


def test_the_made_file_is_said_to_be_made_and_without_a_recording_there_is_none(chapter):
    path = chapter_snapshots.snapshot_file("snapshot_leak")
    assert path.parent == FOLDER and "made without a GPU" in chapter_snapshots.origin(path)
    for find in (chapter_snapshots.snapshot_file, chapter_snapshots.recorded_snapshot):
        with pytest.raises(LookupError, match="there are snapshot_step_fp32"):
            find("snapshot_of_nothing")


@pytest.fixture
def gpu(monkeypatch):
    """A GPU as far as taking snapshots goes."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(chapter_snapshots, "emptied", lambda: 0)
    for name in ("max_memory_allocated", "max_memory_reserved"):
        monkeypatch.setattr(torch.cuda, name, lambda: 5)


NATIVE = "std::vector<at::Tensor> torch::autograd::generated::AddBackward0::apply(std::vector&&)"
STACK = [
    {"name": "at::_ops::add::call(at::Tensor const&)", "filename": "??", "line": 0},
    {"name": "c10::cuda::malloc(unsigned long)", "filename": "/build/c10.cpp", "line": 0},
    {"name": NATIVE, "filename": "/build/x.cpp", "line": 0},
    {"name": "f", "filename": "/home/someone/course/a.py", "line": 1},
]


def take(program, path):
    content = made(lambda: torch.ones(10))
    for event in content["device_traces"][0]:
        event["frames"] = [dict(frame) for frame in STACK]
    write(content, path)


def test_without_a_gpu_no_snapshot_is_taken(chapter, monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert chapter_snapshots.record_snapshot("snapshot_leak", pytest.fail) is None
    assert not list(tmp_path.rglob("*"))


def test_on_a_gpu_a_snapshot_is_taken_though_nothing_records(chapter, gpu, monkeypatch, tmp_path):
    monkeypatch.delenv(recording.RECORD_TO, raising=False)
    monkeypatch.chdir(tmp_path)
    found = chapter_snapshots.record_snapshot("snapshot_leak", take)
    assert found.peak_allocated == 5 and len(found.snapshot.trace())
    assert list(chapter_snapshots.on_gpus("snapshot_leak", found)) == ["live: this GPU"]
    assert not list(tmp_path.rglob("*"))


def test_a_kept_snapshot_has_short_names_its_digest_and_no_predecessor(
    chapter, gpu, monkeypatch, tmp_path
):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(files, "RECORDED", tmp_path)
    chapter_snapshots.record_snapshot("snapshot_leak", lambda _, path: write(made(list), path))
    chapter_snapshots.record_snapshot("snapshot_leak", take)
    (path,) = tmp_path.rglob("*.pickle")
    assert chapter_snapshots.recorded_snapshot("snapshot_leak") == path
    loaded = snapshot.load(path)
    names = {(f.name, f.filename) for stack in loaded.stacks for f in stack}
    backward = "torch::autograd::generated::AddBackward0::apply"
    assert names == {("at::_ops::add::call", ""), (backward, ""), ("f", "course/a.py")}
    assert b"someone" not in path.read_bytes()
    (kept,) = tmp_path.rglob("*.json")
    (row,) = json.loads(kept.read_text())["rows"]
    assert row["file_sha256"].startswith(path.name.split(".")[1])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(evidence.EvidenceError, match="git checkout"):
        chapter_snapshots.recorded_snapshot("snapshot_leak")


def test_a_snapshot_too_large_to_be_kept_is_refused(chapter, gpu, monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(chapter_snapshots, "LARGEST_KEPT", 100)
    with pytest.raises(evidence.EvidenceError, match="at most 100 are kept"):
        chapter_snapshots.record_snapshot("snapshot_leak", take)
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize(
    "loss, file", [("F.cross_entropy", "cross_entropy_vanilla"), ("Liger's", "cross_entropy_liger")]
)
def test_the_published_snapshots_are_the_numbers_of_the_real_files(loss, file):
    path = files.ROOT.parent / "shared" / "snapshots" / f"{file}.pickle"
    found = published_snapshot(loss)
    assert is_repeated(found)
    if not path.exists():
        pytest.skip("no real snapshots beside this project")
    real = snapshot.load(path)
    assert events(found) == events(real) and blocks(found) == blocks(real)
    low = min(segment.address for segment in real.segments())
    addresses = ([e.addr for e in one.trace().events()] for one in (found, real))
    assert next(addresses) == [address - low for address in next(addresses)]


def test_a_replay_that_answers_otherwise_is_told_from_one_that_is_repeated():
    content = made(lambda: [torch.ones(10), torch.ones(10)])
    content["device_traces"][0][1]["addr"] += 512
    assert is_repeated(loaded(made(lambda: torch.ones(10)))) and not is_repeated(loaded(content))
    with pytest.raises(LookupError, match=r"there are F\.cross_entropy"):
        published_snapshot("mse")


def test_histories_side_by_side_need_one_at_least():
    one = history(published_snapshot("Liger's"))
    assert draw_histories("two", {"published: x": one, "made": one}).alt == "two"
    with pytest.raises(ValueError, match="no history to draw"):
        draw_histories("none", {})


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pickle"
    write({"segments": [], "device_traces": [[]]}, path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="pickle"):
        write({"segments": [lambda: None]}, path)
    assert path.read_bytes() == before
