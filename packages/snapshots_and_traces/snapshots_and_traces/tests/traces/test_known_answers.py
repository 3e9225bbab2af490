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
TO_HOST, TO_GPU = "DtoH (Device -> Pageable)", "HtoD (Pageable -> Device)"
HOST_COPY = r"pin|non_blocking"  # the remedy for copies between host and device alone


@dataclass
class Case:
    """A run; its first cause (or one of several, with |), by hand its share, what else is said."""

    run: Callable[[Run], None]
    cause: str
    share: float
    where: str  # patterns
    says: str
    never: str

    def simulated(self, without: str = "") -> Run:
        run = Run(without)
        self.run(run)
        return run

    def gain(self) -> tuple[float, float]:
        """The share that the run saves without the fault, and a tolerance.

        Where the fault is over, the host dispatches an operator before the device has work again.
        """
        run = self.simulated()
        once_a_step = self.cause in ("launching", "communication", "copying")
        places = 4 if once_a_step else run.spent[self.cause]
        slack = places * GAP / run.window
        return 1 - self.simulated(self.cause).window / run.window, max(slack, 0.001)

    @property
    def mendable(self) -> bool:
        return self.cause not in ("longest", "unknown", "other|unknown", "operators|longest")


CASES = []


def planted(cause, share, where="", says="", never="(?!)"):
    def add(run):
        CASES.append(pytest.param(Case(run, cause, share, where, says, never), id=run.__name__))
        return run

    return add


# The faults that strangers' files had, by their number in the list of them


@planted("data", 0.80, "DataLoader")
def data_before_the_first_kernel(run):  # 1: the GPU waits from the step's begin
    for _ in run.steps(1):
        run.load(800_000)
        run.step(20, 4000)


@planted("data", 0.80, "DataLoader")
def data_after_the_last_kernel(run):  # 1: the step isn't over until its data is there
    for _ in run.steps(1):
        run.step(20, 4000)
        run.load(1_000_000)


@planted("launching", 0.80)
def another_thread_loads(run):  # 2: the thread that launches is never in the loader
    for _ in run.steps(4):
        run.operators(400, 5, "aten::add_")
    run.beside("user_annotation", LOADER)


@planted("launching", 0.80)
def another_thread_waits(run):  # 2: a checkpoint's thread may wait, launches go on
    for _ in run.steps(4):
        run.operators(400, 5, "aten::add_")
    run.beside("cuda_runtime", "cudaStreamSynchronize")


@planted("python", 0.88, r"^sampler\.py\(31\): by_length$", never="CUDA graph|torch.compile")
def sorting(run):  # 3: no operator for 40 ms; list.sort has no line, so that of its caller is named
    with run.frames(*TRAIN):
        for _ in run.steps(4):
            sort = "<built-in method sort of list object at 0x7f01c83e4b40>"
            run.python(40_000, "sampler.py(31): by_length", sort)
            run.step(20, 100)


@planted("allocating", 0.75, r"cuda(Malloc|Free)|aten::empty", never="CUDA graph|torch.compile")
def allocation_retries(run):  # 3: the cache is emptied and filled again every step
    for _ in run.steps(4):
        run.allocate(3000, "cudaFree", "cudaFree", "cudaMalloc", "cudaMalloc")
        run.step(20, 80)


@planted("python", 0.59, r"train\.py\(91\): save|serialization", never="CUDA graph|torch.compile")
def a_checkpoint_in_one_of_five_steps(run):  # 3: 100 ms, less 27 ms of the steps still queued
    with run.frames(*TRAIN):
        for step in run.steps(5):
            run.step(20, 200)
            if step == 2:
                run.python(100_000, "train.py(91): save", "torch/serialization.py(963): save")


@planted("ranks", 0.88, "barrier", never="CUDA graph|torch.compile")
def a_barrier_of_gloo(run):  # 3: nothing to launch until the slowest rank is there
    for _ in run.steps(4):
        run.step(20, 220)
        run.ranks(89_000, "c10d::barrier")


@planted("loading", 0.84, "cudaLaunchKernel|aten::mm|gemm")
def first_use_of_a_kernel(run):  # 5: 1.4 ms in a launch of 5 µs: its module is loaded
    for _ in run.steps(1):
        run.operators(1, 20, "aten::mm", loads=1395)
        run.operators(9, 20)


@planted("copying", 0.86, "Device -> Device|aten::copy_", never=HOST_COPY)
def copies_within_the_device(run):  # 6: pinned memory can't help what never leaves the GPU
    for _ in run.steps(4):
        run.copy("HtoD (Pinned -> Device)", 50)
        for _ in range(29):
            run.copy("DtoD (Device -> Device)", 3000)
        run.step(20, 280)


@planted("communication", 0.80, "(?i)all_?to_?all", never="backward")
def all_to_all_in_forward(run):  # 7: 65 of 88 ms; a backward that computes can't hide it
    for _ in run.steps(4):
        alltoall = "c10d::alltoall_base_", "nccl:all_to_all", "ncclDevKernel_SendRecv"
        run.collective(*alltoall, 65_000)
        run.step(20, 440)
        run.collective("c10d::allreduce_", "nccl:all_reduce", REDUCE, 23_000)


@planted("other|unknown", 0.66, says="(?i)graph", never="stream")
def a_graph_with_holes(run):  # 8: no stream to wait for: nodes of a launched graph aren't recorded
    for _ in run.steps(4):
        run.launch(GEMM, 50, number=300)
    kernels = run.of("kernel")
    missing = {id(one) for place, one in enumerate(kernels) if place % 30 >= 10}
    run.events = [event for event in run.events if id(event) not in missing]


@planted("unknown", 0.93)
def a_sampled_file(run):  # 9: of 14 kernels one is there, of 15 launches one: 0.5% have both
    for _ in run.steps(4):
        run.operators(1000, 100)
    kept = {"kernel": 14, "cuda_runtime": 15}
    run.events = [
        one
        for one in run.events
        if one["args"].get("correlation", 0) % kept.get(one["cat"], 1) == 0
    ]


@planted("python", 1.00, never="100% of what ran")
def one_short_kernel(run):  # 10: 1.76 µs in 13.3 s: what that kernel is doesn't matter
    for _ in run.steps(1):
        run.operators(1, 1.76)
        run.python(13_300_000)


# Data


@planted("data", 0.54, "DataLoader")
def data_amid_a_step(run):  # the host may run ahead: 10 of 21 ms overlap, 5 in the first step
    for _ in run.steps(4):
        run.operators(10, 500)
        run.load(20_000, WORKERS)
        run.operators(10, 500)


@planted("data", 0.80, "DataLoader")
def without_steps(run):  # the capture begins with the loader, so does the window
    run.load(800_000)
    run.step(20, 4000)


@planted("longest", 0.80, "gemm")
def a_hidden_loader(run):  # 5 ms beside a step of 10 ms: the queue never runs empty
    for _ in run.steps(4):
        run.step()
        run.load(4000)
        run.python(1000)


# Waits


@planted("synchronising", 0.30, "aten::item|_local_scalar_dense|cudaStreamSynchronize")
def item_before_small_operators(
    run,
):  # ran ahead without it: 20 ms a step, then 12 but in the first
    for _ in run.steps(4):
        run.operators(400, 5)
        run.operators(10, 1000)
        run.item()


@planted("launching", 0.80)
def item_in_a_host_bound_loop(run):  # the wait is short: the host is always late, with or without
    for _ in run.steps(4):
        run.operators(400, 5)
        run.item()


@planted("longest", 0.99, "gemm")
def item_after_large_kernels(run):  # one gap of 40 µs in 10 ms: nothing to gain
    for _ in run.steps(4):
        run.operators(10, 1000)
        run.item()


@planted("synchronising", 0.20, r"^metrics\.py\(14\): update$")
def nine_blocking_copies(run):  # each empties the queue; the gaps after it are its doing too
    with run.frames(*TRAIN):
        for _ in run.steps(4):
            for _ in range(9):
                with run.frames("metrics.py(14): update"):
                    run.copy(TO_HOST, 10, blocks=True)
                run.operators(20, 5)
            run.operators(10, 1000)


# The host


@planted("python", 0.73, r"^tokenizer\.py\(88\): encode$")
def tokenising(run):  # operators of a prefetching thread don't make it a matter of launches
    with run.frames(*TRAIN):
        for _ in run.steps(4):
            run.python(20_000, "tokenizer.py(88): encode")
            run.step(20, 120)
    run.beside("cpu_op", "aten::stack")


@planted("python", 0.63, "log metrics")
def logging_without_stacks(run):  # no line is known, the annotation around it is
    for _ in run.steps(4):
        run.step(20, 120)
        with run.note("log metrics"):
            run.python(15_000)


@planted("allocating", 0.73, "cudaHostAlloc|aten::empty")
def host_memory_pinned_each_step(run):  # pinning takes ms: it is done once, not at every step
    for _ in run.steps(4):
        run.allocate(10_000, "cudaHostAlloc", "cudaHostAlloc")
        run.step(20, 120)


@planted("launching", 0.60)
def small_operators_in_backward(run):  # the main thread is idle in backward(), and that is right
    for _ in run.steps(4):
        run.backward(400, 10)


@planted("longest", 1.00, "gemm", never="load")
def a_full_queue(run):  # cudaLaunchKernel takes 5 ms once 1,024 launches wait: the GPU is the limit
    for _ in run.steps(1):
        run.operators(1200, 5000)


@planted("longest", 0.80, "gemm")
def healthy(run):  # in total the matrix multiplications take most, though not each of them
    for _ in run.steps(4):
        run.step()


@planted("longest", 1.00, "gemm")
def a_graph(run):  # one launch, 300 kernels, no gap
    for _ in run.steps(4):
        run.launch(GEMM, 50, number=300)


# Other ranks


@planted("ranks", 0.83, "allreduce")
def all_reduce_on_the_host(run):  # gloo: the operator returns when every rank has given its part
    for _ in run.steps(4):
        run.step(20, 200)
        run.ranks(59_000, "c10d::allreduce_")


@planted("ranks", 0.83, "gloo:all_reduce")
def an_annotated_all_reduce_on_the_host(run):  # the same, as an annotation
    for _ in run.steps(4):
        run.step(20, 200)
        run.ranks(59_000, "gloo:all_reduce", "user_annotation")


@planted("ranks", 0.80, "barrier")
def a_barrier_after_the_last_kernel(run):  # this rank was done, another wasn't
    for _ in run.steps(1):
        run.step(20, 4000)
        run.ranks(1_000_000, "c10d::barrier")


@planted("communication", 0.60, "(?i)all_?reduce")
def all_reduce_after_backward(run):  # one bucket, launched when there is nothing left to hide it
    for _ in run.steps(4):
        run.step(20, 200)
        run.collective("c10d::allreduce_", "nccl:all_reduce", REDUCE, 15_000)


@planted("longest", 0.80, "gemm")
def all_reduce_during_backward(run):  # two thirds of backward have a message beside them: hidden
    for _ in run.steps(4):
        run.collective("c10d::allreduce_", "nccl:all_reduce", REDUCE, 3000, join=False)
        run.step()


def custom(kernel, operator):
    """Collectives that don't say NCCL, between matrix multiplications of a third of their time."""

    def run(run):
        for _ in run.steps(4):
            for _ in range(20):
                run.operators(1, 100)
                run.operators(1, 300, operator, kernel, cause="communication")

    run.__name__ = re.sub(r"\W+", "_", operator)
    planted("communication", 0.75, re.escape(operator) + "|" + re.escape(kernel.split("<")[0]))(run)


custom(
    "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", "_C_custom_ar::all_reduce"
)
custom(
    "void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
    "symm_mem::multimem_all_reduce_",
)
custom("void one_shot_all_reduce_kernel<float, 4, 8>(float**)", "symm_mem::one_shot_all_reduce")
custom("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "deep_ep::dispatch")


# Copies, and what a file can't say


@planted("copying", 0.71, "HtoD|aten::copy_", says="pin")
def a_pageable_batch(run):  # pinned memory lets it run beside the step
    for _ in run.steps(4):
        run.copy(TO_GPU, 25_000, blocks=True)
        run.step()


@planted("copying", 0.71, "HtoD|aten::copy_", never="pin_memory")
def a_pinned_batch(run):  # it is pinned: what's left is a stream beside, a batch ahead
    for _ in run.steps(4):
        run.copy("HtoD (Pinned -> Device)", 25_000)
        run.step()


@planted("copying", 0.67, "Memset|aten::zero_", never=HOST_COPY)
def memory_set_to_zero(run):  # no bytes come from the host
    for _ in run.steps(4):
        with run.within("aten::zero_"):
            run.launch("Memset (Device)", 20_000, "copying", "gpu_memset")
        run.step()


@planted("other|unknown", 0.75)
def kernels_that_begin_late(run):  # launched long before: they wait for what no trace shows
    for _ in run.steps(4):
        run.operators(50, 100, late=300)


# No GPU


@planted("data", 0.80, "DataLoader")
def data_on_a_cpu(run):  # the thread loads instead of computing
    for _ in run.steps(4):
        run.load(80_000)
        run.on_cpu("aten::mm", 20_000)


@planted("operators|longest", 0.80, "aten::mm")
def an_operator_on_a_cpu(run):  # the run computes; this is what it computes most
    for _ in run.steps(4):
        run.on_cpu("aten::mm", 80_000)
        run.on_cpu("aten::relu", 20_000)


@planted("python", 0.80, r"^tokenizer\.py\(88\): encode$")
def python_on_a_cpu(run):  # no operator for 80 ms of 100
    with run.frames(*TRAIN):
        for _ in run.steps(4):
            run.python(80_000, "tokenizer.py(88): encode")
            run.on_cpu("aten::mm", 20_000)


@pytest.mark.parametrize("case", CASES)
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


@pytest.mark.parametrize("case", [case for case in CASES if case.values[0].mendable])
def test_what_the_simulated_run_gains_is_what_was_worked_out_by_hand(case):
    share, slack = case.gain()
    assert share == pytest.approx(case.share, abs=0.005) and slack < 0.05


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
    run = Run()
    data_before_the_first_kernel(run)
    gpu = kind == ON_GPU
    where = (7, 0) if gpu else (100, 100)
    event = span(*kind, begin, took, *where, **(KERNEL if gpu else {}))
    if took is None:
        del event["dur"]
    clean, odd = read_trace(run.write(tmp_path)), read_trace(run.write(tmp_path, event))
    assert findings(odd) == findings(clean)
    assert sum(odd.left_out.values()) + sum(odd.repaired.values()) == 1


def test_kernels_that_overlap_the_next_of_their_stream_are_cut_there(tmp_path):
    run = Run()
    data_before_the_first_kernel(run)
    clean = findings(read_trace(run.write(tmp_path)))
    for event in run.of("kernel")[:-1:2]:  # in the file alone: the next ones begin as they did
        event["dur"] *= 3
    odd = read_trace(run.write(tmp_path))
    assert findings(odd)[0] == clean[0]
    assert sum(odd.repaired.values()) == 25


def test_devices_that_the_reader_does_not_know_are_counted(tmp_path):  # 11
    events = [span("mtia_ccp_events", "gemm", BEGIN + 10 * place, 8) for place in range(258)]
    trace = read(tmp_path, [*events, span("cpu_op", "aten::mm", BEGIN, 2580)])
    assert sum(n for what, n in trace.left_out.items() if "mtia_ccp_events" in what) == 258


def test_no_heading_of_steps_without_steps(tmp_path, capsys):  # 12
    run = Run()
    without_steps(run)
    assert not main(["trace", str(run.write(tmp_path)), "--steps"])
    assert not re.search(r":\s*$|:\n\s*\n", capsys.readouterr().out)


def test_single_all_reduces_and_late_launches_are_both_named(tmp_path):  # 13
    run = Run()
    for _ in run.steps(4):
        run.operators(1000, 5)
        for _ in range(404):
            run.collective("c10d::allreduce_", "nccl:all_reduce", REDUCE, 50)
    shares = {one.cause: one.share for one in findings(read_trace(run.write(tmp_path)))}
    total = 1000 * 25 + 404 * 45  # the host is the limit, at 45 µs for a collective
    assert shares["communication"] == pytest.approx(404 * 50 / total, abs=0.01)
    assert shares["launching"] == pytest.approx(1 - (5000 + 404 * 50) / total, abs=0.01)


def test_each_gpu_of_a_file_has_its_own_answer(tmp_path):
    first, second = Run(), Run(pid=200, device=1)
    healthy(first)
    data_before_the_first_kernel(second)
    trace = read_trace(first.write(tmp_path, *second.events))
    assert [findings(trace, device)[0].cause for device in (0, 1)] == ["longest", "data"]
