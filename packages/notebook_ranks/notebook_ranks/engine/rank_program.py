"""What a rank runs: it dials the notebook and does what it is told, cell after cell."""

import faulthandler
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from notebook_ranks import processes
from notebook_ranks.cells import cell, output, place, stand_ins
from notebook_ranks.engine import beginning, wire
from notebook_ranks.engine.ids import NAMES, find_ids
from notebook_ranks.groups import flight, notes, spawned, waits
from notebook_ranks.groups.group import ENDED, Group
from notebook_ranks.groups.steps import Counter

TICK_SECONDS = 0.2


class Rank:
    """One rank: its line to the notebook, its namespace, its process group."""

    def __init__(self, line: wire.Line, ids: beginning.Ids, pipe: tuple[int, int]) -> None:
        self.line, self.ids = line, ids
        self.pid, self.main = os.getpid(), threading.get_ident()
        self.orders: queue.SimpleQueue[tuple[wire.Message, bytes]] = queue.SimpleQueue()
        self.busy, self.prepared, self.finished = False, False, 0
        self.output = output.Output(*pipe, self._print)
        self.names: dict[str, Any] = {}
        self.group: Group | None = None
        self.flight, self.counter = flight.Reader(), Counter()

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
        server = self._serve_store() if wire.STORE in os.environ else None
        self.line.send(
            {
                "rank": self.ids.rank, "world_size": self.ids.world_size, "pid": self.pid,
                "host": socket.gethostname(), "port": server.port if server else None,
            }
        )  # fmt: skip
        welcome, _ = self.line.receive()
        self.group = beginning.open_group(self.ids, welcome, server)
        self.names = beginning.namespace(self.ids, self.group)
        self.output.end()

    def _serve_store(self) -> Any:
        import torch.distributed as dist

        if self.ids.rank:
            return None
        size = self.ids.world_size
        return dist.TCPStore("0.0.0.0", 0, size, is_master=True, wait_for_workers=False)

    def _do(self, order: wire.Message, payload: bytes) -> None:
        self.output.begin()
        result, failure, before = None, dict[str, Any](), spawned.begun()
        self.finished, filename = 0, order.get("filename", "")
        try:
            self.busy = True
            do = self._work
            result, failure = cell.attempt(lambda: do(order)(order, payload), filename)
            self.busy = False
        except KeyboardInterrupt:  # it came when the work was done
            self.busy = False
        if os.getpid() != self.pid:
            return
        if failure:
            spawned.end(spawned.begun() - before)
        self.output.end()
        cell.locate(failure, filename)
        if self.group and self.group.is_an_ended_one(failure):
            failure |= {"kind": "python", "message": ENDED}
        failure |= {"final": True} if self._is_lost(failure) else {}
        done = {"type": "done", "id": order["id"], "failure": failure, **self._done()}
        self.line.send(done, result or b"")
        self.finished = order["id"]

    def _is_lost(self, failure: wire.Message) -> bool:
        """Whether a rank can't go on after a failure: NCCL's may leave a GPU in any state."""
        nccl = self.group is not None and self.group.backend == "nccl"
        return nccl and failure.get("kind") == "group"

    def _done(self) -> wire.Message:
        """What this rank did with the others, and where it stands in its groups."""
        return {**self.counter.told(self.flight), "calls": notes.new_calls()}

    def _say_what_is_left(self) -> None:
        """Once after an order, where others may still be at it: what they can expect from here."""
        if self.finished:
            order, self.finished = self.finished, 0
            self.line.send({"type": "state", "id": order, "state": waits.left_by(self.main)})

    def _work(self, order: wire.Message) -> Callable[[wire.Message, bytes], bytes | None]:
        if not self.prepared:
            beginning.prepare()
            self.prepared = True
        if self.group and "timeout" in order:
            self.group.prepare(order)
            self.counter.recorded = self.group.backend == "gloo" and not order["debug"]
        return getattr(self, f"_{order['do']}")

    def _ready(self, order: wire.Message, _payload: bytes) -> None:
        """What comes before a cell: the stores that it makes again are let go."""
        stand_ins.release(order.get("stores", []), self.names)

    def _cell(self, order: wire.Message, _payload: bytes) -> None:
        place.remember(order["filename"], order["shown"], order["called"])
        sys.argv = ["cell", *order["argv"]]
        cell.run_cell(order["source"], order["filename"], self.names)

    def _call(self, _order: wire.Message, payload: bytes) -> bytes:
        return cell.call(payload, self.names)

    def _push(self, _order: wire.Message, payload: bytes) -> None:
        self.names |= cell.unpack(payload)

    def _pull(self, order: wire.Message, _payload: bytes) -> bytes:
        return cell.pack(eval(order["name"], self.names))

    def _listen(self) -> None:
        """Answers at once while the main thread works: where it is, and to stop."""
        parent = os.getppid()
        try:
            while True:
                if not self.line.waiting(TICK_SECONDS):
                    if os.getppid() != parent:
                        raise EOFError
                    self._relieve()
                    self._say_what_is_left()
                    continue
                order, payload = self.line.receive()
                if order["do"] == "where":
                    self._say_where(order)
                elif order["do"] == "interrupt":
                    signal.pthread_kill(self.main, signal.SIGINT)
                elif order["do"] == "free":
                    self._free()
                elif order["do"] == "exit":
                    raise EOFError
                else:
                    self.orders.put((order, payload))
        except (EOFError, OSError):
            end(self.pid)

    def _relieve(self) -> None:
        """Between two orders: what was printed is on its way soon."""
        if self.busy:
            self.output.flush()

    def _say_where(self, order: wire.Message) -> None:
        nccl = self.group is not None and self.group.backend == "nccl"
        try:
            found = place.with_wait(place.of_thread(self.main), self.main, nccl)
        except Exception:  # whoever watches must outlive what it sees
            found = place.describe([]) | {"mark": "", "wait": None, "needs": [], "acting": []}
        found["cpu"] = time.process_time() - time.thread_time()  # to look costs some itself
        found["used"] = found["cpu"] + processes.seconds_of_children()
        found["begun"] = self.counter.begun()
        self.line.send({"type": "where", "id": order["id"], "place": found})

    def _free(self) -> None:
        """Ends the waits for other ranks, of which it is sure that they would never end."""
        with suppress(Exception):  # whoever watches must outlive what it does
            if self.group:
                self.group.give_up()

    def _print(self, stream: str, text: str) -> None:
        self.line.send({"type": "out", "stream": stream, "text": text})

    def _interrupted(self, _signal: int, _frame: Any) -> None:
        if self.busy:
            raise KeyboardInterrupt

    def _in_child(self) -> None:
        """A process that the rank forks must not speak on the rank's line, nor in its groups."""
        self.line.close()
        spawned.in_fork()


def end(pid: int) -> None:
    """Ends this rank and every process that it started, at once."""
    if os.getpgid(0) == pid:
        os.killpg(pid, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """A rank that someone else's starter began."""
    ids = find_ids()
    os.environ.update(ids)
    own = beginning.Ids(*(int(ids.get(name, ids["RANK"])) for name in NAMES[:3]))
    Rank(wire.dial(os.environ[wire.ADDRESS]), own, os.pipe()).serve()


if __name__ == "__main__":
    main()
