"""The connections of a rank's process groups: cut where a group must not be used any more.

Who waits for a message on one that is cut gets an error, at both ends and in whatever thread. A
group that was destroyed lives on in whatever holds it (DDP, a mesh), and would go on sending to the
other ranks' old groups: without its connections it fails at once.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

OPEN_FILES = "/proc/self/fd"  # Linux; elsewhere no connection is known, and none is cut


class Connections:
    """Those that were opened while groups were made, by what the system calls each."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """What is opened in here belongs to a group."""
        before = _sockets()
        try:
            yield
        finally:
            self._known |= {name: fd for name, fd in _sockets().items() if name not in before}

    def settle(self) -> None:
        """Forgets those that are closed."""
        self._known = {name: fd for name, fd in _sockets().items() if name in self._known}

    @property
    def whole(self) -> bool:
        """Whether none was closed since they settled: whoever they lead to is still there."""
        return set(self._known) <= set(_sockets())

    def cut(self) -> None:
        """Ends all of them, here and at the other end."""
        self.settle()
        for name, descriptor in self._known.items():
            with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as same:
                same.getpeername()  # a listener has no peer, and gloo dies of one that is cut
                if _name(same.fileno()) == name:  # the descriptor may be another's by now
                    same.shutdown(socket.SHUT_RDWR)
        self._known.clear()


def _name(descriptor: int) -> str:
    return os.readlink(f"{OPEN_FILES}/{descriptor}")


def _sockets() -> dict[str, int]:
    """The sockets of this process: the system's name for each, and its descriptor."""
    found = {}
    with suppress(FileNotFoundError):
        for descriptor in os.listdir(OPEN_FILES):
            with suppress(OSError):
                name = _name(int(descriptor))
                if name.startswith("socket:"):
                    found[name] = int(descriptor)
    return found
