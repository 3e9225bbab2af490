"""Messages between two processes, over gloo: a queue of the device sends, the other one answers.

`python -m tools.diagnosed_runs.messages FILE LENGTH…` is the other: it adds zeros to what it is
sent, one message after the other, of these lengths, again and again until it is ended.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import torch
import torch.distributed as dist

from tools.diagnosed_runs.queue_device import KERNEL, Device, Queue, QueueTensor

PATIENCE = timedelta(seconds=60)


class Messages:
    """A second queue, whose kernels are messages. Use it in a `with`: it starts the other process.

    A step sends messages of these lengths, in this order.
    """

    def __init__(self, device: Device, lengths: Sequence[int]) -> None:
        self.device, self.lengths = device, lengths
        self.queue = Queue()

    def __enter__(self) -> Self:
        self.folder = tempfile.TemporaryDirectory()
        file = str(Path(self.folder.name) / "store")
        command = [sys.executable, "-m", __spec__.name, file, *map(str, self.lengths)]
        self.other = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _join(file, 0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.other.kill()
        self.other.wait()
        dist.destroy_process_group()
        self.folder.cleanup()

    def add(self, values: QueueTensor) -> None:
        """Launches the message that adds the other's numbers; it begins when these are there."""
        self.device.launch_all()
        self.queue.wait_event(self.device.record_event())
        cell = values.cell
        self.queue.launch(
            lambda: dist.all_reduce(cell.values), f"{KERNEL} gloo:all_reduce n={values.numel()}"
        )

    def arrive(self) -> None:
        """What is launched on the device from now on comes after all messages."""
        self.device.launch_all()
        self.device.queue.wait_event(self.queue.record_event())


def _join(file: str, rank: int) -> None:
    dist.init_process_group("gloo", f"file://{file}", timeout=PATIENCE, rank=rank, world_size=2)


def answer(file: str, lengths: Sequence[int]) -> None:
    """The other process: takes part in every message."""
    torch.set_num_threads(1)
    _join(file, 1)
    kept = [torch.zeros(length) for length in lengths]
    while True:
        for values in kept:
            dist.all_reduce(values.zero_())


if __name__ == "__main__":
    answer(sys.argv[1], [int(length) for length in sys.argv[2:]])
