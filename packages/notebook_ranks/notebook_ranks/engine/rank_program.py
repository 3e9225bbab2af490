"""The program of a rank: it dials the notebook and follows its orders, cell after cell."""

import faulthandler
import os
import queue
import random
import signal
import socket
import sys
import threading
import time
import types
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from notebook_ranks import messages, processes
from notebook_ranks.cells import cell, chain, output, place, shell, stand_ins
from notebook_ranks.engine import wire
from notebook_ranks.groups import notes, spawned, waits
from notebook_ranks.groups.group import ENDED, Group, choose_backend
from notebook_ranks.groups.steps import Counter
from notebook_ranks.messages import Order, Place

TICK_SECONDS = 0.2
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
STARTERS = (  # what torchrun, Open MPI, Slurm and MPICH call these four
    NAMES,
    tuple(f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


class Ids(NamedTuple):
    """Which rank this is, of how many, and which of those on its machine."""

    rank: int
    world_size: int
    local_rank: int


class Rank:
    """One rank: its line to the notebook, its namespace, its process group."""

    def __init__(self, line: wire.Line, ids: Ids, pipe: tuple[int, int]) -> None:
        self.line, self.ids = line, ids
        self.pid, self.main = os.getpid(), threading.get_ident()
        self.orders: queue.SimpleQueue[tuple[Order, bytes]] = queue.SimpleQueue()
        self.busy, self.prepared, self.finished = False, False, 0
        self.early: list[messages.Printed] | None = []  # until the notebook has heard who this is
        self.greeting = threading.Lock()
        self.output = output.Output(*pipe, self._print)
        self.names: dict[str, Any]  # this and the group are there once the notebook has answered
        self.group: Group
        self.counter = Counter()

    def serve(self) -> None:
        """Does orders until the notebook is gone."""
        signal.signal(signal.SIGINT, self._interrupted)
        faulthandler.enable(file=2)
        os.register_at_fork(after_in_child=self._in_child)
        self._greet()
        threading.Thread(target=self._listen, daemon=True, name="listener").start()
        while True:
            order, payload = self.orders.get()
            self._do(order, payload)
            if os.getpid() != self.pid:
                sys.stdout.flush()
                os._exit(0)  # a child that the cell forked and forgot

    def _greet(self) -> None:
        """Tells the notebook who this is, hears where the others are, and fills the namespace."""
        rank, size = self.ids.rank, self.ids.world_size
        store = serve_store(self.line.peer) if rank == 0 else None
        port, host = store.port if store else None, socket.gethostname()
        with self.greeting:
            self.line.send(messages.Hello(rank, size, self.pid, host, port))
            early, self.early = self.early or [], None
        for printed in early:
            self.line.send(printed)
        welcome, _ = self.line.receive()
        self.group = open_group(self.ids, welcome, store)
        self.names = namespace(self.ids, self.group)
        self.output.end()

    def _do(self, order: Order, payload: bytes) -> None:
        self.output.begin()
        result, failure, before = None, None, spawned.begun()
        self.finished, filename = 0, getattr(order, "filename", "")
        try:
            self.busy = True
            result, failure = cell.attempt(lambda: self._work(order, payload), filename)
            self.busy = False
        except KeyboardInterrupt:  # it came when the work was done
            self.busy = False
        if os.getpid() != self.pid:
            return
        if failure:
            spawned.end(spawned.begun() - before)
        self.output.end()
        if failure:
            if self.group.is_an_ended_one(failure):
                failure.kind, failure.message = "python", ENDED
            # NCCL's failure may leave a GPU in any state.
            failure.final = self.group.backend == "nccl" and failure.kind == "group"
        records, counts = self.counter.look(self.group.backend == "gloo")
        done = messages.Done(order.id, failure, records, notes.new_calls(), counts)
        self.line.send(done, result or b"")
        self.finished = order.id

    def _say_what_is_left(self) -> None:
        """Once after an order, where others may still be at it: what they can expect from here."""
        if self.finished:
            order, self.finished = self.finished, 0
            self.line.send(messages.Left(order, waits.left_by(self.main)))

    def _work(self, order: Order, payload: bytes) -> bytes | None:
        """Does an order; its result, where it has one."""
        if not self.prepared:
            prepare()
            self.prepared = True
        if order.group:
            self.group.prepare(order.key, order.group)
        match order:
            case messages.RunCell():
                place.remember(order.filename, order.shown, order.called)
                sys.argv = ["cell", *order.argv]
                cell.run_cell(order.source, order.filename, self.names)
            case messages.CallFunction():
                return cell.call(payload, self.names)
            case messages.Push():
                self.names |= cell.unpack(payload)
            case messages.Pull():
                return cell.pack(eval(order.name, self.names))
            case messages.Prepare():
                stand_ins.release(order.stores, self.names)
        return None

    def _listen(self) -> None:
        """Answers at once while the main thread works: where it is, and to stop."""
        parent = os.getppid()
        try:
            while True:
                if not self.line.waiting(TICK_SECONDS):
                    if os.getppid() != parent:
                        raise EOFError
                    if self.busy:
                        self.output.flush()  # what was printed is on its way soon
                    self._say_what_is_left()
                    continue
                message, payload = self.line.receive()
                match message:
                    case messages.Look():
                        self._say_where(message.id)
                    case messages.Interrupt():
                        signal.pthread_kill(self.main, signal.SIGINT)
                    case messages.EndWaits():
                        self._end_waits()
                    case messages.Exit():
                        raise EOFError
                    case _:
                        self.orders.put((message, payload))
        except (EOFError, OSError):
            end(self.pid)

    def _say_where(self, order: int) -> None:
        nccl = self.group.backend == "nccl"
        try:
            found = place.with_wait(place.of_thread(self.main), self.main, nccl)
        except Exception:  # whoever watches must outlive what it sees
            found = Place()
        found.cpu = time.process_time() - time.thread_time()  # to look costs some itself
        found.used = found.cpu + processes.seconds_of_children()
        found.begun = self.counter.begun()
        self.line.send(messages.Seen(order, found))

    def _end_waits(self) -> None:
        """Ends the waits for other ranks, of which it is sure that they would never end."""
        with suppress(Exception):  # whoever watches must outlive what it does
            self.group.give_up()

    def _print(self, stream: str, text: str) -> None:
        printed = messages.Printed(stream, text)
        with self.greeting:  # a library's warning may come before the greeting, which goes first
            if self.early is not None:
                self.early.append(printed)
                return
        self.line.send(printed)

    def _interrupted(self, _signal: int, _frame: Any) -> None:
        if self.busy:
            raise KeyboardInterrupt

    def _in_child(self) -> None:
        """A process that the rank forks must not speak on the rank's line, nor in its groups."""
        self.line.close()
        spawned.in_fork()


def serve_store(notebook: str) -> Any:
    """The store in which all ranks meet; other machines reach it only if the notebook is on one."""
    import torch.distributed as dist

    here = "127.0.0.1" if notebook.startswith("127.") else "0.0.0.0"
    listening = socket.create_server((here, 0))
    port = listening.getsockname()[1]
    return dist.TCPStore(
        here, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
    )


def open_group(ids: Ids, welcome: messages.Welcome, store: Any) -> Group:
    """The rank's group, with its backend and device; `store` is the one that rank 0 serves."""
    import torch
    import torch.distributed as dist

    store = store or dist.TCPStore(welcome.host, welcome.port, is_master=False)
    notes.install()
    gpus = torch.cuda.device_count() if welcome.device != "cpu" else 0
    here = int(os.environ.get("LOCAL_WORLD_SIZE", ids.world_size))
    backend, device = choose_backend(here, gpus, ids.local_rank, welcome.device)
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    return Group(ids.rank, ids.world_size, store, backend, device)


def namespace(ids: Ids, group: Group) -> dict[str, Any]:
    """The variables of the rank's cells, in a `__main__` of their own."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    _seed(ids.rank)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    spawned.install(group.store)
    stand_ins.install()
    chain.install()
    found = module.__dict__
    found |= {"torch": torch, "dist": dist, "device": torch.device(group.device)}
    found |= {**ids._asdict(), "get_ipython": shell.make}
    ipython = shell.make()
    ipython.user_module, ipython.user_ns = module, found
    return found


def prepare() -> None:
    """Calls the function that PREPARE names, as "module:function"; it takes no arguments."""
    module, _, function = os.environ.get(wire.PREPARE, "").partition(":")
    if function:
        try:
            getattr(import_module(module), function)()
        except Exception as error:
            error.add_note(f"{wire.PREPARE} asks every rank to call {module}:{function} first.")
            raise


def _seed(rank: int) -> None:
    """Each rank draws its own numbers, the same ones in every run."""
    import numpy
    import torch

    random.seed(rank)
    numpy.random.seed(rank)
    torch.manual_seed(rank)


def find_ids() -> dict[str, str]:
    """RANK, WORLD_SIZE and their like, from the environment that torchrun, mpirun or srun set.

    Raises: LookupError where none of them did.
    """
    for theirs in STARTERS:
        if theirs[0] in os.environ and theirs[1] in os.environ:
            pairs = zip(NAMES, theirs, strict=True)
            return {name: os.environ[their] for name, their in pairs if their in os.environ}
    raise LookupError("No rank in the environment: start this with torchrun, mpirun or srun.")


def end(pid: int) -> None:
    """Ends this rank and every process that it started, at once."""
    if os.getpgid(0) == pid:
        os.killpg(pid, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """A rank that someone else's starter began."""
    import torch.distributed  # noqa: F401  before it dials: the notebook waits seconds for a hello

    ids = find_ids()
    os.environ.update(ids)
    own = Ids(*(int(ids.get(name, ids["RANK"])) for name in NAMES[:3]))
    Rank(wire.dial(os.environ[wire.ADDRESS]), own, os.pipe()).serve()


if __name__ == "__main__":
    main()
