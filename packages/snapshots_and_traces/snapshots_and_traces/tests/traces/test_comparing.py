"""What changed between two traces: a planted change is named first, with its size."""

import itertools

import pytest

from snapshots_and_traces.__main__ import main
from snapshots_and_traces.tests.support.traces import (
    LOADER,
    call,
    launched,
    note,
    op,
    read,
    real,
    span,
    write,
)
from snapshots_and_traces.traces.comparing import compare
from snapshots_and_traces.traces.reading import TraceError
from snapshots_and_traces.traces.report import WORDS


def run(steps=3, loading=300, gemm=100, dropout=True, marked=True):
    """Steps of 600 µs and the loader's wait; each launches two gemms and a relu, and waits."""
    events, begun = [], 0
    for step in range(steps):
        at, length = begun + loading, 600 + loading
        events += [note(f"ProfilerStep#{step}", begun, length)] if marked else []
        events += [note(LOADER, begun, loading)] if loading else []
        events += [op("aten::dropout", at + 60, 30)] if dropout else []
        events += [op("aten::mm", at, 50), call("cudaDeviceSynchronize", at + 100, 450)]
        events += launched(3 * step, at + 5, at + 10, gemm, "gemm")
        events += launched(3 * step + 1, at + 15, at + 210, gemm, "gemm")
        events += launched(3 * step + 2, at + 25, at + 410, 100, "relu")
        begun += length
    return events


PLANTED = {  # a change; the title under which it is said first, and the line
    "an operator gone": (
        {"dropout": False}, "Operators, by their own time,", "-30 µs  gone: 1 × aten::dropout",
    ),
    "a kernel twice as long": ({"gemm": 200}, "Kernels,", "+200 µs  2 × gemm: 200 µs, then 400 µs"),
    "a wait for data removed": (
        {"loading": 0}, "Parts of the GPU's time,",
        f"-300 µs  {WORDS['data']}: 300 µs, then 0 ns",
    ),
}  # fmt: skip


def first_under(title, lines):
    return next(b for a, b in itertools.pairwise(lines) if a.startswith(title)).strip()


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_change_is_named_first_with_its_size(what, tmp_path):
    change, title, line = PLANTED[what]
    a = read(tmp_path, run())
    lines = compare(a, read(tmp_path, run(**change))).splitlines()
    assert first_under(title, lines).startswith(line), lines
    back = compare(read(tmp_path, run(**change)), a).splitlines()
    first, sign = first_under(title, back), "+" if line[0] == "-" else "-"
    assert first.startswith(sign + line[1:].split("  ")[0]) and "gone" not in first


def test_what_did_not_change_is_said_so(tmp_path):
    a = read(tmp_path, run())
    lines = compare(a, a).splitlines()
    assert lines[0] == (
        "Per step: 900 µs, then 900 µs (+0%); steps took 900 µs to 900 µs, then 900 µs to 900 µs."
    )
    assert len(lines) == 4 and all("no difference of 0.5%" in line for line in lines[1:])


def test_a_step_is_compared_with_a_step_where_their_numbers_differ(tmp_path):
    lines = compare(read(tmp_path, run(3)), read(tmp_path, run(9))).splitlines()
    assert lines[0] == "Different numbers of steps: 3, then 9."
    assert lines[1].startswith("Per step: 900 µs, then 900 µs (+0%)")
    assert all("no difference" in line for line in lines[-2:]), "of kernels and of operators"


def test_without_steps_in_one_all_of_both_is_compared_and_that_is_said(tmp_path):
    lines = compare(read(tmp_path, run()), read(tmp_path, run(marked=False))).splitlines()
    assert lines[0] == "Different numbers of steps: 3, then 0."
    assert lines[1].startswith(
        "All of the traces, as one has no steps marked: 2.7 ms, then 2.65 ms"
    ), "to the last step's end, and to the last call's"


def test_other_gpus_and_ranks_and_a_trace_without_a_gpu_are_said(tmp_path):
    about = {
        "deviceProperties": [{"name": "A100"}],
        "distributedInfo": {"rank": 0, "world_size": 2},
    }
    a = read(tmp_path, run(), **about)
    lines = compare(a, read(tmp_path, [op("aten::mm", 0, 9)])).splitlines()
    assert lines[0] == "Different GPUs: A100, then none."
    assert lines[1] == "Different ranks: rank 0 of 2, then no rank is given."
    with pytest.raises(TraceError, match="neither kernels nor operators"):
        compare(a, read(tmp_path, [span("browser", "paint", 0, 5)]))


def test_real_traces_fit_a_screen():
    names = ("ddp-resnet50-2xA100", "resnet-1xV100", "dlrm-8xA100", "alexnet-1xA100")
    for other in names[1:]:
        lines = compare(real(names[0]), real(other)).splitlines()
        assert len(lines) <= 24 and max(map(len, lines)) <= 120


def test_the_command_takes_two_files_and_no_options(tmp_path, capsys):
    a, b = (str(write(tmp_path / name, run(steps))) for name, steps in (("a", 2), ("b", 3)))
    assert main(["trace", a, b]) == 0
    assert capsys.readouterr().out.startswith("What changed from a to b:\nDifferent numbers of")
    assert main(["trace", a, b, "--page"]) == 1 and "no option" in capsys.readouterr().err
    assert main(["trace", a, str(tmp_path / "c")]) == 1 and "isn't there" in capsys.readouterr().err
