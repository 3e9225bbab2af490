"""Messages between the notebook and its ranks: an authenticated local or remote connection.

A message is one of `messages`, as JSON, and, where values travel, a payload of bytes. Orders and
cells are text; only values that the reader asks for are pickled.
"""

import json
import os
import select
import socket
import struct
import threading
import time
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge, wait
from typing import Any

import msgspec

from notebook_ranks import messages

ADDRESS = "NOTEBOOK_RANKS"  # the environment variable that says where to dial: host:port:key
PREPARE = "NOTEBOOK_RANKS_PREPARE"  # "module:function", called in each rank before its first cell
HANDSHAKE_SECONDS = 5
SEND_SECONDS = 20
HEARS = {kind: msgspec.json.Decoder(kind) for kind in (messages.ToNotebook, messages.FromNotebook)}


class Line:
    """One end of a connection; any thread may send, one receives.

    Raises: EOFError or OSError where the other end is gone.
    """

    def __init__(self, connection: Connection, hears: Any = messages.FromNotebook) -> None:
        self.connection, self._hears = connection, hears
        self._sending = threading.Lock()

    def send(self, message: msgspec.Struct, payload: bytes = b"") -> None:
        try:
            head = msgspec.json.encode(message)
        except UnicodeEncodeError:  # half of a character, as an odd file's name has
            text = json.dumps(msgspec.to_builtins(message), ensure_ascii=False)
            head = text.encode(errors="replace")
        with self._sending:
            self.connection.send_bytes(struct.pack("!I", len(head)) + head + payload)

    def receive(self) -> tuple[Any, bytes]:
        """The next message; waits for it."""
        found = self.connection.recv_bytes()
        (length,) = struct.unpack_from("!I", found)
        return HEARS[self._hears].decode(found[4 : 4 + length]), found[4 + length :]

    def waiting(self, seconds: float = 0) -> bool:
        """Whether a message comes within that time."""
        return self.connection.poll(seconds)

    @property
    def peer(self) -> str:
        """The address of the machine at the other end."""
        with socket.socket(fileno=os.dup(self.connection.fileno())) as same:
            return same.getpeername()[0]

    @property
    def ended(self) -> bool:
        """Whether the other end is gone, even if what it said before isn't read; reads nothing."""
        if gone := getattr(select, "POLLRDHUP", 0):  # Linux
            asked = select.poll()
            asked.register(self.connection, gone)
            return bool(asked.poll(0))
        if not self.connection.poll(0):
            return False
        with socket.socket(fileno=os.dup(self.connection.fileno())) as same:
            try:
                return same.recv(1, socket.MSG_PEEK) == b""
            except OSError:
                return True

    def close(self) -> None:
        self.connection.close()


class Listener:
    """Accepts the ranks that dial in; only those with the key get through."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._key = os.urandom(16)
        self._server = socket.create_server((host, 0))
        self._server.settimeout(HANDSHAKE_SECONDS)
        self._host = host

    @property
    def address(self) -> str:
        """Host, port and key, which a rank needs to dial."""
        return f"{self._host}:{self._server.getsockname()[1]}:{self._key.hex()}"

    def accept(self, seconds: float = 0) -> tuple[Line, Any] | None:
        """A line to the caller that knows the key, with its first message.

        None if nobody calls in that time, or says nothing for HANDSHAKE_SECONDS.
        """
        if not wait([self._server], seconds):
            return None
        try:
            caller, _ = self._server.accept()
        except OSError:
            return None
        connection = _connection(caller)
        _limit(connection, receive=HANDSHAKE_SECONDS, send=HANDSHAKE_SECONDS)
        line = Line(connection, messages.ToNotebook)
        try:
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            hello, _ = line.receive()
        except Exception:
            connection.close()
            return None
        _limit(connection, receive=0, send=SEND_SECONDS)
        return line, hello

    def close(self) -> None:
        self._server.close()


def dial(address: str, patience_seconds: float = 30) -> Line:
    """A line to the notebook that listens at `address`; tries again while nobody answers.

    The notebook may be busy and greet later. On this machine it listened before it started anybody:
    who is refused there comes too late.
    Raises: OSError where nobody answers in that time, AuthenticationError for a wrong key.
    """
    host, port, key = address.rsplit(":", 2)
    end = time.monotonic() + patience_seconds
    while True:
        try:
            caller = socket.create_connection((host, int(port)), timeout=HANDSHAKE_SECONDS)
            break
        except OSError as error:
            gone = isinstance(error, ConnectionRefusedError) and host.startswith("127.")
            if gone or time.monotonic() > end:
                raise
            time.sleep(0.1)
    caller.settimeout(None)
    connection = _connection(caller)
    answer_challenge(connection, bytes.fromhex(key))
    deliver_challenge(connection, bytes.fromhex(key))
    return Line(connection)


def _connection(caller: socket.socket) -> Connection:
    caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or 40 ms a cell
    caller.setblocking(True)
    return Connection(caller.detach())


def _limit(connection: Connection, receive: float, send: float) -> None:
    """Limits a system call, in seconds: a stopped rank must not stop the notebook. 0: no limit."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        for option, seconds in ((socket.SO_RCVTIMEO, receive), (socket.SO_SNDTIMEO, send)):
            same.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(seconds), 0))
