"""A client of Pravega's store that sends one message."""

import socket

from wiretool.testing import MockServer

#: Hello of wire version 17, oldest compatible 5.
HELLO = bytes.fromhex("ffffff81000000080000001100000005")


def exchange_hello(server: MockServer) -> bytes:
    """Send Hello and return the reply; empty where the server closes the connection."""
    with socket.create_connection(server.address, timeout=10) as connection:
        connection.sendall(HELLO)
        return connection.recv(len(HELLO), socket.MSG_WAITALL)
