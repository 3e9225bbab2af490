"""What a session says to a reader who asks for what can't be: a sentence, and nothing is lost."""

import threading

import pytest
import torch

import notebook_ranks as ranks


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_cuda_without_a_gpu_is_refused_and_the_next_cell_runs(said):
    ranks.run_cell("rank", 2)
    with pytest.raises(ranks.RanksError, match="torch sees none here"):
        ranks.run_cell("rank", device="cuda")
    assert "[rank 1] 1 cpu" in said("print(rank, device)")


def test_a_variable_of_ranks_that_were_replaced_is_missed_with_the_reason(failing):
    ranks.run_cell("mine = rank", 2)
    assert "`mine` went with the ranks that were there before" in failing("mine", 3)
    assert "went with" not in failing("yours")


def test_what_went_with_ranks_that_failed_is_told_in_every_later_cell(failing):
    ranks.start(2)
    ranks.restart()
    ranks.run_cell("mine = rank", called="In [1]")
    ranks.run_cell("import math\nstep = 1\ndef f():\n    within_f = 1", called="In [2]")
    gone = failing("model = 1\n%time 2\nimport os\nos._exit(1)", called="In [3]")
    assert "variables are gone" in gone
    ranks.run_cell("print('well')", called="In [4]")
    for name, cell in (("mine", 1), ("math", 2), ("step", 2), ("f", 2), ("model", 3)):
        error = failing(name)
        assert f"`{name}` went with" in error and f"run In [{cell}]" in error
    for name in ("within_f", "nobodys"):
        assert failing(name).endswith("still there.")


def test_what_cannot_travel_is_said_so():
    ranks.start(1)
    with pytest.raises(ranks.RanksError, match="can't be sent to the ranks"):
        ranks.run(print, threading.Lock())
    with pytest.raises(ranks.RanksError, match="can't be sent to the ranks"):
        ranks.push(lock=threading.Lock())
    assert ranks.pull("rank") == [0]


def test_a_working_folder_that_was_deleted_is_said_and_another_one_will_do(
    tmp_path, monkeypatch, said, failing
):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    ranks.start(2)
    ranks.run_cell("mine = rank", 1)
    gone.rmdir()
    assert said("mine") == "[rank 0] 0\n"
    assert "working folder was deleted" in failing("open('file', 'w')")
    with pytest.raises(ranks.RanksError, match="working folder was deleted"):
        ranks.restart()
    monkeypatch.chdir(tmp_path)
    ranks.restart()
    ranks.run_cell("open('file', 'w').close()", 1)
    assert (tmp_path / "file").exists()
