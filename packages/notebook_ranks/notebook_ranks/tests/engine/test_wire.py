"""Lines between the helper and its ranks: whole messages, and only for who has the key."""

import socket
import threading

import pytest

from notebook_ranks import messages
from notebook_ranks.engine import wire

HELLO = messages.Hello(1, 2, 3, "here")
HALF = messages.Printed("stdout", "≈ \ud800")  # of a character, as odd files' names have


@pytest.fixture
def listener():
    found = wire.Listener()
    yield found
    found.close()


def calling(listener, address):
    """The listener's end of a line, and what the caller got: the other end, or an error."""
    found = []

    def call():
        try:
            found.append(wire.dial(address))
            found[0].send(HELLO)
        except Exception as error:
            found.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    accepted = listener.accept(60)
    caller.join()
    return accepted[0] if accepted else None, found[0]


def test_messages_and_payloads_arrive_whole(listener):
    mine, theirs = calling(listener, listener.address)
    sender = threading.Thread(target=theirs.send, args=(HALF, b"\0" * 50_000_000))
    sender.start()
    message, payload = mine.receive()
    sender.join()
    assert message.text == "≈ ?" and payload == b"\0" * 50_000_000
    assert not mine.ended
    theirs.close()
    assert mine.waiting(60) and mine.ended
    mine.close()


def test_who_hasnt_the_key_or_says_nothing_gets_no_line(listener, monkeypatch):
    host, port, _ = listener.address.split(":")
    mine, error = calling(listener, f"{host}:{port}:{'00' * 16}")
    assert mine is None and isinstance(error, Exception)
    monkeypatch.setattr(wire, "HANDSHAKE_SECONDS", 1)
    with socket.create_connection((host, int(port))):
        assert listener.accept(60) is None
    silent = threading.Thread(target=lambda: wire.dial(listener.address).waiting(60))
    silent.start()  # it knows the key, and hangs before it says which rank it is
    assert listener.accept(60) is None
    silent.join()
    monkeypatch.undo()
    mine, theirs = calling(listener, listener.address)
    mine.close()
    theirs.close()
