"""torchrun that ends with whoever holds the other end of its standard input: a killed notebook.

Started by `launching.Launched`. With COURSE_SCRATCH it then removes that folder too.
"""

import os
import shutil
import signal
import sys
import threading
from typing import Any

SCRATCH = "COURSE_SCRATCH"


def _end(*_: Any) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def _end_with_notebook(alone: threading.Event) -> None:
    """Returns when the last who could write has gone; then torchrun is told to end."""
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
        from torch.distributed.run import main as torchrun

        torchrun()
    finally:
        folder = os.environ.get(SCRATCH)
        if folder and alone.is_set():
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
