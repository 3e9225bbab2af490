"""Connections of groups are cut at both ends, and nothing else is."""

import socket

from notebook_ranks.groups.group import Connections


def test_what_was_opened_for_a_group_is_cut_at_both_ends_and_the_rest_stays():
    connections, pair = Connections(), socket.socketpair()
    with connections.watched():
        listener = socket.create_server(("127.0.0.1", 0))
        here, far = socket.socketpair()
    connections.cut()
    assert here.recv(1) == far.recv(1) == b""
    pair[0].send(b"!")
    assert pair[1].recv(1) == b"!"
    dialled = socket.create_connection(listener.getsockname())  # gloo dies of a listener that ends
    for each in (listener, here, far, dialled, *pair):
        each.close()
