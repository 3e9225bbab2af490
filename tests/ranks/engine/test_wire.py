"""Lines between the helper and its ranks: whole messages, and only for who has the key."""

import multiprocessing
import socket
import threading
import time

import pytest

from course_utils.ranks.engine import wire


def connected(listener, address):
    found = []
    caller = threading.Thread(target=lambda: found.append(wire.dial(address)))
    caller.start()
    mine = listener.accept(10)
    caller.join()
    return mine, found[0]


def test_messages_and_payloads_arrive_whole():
    listener = wire.Listener()
    mine, theirs = connected(listener, listener.address)
    sender = threading.Thread(target=theirs.send, args=({"text": "≈ \ud800"}, b"\0" * 50_000_000))
    sender.start()
    message, payload = mine.receive()
    assert message == {"text": "≈ \ud800"} and payload == b"\0" * 50_000_000
    assert not mine.ended
    theirs.close()
    assert mine.waiting(10) and mine.ended
    for line in (mine, listener):
        line.close()


def test_who_hasnt_the_key_gets_no_line():
    listener = wire.Listener()
    host, port, _ = listener.address.split(":")
    wrong = f"{host}:{port}:{'00' * 16}"
    refused = []

    def call():
        try:
            wire.dial(wrong)
        except (multiprocessing.AuthenticationError, OSError, EOFError) as error:
            refused.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    assert listener.accept(10) is None
    caller.join()
    assert refused
    mine, theirs = connected(listener, listener.address)
    for line in (mine, theirs, listener):
        line.close()


def test_who_calls_and_says_nothing_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(wire, "HANDSHAKE_SECONDS", 1)
    listener = wire.Listener()
    host, port, _ = listener.address.split(":")
    with socket.create_connection((host, int(port))):
        assert listener.accept(10) is None
    listener.close()


def test_who_dials_a_notebook_that_is_gone_doesnt_wait_for_it():
    listener = wire.Listener()
    address = listener.address
    listener.close()
    start = time.monotonic()
    with pytest.raises(ConnectionRefusedError):
        wire.dial(address)
    assert time.monotonic() - start < 20  # of 30 seconds of patience
