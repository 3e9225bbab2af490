"""Faults drawn at random: who, when and in which of torch's own loops; and what must be said.

A kind is a function that draws a cell: its source, its options, and words that its message must
hold. No words: the cell must go through.
"""

import random
from collections.abc import Callable

from notebook_ranks.tests.programs import IMPORTS

Fault = tuple[str, str, list[str]]
RANKS, SECONDS = 3, 0.5
LOOP = f"""
go_on, end = torch.ones(1), time.monotonic() + {SECONDS}
while go_on:
    {{step}}
    go_on = torch.tensor([float(time.monotonic() < end)])
    dist.broadcast(go_on, 0)
"""
MODEL = """
net = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(4)))
ddp = torch.nn.parallel.DistributedDataParallel(net)
def ring():
    ops = [dist.P2POp(dist.isend, x, (rank + 1) % world_size),
           dist.P2POp(dist.irecv, torch.ones(2), (rank - 1) % world_size)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
"""
TRAINING = "ddp(torch.rand(8, 16)).sum().backward()"
STEPS = [
    TRAINING,
    "dist.all_reduce(x)",
    "dist.all_reduce(torch.ones(1_000_000))",
    "dist.all_gather_object([None] * world_size, {'rank': rank})",
    "ring()",
    "[w.wait() for w in [dist.all_reduce(x, async_op=True) for _ in 'abc']]",
    "dist.new_group([0, 1, 2])",
    "torch.rand(300, 300) @ torch.rand(300, 300)",
    "time.sleep(0.01)",
]
SIGNALS = {"SIGKILL": 9, "SIGTERM": 15, "SIGSEGV": 11, "SIGABRT": 6, "SIGUSR1": 10, "SIGRTMIN": 34}


def program(step: str, before: str = "") -> str:
    """A cell that repeats a step until rank 0 has enough."""
    return IMPORTS + MODEL + before + LOOP.format(step=step)


def signalled(draw: random.Random) -> Fault:
    """A signal that ends a rank, at any moment of a loop."""
    who, (name, number) = draw.randrange(RANKS), draw.choice([*SIGNALS.items()])
    when, step = draw.uniform(0, 0.8 * SECONDS), draw.choice(STEPS)
    kill = f"threading.Timer({when}, os.kill, (os.getpid(), {number})).start()"
    before = f"if rank == {who}:\n    {kill}\n"
    after = f"if rank == {who}:\n    time.sleep(60)\ndist.barrier()\n"  # a late timer has time
    return program(step, before) + after, "", [f"✗ rank {who}", f"killed by {name}"]


def stopped_and_continued(draw: random.Random) -> Fault:
    """A rank that somebody stops and lets go on: nothing is wrong."""
    who, when, pause = draw.randrange(RANKS), draw.uniform(0, 0.5), draw.uniform(0.1, 1.5)
    words = f"sleep {when:.2f}; kill -STOP {{me}}; sleep {pause:.2f}; kill -CONT {{me}}"
    start = f"me = os.getpid()\n    stopper = subprocess.Popen(['sh', '-c', f'{words}'])"
    before = f"if rank == {who}:\n    {start}\n"
    after = f"if rank == {who}:\n    stopper.wait()\n"
    return program(draw.choice(STEPS), before) + after, "", []


def raised(draw: random.Random) -> Fault:
    """An error in code that torch calls, or that calls torch."""
    who = draw.randrange(RANKS)
    fail = f"_fail() if rank == {who} and time.monotonic() > begun + {draw.uniform(0, 0.3):.2f} "
    fail += "else None"
    before = "begun = time.monotonic()\ndef _fail():\n    raise LookupError('lost')\n"
    where = draw.choice(["step", "hook", "forward"])
    if where == "hook":
        before += f"net[0].weight.register_hook(lambda grad: {fail})\n"
    if where == "forward":
        before += f"net[1].register_forward_hook(lambda *_: {fail})\n"
    step = f"{TRAINING}; {fail}" if where == "step" else TRAINING
    after = f"time.sleep(0.3)\n{step}\n"
    return program(step, before) + after, "", [f"✗ rank {who}", "LookupError: lost"]


def left(draw: random.Random) -> Fault:
    """A rank that leaves: by an exit, or by what ends its process."""
    who, status = draw.randrange(RANKS), draw.randrange(1, 100)
    how, says = draw.choice(
        [
            (f"sys.exit({status})", f"SystemExit: {status}"),
            (f"os._exit({status})", f"exited with status {status}"),
            ("os.abort()", "killed by SIGABRT"),
            ("__import__('ctypes').string_at(0)", "killed by SIGSEGV"),
        ]
    )
    now = f"rank == {who} and time.monotonic() > end - {draw.uniform(0, 0.9):.2f}"
    step = f"{draw.choice(STEPS)}\n    if {now}:\n        {how}"
    after = f"if rank == {who}:\n    {how}\n"
    return program(step) + after, "", [f"✗ rank {who}", says]


def hung(draw: random.Random) -> Fault:
    """A rank that works for ever while the others wait, work, or sleep."""
    who = draw.randrange(RANKS)
    hang = draw.choice(["while True: pass", "time.sleep(100)", "threading.Event().wait()"])
    code = f"if rank == {who}:\n    {hang}\n{draw.choice(STEPS)}\n"
    return IMPORTS + MODEL + code, "--timeout 1", ["Stopped after its limit of 1 s"]


KINDS: dict[str, Callable[[random.Random], Fault]] = {
    "a signal at a random moment": signalled,
    "stopped and continued": stopped_and_continued,
    "raised in code that torch calls": raised,
    "a rank that leaves": left,
    "a rank that hangs": hung,
}
