"""A script runs under the watch as it runs alone, and loses nothing."""

import json
import sys
import textwrap

import jsonschema
import psutil
import pytest

from training_diagnosis import diagnosis, passes, records, rules
from training_diagnosis.__main__ import main
from training_diagnosis.notebook import watch
from training_diagnosis.page import page
from training_diagnosis.passes import Script, ScriptError

TRAINS = """
    import sys, torch
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(int(sys.argv[1])):
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.fixture
def script(tmp_path):
    def write(text: str, *arguments: str, **options) -> Script:
        path = tmp_path / "train.py"
        path.write_text(textwrap.dedent(text))
        return Script(str(path), list(arguments), **options)

    return write


def test_a_script_gets_its_arguments_and_may_end_by_itself(script):
    seen = script(TRAINS, "12").run()
    assert seen.ended == "finished" and sum(m.kind == "step" for m in seen.marks) == 12


def test_it_is_stopped_after_enough_steps_though_it_catches_every_exception(script):
    loop = TRAINS.replace("        model(", "      try:\n        model(")
    loop = loop.replace("zero_grad()", "zero_grad()\n      except Exception: pass")
    seen = script(loop, "1000000", steps=15).run()
    assert seen.ended == "stopped" and sum(m.kind == "step" for m in seen.marks) == 15


def test_its_own_error_is_shown_as_its_own(script):
    with pytest.raises(ScriptError) as told:
        diagnosis.diagnose(script("import torch\ndef f():\n    return 1 / 0\nf()\n"))
    assert "ZeroDivisionError" in str(told.value) and "line 3, in f" in str(told.value)
    assert "course_utils" not in str(told.value)


def test_the_command_gives_the_scripts_exit_status(script, capsys):
    made = script("import sys, torch\nsys.exit(7)\n")
    assert main([made.path]) == 7
    assert main(["no_such.py"]) == 1
    assert "There is no script no_such.py" in capsys.readouterr().err


def test_windows_is_told_what_to_do(script, capsys, monkeypatch):
    made = script(TRAINS, "12")
    monkeypatch.setattr(sys, "platform", "win32")
    assert main([made.path]) == 1 and "WSL 2" in capsys.readouterr().err


def test_a_real_checkpoint_is_not_overwritten_but_can_be_read_back(script, tmp_path):
    kept = tmp_path / "model.pt"
    kept.write_text("three days of training")
    text = (
        TRAINS
        + f"    torch.save([step], {str(kept)!r})\n    assert torch.load({str(kept)!r}) == [11]\n"
    )
    assert script(text, "12").run().ended == "finished"
    assert kept.read_text() == "three days of training"


def test_what_it_sets_before_torch_is_imported_still_counts(script):
    seen = script(
        'import os\nos.environ["OMP_NUM_THREADS"] = "1"' + textwrap.dedent(TRAINS), "12"
    ).run()
    assert seen.facts["threads"] == 1


@pytest.mark.thorough("packages/training_diagnosis")
def test_a_script_that_hangs_is_stopped_and_its_line_is_named(script, monkeypatch):
    monkeypatch.setattr(passes, "START_SECONDS", 20.0)
    hangs = (
        TRAINS.replace("sys, torch", "sys, time, torch") + "        time.sleep(3600 * (step == 6))"
    )
    report = diagnosis.diagnose(script(hangs, "100", seconds=1.0))
    assert report.verdict == "it stopped making steps"
    assert "was at train.py:9" in " ".join(report.notes)


def test_no_process_is_left_running(script, tmp_path):
    started = tmp_path / "started"
    text = f"""
        import multiprocessing, os, time
        child = multiprocessing.Process(target=time.sleep, args=(600,))
        child.start()
        with open({str(started)!r}, "w") as file:
            print(os.getpid(), child.pid, file=file)
    """
    endless = textwrap.dedent(TRAINS).replace("range(int(sys.argv[1]))", "range(10**9)")
    assert script(textwrap.dedent(text) + endless, steps=10).run().ended == "stopped"
    left = [
        psutil.Process(int(p)) for p in started.read_text().split() if psutil.pid_exists(int(p))
    ]
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in left)


def test_the_report_as_json_fits_its_schema(script, tmp_path):
    made = script(TRAINS, "30")
    told = tmp_path / "report.json"
    command = ["--no-changes", "--json", str(told), made.path, *made.arguments]
    assert main(command) == 0
    report = json.loads(told.read_text())
    jsonschema.validate(report, records.schema())
    assert report["steps"] == 26 and sum(report["parts"].values()) > 0


def test_the_page_says_all_of_it_needs_no_network_and_takes_nothing_for_html():
    finding = records.Finding("checkpoint", "train.py", 7, "a < b", "save less", "16")
    report = records.Report(
        "<b>.py", [], "1 finding", 3, 0.1, 0.1, 0.1, {"forward": 0.06, "backward": 0.04}, 1.0, 0.0,
        {"peak of the process": 2.0**20}, 0.0, [finding], [], {}, {}, ["a note"], [0.1, 0.2, 0.1],
    )  # fmt: skip
    found = page(report)
    for said in ("&lt;b&gt;.py: 1 finding", "train.py:7", "a &lt; b", "save less", "60% forward",
                 "Chapter 16", "1.00 MiB", "a note", "step 2: 200 ms"):  # fmt: skip
        assert said in found
    assert "http:" not in found and "https:" not in found and "<script" not in found


def test_a_script_without_steps_is_told_what_to_do(script):
    report = diagnosis.diagnose(script("import torch\ntorch.ones(3).sum()\n"))
    assert report.verdict == "no steps found" and "optimizer" in " ".join(report.notes)


def test_a_function_of_a_notebook_is_watched_and_torch_given_back():
    import torch

    functions = (torch.autograd.backward, torch.save, torch.utils.data.DataLoader.__iter__)

    def train():
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.autograd.set_detect_anomaly(True):
            for _ in range(100):
                model(torch.ones(4, 8)).sum().backward()
                optimizer.step()

    report = watch(train, steps=15, try_changes=False)
    assert "anomaly" in {one.rule for one in report.findings}
    assert functions == (torch.autograd.backward, torch.save, torch.utils.data.DataLoader.__iter__)
    assert sys.modules["__main__"] is not None


def test_a_cell_is_diagnosed_by_its_magic_on_its_own_lines(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "training_diagnosis")
    shell.run_cell("import torch\nlr = 0.1")
    cell = """%%diagnose --steps 20 --no-changes
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    kept = []
    for _ in range(100):
        kept.append(model(torch.ones(4000, 8)))
        kept[-1].sum().backward()
        optimizer.step()
    """
    try:
        assert shell.run_cell(cell).success
    finally:
        InteractiveShell.clear_instance()
    assert ":6: `kept` holds tensors of earlier steps" in capsys.readouterr().out
    assert "model" not in shell.user_ns


def test_every_rule_has_a_name_a_source_and_a_chapter():
    names = [rule.name for rule in rules.RULES]
    assert len(names) == len(set(names)) >= 20
    assert all(rule.source and rule.chapter for rule in rules.RULES)
