"""The helper that imports torch once and forks ranks: `python -m notebook_ranks.engine.forker`.

It runs no operator, starts no thread and never touches CUDA, so that its children may. When the
notebook goes, however it goes, the helper kills every process that came from it, and ends.
"""

import gc
import os
import signal
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path

from notebook_ranks import messages, processes
from notebook_ranks.cells import shell
from notebook_ranks.engine import rank_program, wire

LAST_WORDS = 20_000  # bytes
POLL_SECONDS = 0.25
# What torch.optim and DDP import in each rank anyway, a second's work; it may ask about GPUs, after
# which a child couldn't use them: so not where one is (NVIDIA's, WSL's, AMD's).
GPU_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")


class Forker:
    """Forks the ranks; keeps their pids, and the pipes that bring what each wrote as it ended."""

    def __init__(self, line: wire.Line, address: str, bell: int) -> None:
        self.line, self.address, self.bell = line, address, bell
        self.ranks: dict[int, tuple[int, int]] = {}  # pid: rank, reading end of its pipe

    def serve(self) -> None:
        """Forks and kills on request, until the notebook is gone."""
        notebook = os.getppid()
        self.line.send(messages.HelperReady())
        try:
            while os.getppid() == notebook:
                ready = wait([self.line.connection, self.bell], POLL_SECONDS)
                if self.bell in ready:
                    os.read(self.bell, 4096)
                self.reap()
                if self.line.connection in ready:
                    order, _ = self.line.receive()
                    self.obey(order)
        except (EOFError, OSError):
            pass
        finally:
            self.kill()

    def obey(self, order: messages.Fork | messages.Kill) -> None:
        self.kill()
        if isinstance(order, messages.Fork):
            for rank in range(order.n):
                self.fork(rank, order)
        else:
            self.line.send(messages.Killed())

    def fork(self, rank: int, order: messages.Fork) -> None:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        pid = os.fork()
        if pid == 0:
            try:
                self.become(rank, order, (reading, writing))
            except BaseException:
                os.write(writing, traceback.format_exc().encode())
            finally:
                os._exit(1)
        os.close(writing)
        self.ranks[pid] = (rank, reading)

    def become(self, rank: int, order: messages.Fork, pipe: tuple[int, int]) -> None:
        """The child's side: a rank in a session of its own, as the notebook's twin."""
        os.setsid()
        processes.die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.line.close()
        for _, other in self.ranks.values():
            os.close(other)
        os.chdir(order.folder)
        sys.path[:] = order.path
        os.environ.clear()
        os.environ.update(order.environment)
        ids = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": order.n, "LOCAL_WORLD_SIZE": order.n}
        os.environ.update({name: str(value) for name, value in ids.items()})
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        line = wire.dial(self.address)
        own = rank_program.Ids(rank, order.n, rank)
        rank_program.Rank(line, own, pipe).serve()

    def reap(self) -> None:
        """Tells the notebook of each rank that ended, with what it said at the end."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid in self.ranks:
                    rank, reading = self.ranks.pop(pid)
                    words = read_all(reading)
                    os.close(reading)
                    code = os.waitstatus_to_exitcode(status)
                    self.line.send(messages.Died(pid, code, words, printed=words, rank=rank))

    def kill(self) -> None:
        """Ends every rank, all that they started, and all that those left behind."""
        left = {*self.ranks, *processes.children()}
        while left:
            for pid in left:
                processes.kill_group(pid)
            for pid in left:
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)
            left = set(processes.children())
        for _, reading in self.ranks.values():
            os.close(reading)
        self.ranks.clear()


def read_all(reading: int) -> str:
    """Reads what is left in a pipe; only its end if it is long."""
    found = b""
    with suppress(BlockingIOError):
        while piece := os.read(reading, 65536):
            found = (found + piece)[-LAST_WORDS:]
    return found.decode(errors="replace")


def main() -> None:
    address = os.environ.pop(wire.ADDRESS)
    import torch.distributed
    import torch.nn.parallel

    if not any(Path(device).exists() for device in GPU_DEVICES):
        import torch._dynamo  # noqa: F401

    line = wire.dial(address)
    processes.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    shell.make()
    gc.collect()
    gc.freeze()
    Forker(line, address, reading).serve()


if __name__ == "__main__":
    main()
