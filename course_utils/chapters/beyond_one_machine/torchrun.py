"""torchrun that ends with whoever holds the other end of its standard input: a killed notebook.

Started by `launching.Launched`. With COURSE_SCRATCH it then removes that folder too. On Linux it
reserves the ports of its ranks' stores.
"""

import os
import shutil
import signal
import socket
import sys
import threading
from typing import Any

SCRATCH = "COURSE_SCRATCH"


_reserved: list[socket.socket] = []


def reserved_port() -> int:
    """A free port on which rank 0's store can listen, and which nobody gets by chance meanwhile.

    torch's `get_free_port` closes the port that it found, and rank 0 opens it seconds later, after
    its imports: if another program was given it, rank 0 ends with "address already in use".
    A socket that is bound and doesn't listen keeps it. Linux lets the store in beside it, since
    both set SO_REUSEADDR.
    """
    both = socket.has_dualstack_ipv6()
    held = socket.socket(socket.AF_INET6 if both else socket.AF_INET)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if both:
        held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    held.bind(("", 0))
    _reserved.append(held)
    port: int = held.getsockname()[1]
    return port


def _end(*_: Any) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def _end_with_notebook(alone: threading.Event) -> None:
    """Waits until the last writer has gone, then asks torchrun to end."""
    while os.read(sys.stdin.fileno(), 1):  # a buffered read would hold a lock as Python ends
        pass
    alone.set()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """torchrun's own program, once it is sure to end."""
    signal.signal(signal.SIGTERM, _end)  # until torchrun's agent sets its own
    alone = threading.Event()
    threading.Thread(target=_end_with_notebook, args=(alone,), daemon=True).start()
    try:
        from torch.distributed.elastic.rendezvous import api
        from torch.distributed.run import main as torchrun

        if sys.platform == "linux":
            api.get_free_port = reserved_port
        torchrun()
    finally:
        folder = os.environ.get(SCRATCH)
        if folder and alone.is_set():
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
