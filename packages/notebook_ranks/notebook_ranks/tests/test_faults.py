"""What goes wrong on ranks, on purpose, in a real kernel: a message, and a usable notebook."""

import pytest

from notebook_ranks.tests import cases

IMPORTS = "import os, signal, sys, threading, time\n"
WAITING = "barrier: dist.barrier()"
# On a processor nothing hangs in a device: a stand-in reads as what does, and waits for a peer.
DEVICE = """
x = torch.ones(2)
lock = threading.Lock()
class Loss:
    item = staticmethod(lock.acquire)
Loss.item()
"""
GONE = "the next cell gets fresh ranks"
KEPT = "variables are still there"
DEADLOCK = "✗ Deadlock: these ranks wait for something that will never come."
DEAF_SECONDS, PATIENT_SECONDS = 2, 30  # how long a rank may take to stop when it is asked to

# Name: what the cell does, what its message must say, its options.
FAULTS = {
    "one rank raises, the others wait": (
        "if rank == 1:\n    y = 1 / 0\ndist.barrier()",
        ["✗ rank 1, line 4: ZeroDivisionError: division by zero\n    4 | y = 1 / 0",
         f"ranks 0, 2 and 3: waiting at line 5 in {WAITING}", KEPT], "",
    ),
    "all ranks raise": ("y = 1 / 0", ["✗ ranks 0–3, line 3: ZeroDivisionError", KEPT], ""),
    "a rank is killed": (
        "if rank == 2:\n    os.kill(os.getpid(), signal.SIGKILL)\ndist.barrier()",
        ["✗ rank 2", "died (killed by SIGKILL", "perhaps for want of memory", GONE], "",
    ),
    "different collectives": (
        "x = torch.ones(3)\nif rank == 0:\n    dist.broadcast(x, 0)\ndist.all_reduce(x)",
        [DEADLOCK, "rank 0: waiting at line 5 in broadcast of float32 [3]",
         "ranks 1–3: waiting at line 6 in all_reduce of float32 [3]", KEPT], "",
    ),
    "a rank doesn't come": (
        "if rank < 3:\n    dist.barrier()",
        [DEADLOCK, f"ranks 0–2: waiting at line 4 in {WAITING}", "rank 3 had finished", KEPT], "",
    ),
    "different types": (
        "x = torch.ones(3, dtype=[torch.float32, torch.int32][rank % 2])\ndist.all_reduce(x)",
        ["called one collective with different tensors", "ranks 0 and 2: all_reduce of float32 [3]",
         "ranks 1 and 3: all_reduce of int32 [3]"], "",
    ),
    "a rank exits": (
        "if rank == 3:\n    sys.exit(3)\ndist.barrier()", ["✗ rank 3, line 4: SystemExit: 3"], "",
    ),
    "a rank crashes": (
        "import ctypes\nif rank == 3:\n    ctypes.string_at(0)\ndist.barrier()",
        ["✗ rank 3, line 5: died (killed by SIGSEGV)", "5 | ctypes.string_at(0)"], "",
    ),
    "an endless loop, the others wait": (
        "while rank == 1:\n    pass\ndist.barrier()",
        ["Stopped after its limit of 5 s", "rank 1: working at line",
         f"waiting at line 5 in {WAITING}", KEPT],
        "--timeout 5",
    ),
    "endless output": (
        "while rank == 1:\n    print('spam' * 20)",
        ["Stopped after its limit of 3 s", "more than 100,000 characters in one cell"],
        "--timeout 3",
    ),
    "not enough memory": (
        "torch.empty(10**14)",
        ["✗ ranks 0–3, line 3: RuntimeError", "can't allocate memory", KEPT], "",
    ),
}  # fmt: skip
RARE_FAULTS = {
    "a rank is stopped": (
        "if rank == 2:\n    os.kill(os.getpid(), signal.SIGSTOP)\ndist.barrier()",
        ["Stopped after its limit of 5 s", f"ranks 0, 1 and 3: waiting at line 5 in {WAITING}",
         "rank 2: stopped by a signal (SIGSTOP)", GONE], "--timeout 5",
    ),
    "different shapes": (
        "x = torch.ones(3 + rank)\ndist.all_reduce(x)", ["all_reduce", "float32"], "",
    ),
    "endless output of a program": (
        "if rank == 1:\n    os.system('yes')",
        ["Stopped after its limit of 3 s", GONE], "--timeout 3",
    ),
    "a rank that never began a group": (
        "dist.destroy_process_group()\nif rank:\n    dist.init_process_group('gloo')",
        [DEADLOCK, "ranks 1–3: waiting at line 5 in init_process_group", KEPT], "",
    ),
    "a loss that never comes": (
        DEVICE + "if rank:\n    work = dist.all_reduce(x, async_op=True)\n    Loss.item()",
        [DEADLOCK, "ranks 1–3: waiting at line 11 for the device, where all_reduce", GONE], "",
    ),
}  # fmt: skip


@pytest.fixture
def deaf(kernel):
    """For ranks that don't stop when they are asked to."""
    kernel.run(f"crew.STOP_SECONDS = {DEAF_SECONDS}")
    yield
    kernel.run(f"crew.STOP_SECONDS = {PATIENT_SECONDS}")


@pytest.mark.parametrize("name", cases(FAULTS, RARE_FAULTS))
def test_a_fault_is_named_and_the_notebook_stays_usable(kernel, name, request):
    code, says, options = {**FAULTS, **RARE_FAULTS}[name]
    if GONE in says:
        request.getfixturevalue("deaf")
    found = kernel.cell(IMPORTS + code, f"4 {options}")
    said = found.error + found.text
    for words in says:
        assert words in said
    assert kernel.works()


HARMLESS = {
    "a slow rank": "if rank == 2:\n    time.sleep(4.5)\ndist.barrier()\n"
    "if rank != 2:\n    time.sleep(0.3)",
    "processes and threads that go on, and words that are no text": "if os.fork() == 0:\n"
    "    time.sleep(1000)\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n"
    "dist.barrier()\nprint('\\ud800\\0\\x1b[31m\\r')",
    "a fork that runs on": "os.fork()",
    "workers of a loader": "from torch.utils.data import DataLoader\n"
    "n = sum(len(b) for b in DataLoader(list(range(40)), batch_size=4, num_workers=2))",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_odd_but_right_goes_through_and_is_ended_with_the_ranks(kernel, name):
    assert kernel.cell(IMPORTS + HARMLESS[name], "4").error == ""
    kernel.run("ranks.restart()")
    assert kernel.works()


INTERRUPTED = {
    "a loop": ("while True:\n    pass", KEPT),
    "a collective": ("if rank:\n    dist.barrier()\ntime.sleep(1000)", KEPT),
    "a loop that swallows it": (
        "while True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass",
        GONE,
    ),
}  # fmt: skip
RARELY_INTERRUPTED = {
    "a stopped rank": (
        "if rank:\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(1000)", GONE,
    ),
    "endless output": ("while True:\n    print('spam')", KEPT),
}  # fmt: skip


@pytest.mark.parametrize("name", cases(INTERRUPTED, RARELY_INTERRUPTED))
def test_an_interrupt_reaches_every_rank(kernel, name, request):
    code, kept = {**INTERRUPTED, **RARELY_INTERRUPTED}[name]
    if kept == GONE:
        request.getfixturevalue("deaf")
    kernel.cell("mine = rank", "4")
    start = "dist.barrier()\nprint('started', flush=True)\n"
    found = kernel.cell(IMPORTS + start + code, interrupt_when="[rank 0] started")
    assert found.error.startswith("RanksInterrupted: ✗ Interrupted.") and kept in found.error
    said = kernel.cell("print(mine)")
    assert ("[rank 3] 3" in said.text) is (kept == KEPT)
    assert kernel.works()


def test_an_idle_kernel_that_is_interrupted_keeps_its_ranks(kernel):
    kernel.cell("mine = rank", "2")
    kernel.interrupt()
    assert kernel.cell("mine").text == "[rank 0] 0\n[rank 1] 1\n"
