"""Torchrun, and a port for it."""

import socket
import sys
from pathlib import Path

TORCHRUN = Path(sys.executable).with_name("torchrun")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
