"""Check that a server accepts connections, before a run that needs it only later."""

import socket
from collections.abc import Iterable

from wiretool.errors import PeerError
from wiretool.net.addresses import Address
from wiretool.net.dialler import CONNECT_S, describe_absence


def check_reachable(addresses: Iterable[Address]) -> None:
    """Connect to each address and close the connection again. PeerError where that is refused or takes too long."""
    for address in dict.fromkeys(addresses):
        try:
            socket.create_connection(address, CONNECT_S).close()
        except (OSError, UnicodeError) as err:
            raise PeerError(describe_absence(address, err)) from err
