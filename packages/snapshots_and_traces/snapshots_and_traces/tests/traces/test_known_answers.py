"""Traces with a planted fault: the diagnosis names its cause, its share of the time and its place.

The answers are written from what an engineer knows, not from what the package finds. The share is
what a simulated run gains without the fault; the number beside each case is worked out by hand.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from snapshots_and_traces.__main__ import main
from snapshots_and_traces.tests.support.runs import BEGIN, GAP, GEMM, REDUCE, Run
from snapshots_and_traces.tests.support.traces import LOADER, read, span
from snapshots_and_traces.traces.findings import findings
from snapshots_and_traces.traces.reading import read_trace

WORKERS = LOADER.replace("SingleProcess", "MultiProcessing")
TRAIN = "train.py(80): <module>", "train.py(42): train"
SORT = "<built-in method sort of list object at 0x7f01c83e4b40>"
SAVE = "train.py(91): save", "torch/serialization.py(963): save"
ALL_REDUCE = "c10d::allreduce_", "nccl:all_reduce", REDUCE
ALL_TO_ALL = "c10d::alltoall_base_", "nccl:all_to_all", "ncclDevKernel_SendRecv"
TO_HOST, TO_GPU = "DtoH (Device -> Pageable)", "HtoD (Pageable -> Device)"
PINNED, INSIDE = "HtoD (Pinned -> Device)", "DtoD (Device -> Device)"
LAUNCHES = r"CUDA graph|torch\.compile"  # no remedy where the host does something else
HOST_COPY = r"pin|non_blocking"  # the remedy for copies between host and device alone


@dataclass
class Case:
    """A step of a run, how many, and what is right: the first cause (or one of several, with |).

    The share is worked out by hand; `where`, `says` and `never` are patterns.
    """

    cause: str
    share: float
    where: str
    step: Callable[[Run], object]
    steps: int = 4
    says: str = ""
    never: str = "(?!)"
    beside: tuple[str, str] | None = None  # what another thread does all the time
    kept: Callable[[int, dict], bool] = lambda place, event: True  # which events the file has

    def simulated(self, without: str = "", **how) -> Run:
        run = Run(without, **how)
        with run.frames(*TRAIN if ".py" in self.where else ()):
            for _ in run.steps(self.steps) if self.steps else [0]:
                self.step(run)
        if self.beside:
            run.beside(*self.beside)
        run.events = [one for place, one in enumerate(run.events) if self.kept(place, one)]
        return run

    @property
    def mendable(self) -> bool:
        return self.cause not in ("longest", "unknown", "other|unknown", "operators|longest")

    def gain(self) -> tuple[float, float]:
        """The share that the run saves without the fault, and a tolerance.

        Where the fault is over, the host dispatches an operator before the device has work again;
        copies and messages are dispatched without it, too: ahead of the device after one step.
        """
        run = self.simulated()
        on_device = self.cause in ("communication", "copying")
        places = run.spent[self.cause]
        if self.cause == "launching" or on_device:
            places = max(self.steps, places // self.steps if on_device else 0)
        saved = 1 - self.simulated(self.cause).window / run.window
        return saved, max(places * GAP / run.window, 0.001)


def custom(kernel, operator, place):
    """Collectives that don't say NCCL, each after a computation of a third of its time."""
    return Case("communication", 0.75, place, lambda run: [
        (run.operators(1, 100), run.operators(1, 300, operator, kernel, cause="communication"))
        for _ in range(20)
    ])  # fmt: skip


def sampled(place, event):
    """Of 14 kernels one, of 15 launches one."""
    one_in = {"kernel": 14, "cuda_runtime": 15}.get(event["cat"], 1)
    return event["args"].get("correlation", 0) % one_in == 0


CASES = {
    # The faults of strangers' files, by their number. 1: the GPU waits from the step's begin.
    "data before the first kernel": Case("data", 0.80, "DataLoader", lambda run: (
        run.load(800_000), run.step(20, 4000)), 1),
    # 1: the step isn't over until its data is there.
    "data after the last kernel": Case("data", 0.80, "DataLoader", lambda run: (
        run.step(20, 4000), run.load(1_000_000)), 1),
    # 2: the thread that launches is never in the loader, and never waits.
    "another thread loads": Case("launching", 0.80, "", lambda run: (
        run.operators(400, 5, "aten::add_")), beside=("user_annotation", LOADER)),
    "another thread waits": Case("launching", 0.80, "", lambda run: (
        run.operators(400, 5, "aten::add_")), beside=("cuda_runtime", "cudaStreamSynchronize")),
    # 3: no operator for 40 ms; list.sort has no line, so its caller's is the place.
    "sorting": Case("python", 0.88, r"^sampler\.py\(31\): by_length$", lambda run: (
        run.python(40_000, "sampler.py(31): by_length", SORT), run.step(20, 100)), never=LAUNCHES),
    # 3: the cache is emptied and filled again every step.
    "allocation retries": Case("allocating", 0.75, "cuda(Malloc|Free)|aten::empty", lambda run: (
        run.allocate(3000, "cudaFree", "cudaFree", "cudaMalloc", "cudaMalloc"), run.step(20, 80)),
        never=LAUNCHES),
    # 3: 100 ms in one of five steps, less the 27 ms for which work was queued.
    "a checkpoint": Case("python", 0.59, r"train\.py\(91\): save|serialization", lambda run: (
        run.step(20, 200), run.number == 2 and run.python(100_000, *SAVE)), 5, never=LAUNCHES),
    # 3: nothing to launch until the slowest rank is there.
    "a barrier of gloo": Case("ranks", 0.88, "barrier", lambda run: (
        run.step(20, 220), run.ranks(89_000, "c10d::barrier")), never=LAUNCHES),
    # 5: 1.4 ms in a launch of 5 µs: the kernel's module is loaded.
    "first use": Case("loading", 0.84, "cudaLaunchKernel|aten::mm|gemm", lambda run: (
        run.operators(1, 20, "aten::mm", loads=1395), run.operators(9, 20)), 1),
    # 6: pinned memory can't help what never leaves the GPU.
    "copies within the device": Case("copying", 0.86, "DtoD|aten::copy_", lambda run: (
        run.copy(PINNED, 50), [run.copy(INSIDE, 3000) for _ in range(29)], run.step(20, 280)),
        never=HOST_COPY),
    # 7: 65 of 88 ms are exchanged in forward: no backward can hide them.
    "all_to_all in forward": Case("communication", 0.80, "(?i)all_?to_?all", lambda run: (
        run.collective(*ALL_TO_ALL, 65_000), run.step(20, 440),
        run.collective(*ALL_REDUCE, 23_000)), never="backward"),
    # 8: there is no stream to wait for: nodes of a launched graph weren't recorded.
    "a graph with holes": Case("other|unknown", 0.67, "", lambda run: (
        run.launch(GEMM, 50, number=300)), says="(?i)graph", never="stream",
        kept=lambda place, event: event["cat"] != "kernel" or place % 30 < 10),
    # 9: 0.5% of the correlations have both sides.
    "a sampled file": Case("unknown", 0.93, "", lambda run: (
        run.operators(1000, 100)), kept=sampled),
    # 10: 1.76 µs in 13.3 s: which kernel that was doesn't matter.
    "one short kernel": Case("python", 1.00, "", lambda run: (
        run.operators(1, 1.76), run.python(13_300_000)), 1, never="100% of what ran"),
    # Our own. The host may run ahead: 10 of 21 ms overlap, 5 in the first step.
    "data amid a step": Case("data", 0.54, "DataLoader", lambda run: (
        run.operators(10, 500), run.load(20_000, WORKERS), run.operators(10, 500))),
    # The capture begins with the loader, so does the window.
    "data without steps": Case("data", 0.80, "DataLoader", lambda run: (
        run.load(800_000), run.step(20, 4000)), 0),
    # 5 ms of the host beside 10 ms of the GPU: the queue never runs empty.
    "a hidden loader": Case("longest", 0.80, "gemm", lambda run: (
        run.step(), run.load(4000), run.python(1000))),
    # 20 ms a step with the wait; without it 12, as the host runs ahead, but in the first.
    "item before small operators": Case("synchronising", 0.30, "item|_dense|Synchron", lambda run: (
        run.operators(400, 5), run.operators(10, 1000), run.item())),
    # The wait is short: the host is late with it and without.
    "item in a host-bound loop": Case("launching", 0.80, "", lambda run: (
        run.operators(400, 5), run.item())),
    # One gap of 40 µs in 10 ms: nothing to gain.
    "item after large kernels": Case("longest", 1.00, "gemm", lambda run: (
        run.operators(10, 1000), run.item())),
    # Each empties the queue: the gaps after it come from it too, but in the first step.
    "nine blocking copies": Case("synchronising", 0.20, r"^metrics\.py\(14\): upd", lambda run: (
        [(run.copy(TO_HOST, 10, "metrics.py(14): update", blocks=True), run.operators(20, 5))
         for _ in range(9)], run.operators(10, 1000))),
    # Operators of a prefetching thread don't make it a matter of launches.
    "tokenising": Case("python", 0.73, r"^tokenizer\.py\(88\): encode$", lambda run: (
        run.python(20_000, "tokenizer.py(88): encode"), run.step(20, 120)),
        beside=("cpu_op", "aten::stack")),
    # No line is known; the annotation around it is.
    "logging without stacks": Case("python", 0.63, "log metrics", lambda run: (
        run.step(20, 120), run.python(15_000, "log metrics", cat="user_annotation"))),
    # Pinning takes ms: it is done once, not at every step.
    "host memory": Case("allocating", 0.73, "cudaHostAlloc|aten::empty", lambda run: (
        run.allocate(10_000, "cudaHostAlloc", "cudaHostAlloc"), run.step(20, 120))),
    # The main thread has no operator during backward(), and that is right.
    "small operators in backward": Case("launching", 0.60, "", lambda run: run.backward(400, 10)),
    # A launch takes 5 ms once 1,024 wait: the GPU is the limit.
    "a full queue": Case("longest", 1.00, "gemm", lambda run: (
        run.operators(1200, 5000)), 1),
    # In total the matrix multiplications take most, though not each of them.
    "healthy": Case("longest", 0.80, "gemm", lambda run: run.step()),
    # One launch, 300 kernels, no gap.
    "a graph": Case("longest", 1.00, "gemm", lambda run: run.launch(GEMM, 50, number=300)),
    # gloo: the operator, or annotation, ends when every rank has given its part.
    "an all_reduce of the host": Case("ranks", 0.83, "allreduce", lambda run: (
        run.step(20, 200), run.ranks(59_000, "c10d::allreduce_"))),
    "an annotated one": Case("ranks", 0.83, "gloo:all_reduce", lambda run: (
        run.step(20, 200), run.ranks(59_000, "gloo:all_reduce", "user_annotation"))),
    # This rank was done, another wasn't.
    "a barrier at the end": Case("ranks", 0.80, "barrier", lambda run: (
        run.step(20, 4000), run.ranks(1_000_000, "c10d::barrier")), 1),
    # One bucket, launched when nothing is left to hide it.
    "all_reduce after backward": Case("communication", 0.60, "(?i)all_?reduce", lambda run: (
        run.step(20, 200), run.collective(*ALL_REDUCE, 15_000))),
    # A message of 3 ms beside kernels of 10 ms: hidden.
    "all_reduce during backward": Case("longest", 0.80, "gemm", lambda run: (
        run.collective(*ALL_REDUCE, 3000, join=False), run.step())),
    # Peers' memory is read by ordinary kernels: communication all the same.
    "vLLM": custom("void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
                   "_C_custom_ar::all_reduce", "all_reduce|cross_device_reduce"),
    "symmetric memory": custom("void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
                               "symm_mem::multimem_all_reduce_", "multimem_all_reduce"),
    "one shot": custom("void one_shot_all_reduce_kernel<float, 4, 8>(float**)",
                       "symm_mem::one_shot_all_reduce", "one_shot_all_reduce"),
    "DeepEP": custom("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)",
                     "deep_ep::dispatch", "dispatch"),
    # Pinned memory would let it run beside the step.
    "a pageable batch": Case("copying", 0.71, "HtoD|aten::copy_", lambda run: (
        run.copy(TO_GPU, 25_000, blocks=True), run.step()), says="pin"),
    # It is pinned: what is left is a stream beside, a batch ahead.
    "a pinned batch": Case("copying", 0.71, "HtoD|aten::copy_", lambda run: (
        run.copy(PINNED, 25_000), run.step()), never="pin_memory"),
    # No bytes come from the host.
    "memory set to zero": Case("copying", 0.67, "Memset|aten::zero_", lambda run: (
        run.zero(20_000), run.step()), never=HOST_COPY),
    # Launched long before: they wait for what no trace shows.
    "kernels that begin late": Case("other|unknown", 0.75, "", lambda run: (
        run.operators(50, 100, late=300))),
    # No GPU: the thread loads, or is outside operators, instead of computing; or computes.
    "data on a CPU": Case("data", 0.80, "DataLoader", lambda run: (
        run.load(80_000), run.on_cpu("aten::mm", 20_000))),
    "an operator on a CPU": Case("operators|longest", 0.80, "aten::mm", lambda run: (
        run.on_cpu("aten::mm", 80_000), run.on_cpu("aten::relu", 20_000))),
    "Python on a CPU": Case("python", 0.80, r"^tokenizer\.py\(88\): encode$", lambda run: (
        run.python(80_000, "tokenizer.py(88): encode"), run.on_cpu("aten::mm", 20_000))),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_finding_is_what_was_planted(case, tmp_path):
    found = findings(read_trace(case.simulated().write(tmp_path)))
    assert 1 <= len(found) <= 3 and found == sorted(found, key=lambda one: -one.share)
    first = found[0]
    share, slack = case.gain() if case.mendable else (case.share, 0.01)
    assert first.cause in case.cause.split("|"), found
    assert first.share == pytest.approx(share, abs=slack)
    assert re.search(case.where, first.where), first
    said = f"{first.words} {first.where}"
    assert re.search(case.says, said) and not re.search(case.never, said)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.mendable])
def test_what_the_simulated_run_gains_is_what_was_worked_out_by_hand(name):
    share, slack = CASES[name].gain()
    assert share == pytest.approx(CASES[name].share, abs=0.005) and slack < 0.05


def check_same(odd, clean):
    found, wanted = findings(odd), findings(clean)
    assert [(one.cause, one.where) for one in found] == [(one.cause, one.where) for one in wanted]
    shares = [one.share for one in wanted]
    assert [one.share for one in found] == pytest.approx(shares, abs=1e-3)


# 4: an event that can't be, beside a run that is what it was without it
KERNEL = {"device": 0, "stream": 7, "correlation": -1}
ON_GPU, ON_HOST = ("kernel", GEMM), ("cpu_op", "aten::mm")


@pytest.mark.parametrize(
    "kind, begin, took",
    [
        (ON_GPU, BEGIN + 801_000, -1), (ON_HOST, BEGIN + 801_000, -1), (ON_GPU, 0, 5),
        (ON_HOST, BEGIN + 801_000, -0.001), (ON_GPU, BEGIN + 801_000, None),
        (ON_HOST, BEGIN + 801_000, None), (ON_GPU, BEGIN + 810_000, 1e13),
        (ON_HOST, BEGIN + 100_000, 1e13), (ON_GPU, 0, 0),
    ],
)  # fmt: skip
def test_one_event_that_cannot_be_changes_nothing_and_is_counted(kind, begin, took, tmp_path):
    run = CASES["data before the first kernel"].simulated()
    gpu = kind == ON_GPU
    where = (7, 0) if gpu else (100, 100)
    event = span(*kind, begin, took, *where, **(KERNEL if gpu else {}))
    if took is None:
        del event["dur"]
    clean, odd = read_trace(run.write(tmp_path)), read_trace(run.write(tmp_path, event))
    check_same(odd, clean)
    assert sum(odd.left_out.values()) + sum(odd.repaired.values()) == 1


def test_kernels_that_overlap_the_next_of_their_stream_are_cut_there(tmp_path):
    run = CASES["data before the first kernel"].simulated()
    clean = read_trace(run.write(tmp_path))
    longer = run.of("kernel")[:-1:2]
    for event in longer:  # in the file alone: the next ones begin as they did
        event["dur"] *= 3
    odd = read_trace(run.write(tmp_path))
    check_same(odd, clean)
    assert sum(odd.repaired.values()) == len(longer) == 22


def test_devices_that_the_reader_does_not_know_are_counted(tmp_path):  # 11
    events = [span("mtia_ccp_events", "gemm", BEGIN + 10 * place, 8) for place in range(258)]
    trace = read(tmp_path, [*events, span("cpu_op", "aten::mm", BEGIN, 2580)])
    assert sum(n for what, n in trace.left_out.items() if "mtia_ccp_events" in what) == 258


def test_no_heading_of_steps_without_steps(tmp_path, capsys):  # 12
    run = CASES["data without steps"].simulated()
    assert not main(["trace", str(run.write(tmp_path)), "--steps"])
    assert not re.search(r":\n(?! )|:\s*$", capsys.readouterr().out)


def test_single_all_reduces_and_late_launches_are_both_named(tmp_path):  # 13
    run = Run()
    for _ in run.steps(4):
        run.operators(1000, 5)
        for _ in range(404):
            run.collective(*ALL_REDUCE, 50)
    shares = {one.cause: one.share for one in findings(read_trace(run.write(tmp_path)))}
    total = 1000 * 25 + 404 * 45  # the host is the limit, at 45 µs for a collective
    assert shares["communication"] == pytest.approx(404 * 50 / total, abs=0.01)
    assert shares["launching"] == pytest.approx(1 - (5000 + 404 * 50) / total, abs=0.01)


def test_each_gpu_of_a_file_has_its_own_answer(tmp_path):
    first = CASES["healthy"].simulated()
    second = CASES["data before the first kernel"].simulated(pid=200, device=1)
    trace = read_trace(first.write(tmp_path, *second.events))
    assert [findings(trace, device)[0].cause for device in (0, 1)] == ["longest", "data"]
