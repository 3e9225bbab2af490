"""Connections of groups are cut at both ends, and nothing else is."""

import os
import socket
import sys

import pytest

from course_utils.ranks.groups.connections import Connections

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def pair():
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def test_what_was_opened_for_a_group_is_cut_at_both_ends_and_the_rest_stays(pair):
    connections = Connections()
    with connections.watched():
        listener = socket.create_server(("127.0.0.1", 0))
        here, far = socket.socketpair()
    connections.cut()
    assert here.recv(1) == far.recv(1) == b""
    pair[0].send(b"!")
    assert pair[1].recv(1) == b"!"
    dialled = socket.create_connection(listener.getsockname())  # gloo dies of a listener that ends
    for each in (listener, here, far, dialled):
        each.close()


def test_a_descriptor_that_is_somebody_elses_by_now_is_left_alone(pair, monkeypatch):
    connections = Connections()
    with connections.watched():
        mine, other = socket.socketpair()
    monkeypatch.setattr(connections, "settle", lambda: None)  # it is closed after the look
    descriptor = mine.detach()
    socket.close(descriptor)
    other.close()
    os.dup2(pair[0].fileno(), descriptor)
    connections.cut()
    pair[1].send(b"!")
    assert pair[0].recv(1) == b"!"
    os.close(descriptor)
