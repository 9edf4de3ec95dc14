"""Check that a server accepts connections, before a run that needs it only later."""

import socket
import time
from collections.abc import Iterable

from wiretool.errors import PeerError
from wiretool.net.addresses import Address
from wiretool.net.calling.dialler import CONNECT_S, why_absent


def check_reachable(addresses: Iterable[Address]) -> None:
    """Connect to each address and close the connection again. PeerError where that is refused or takes too long."""
    for address in dict.fromkeys(addresses):
        why = why_unreachable(address)
        if why:
            raise PeerError(f"cannot reach {address}: {why}")


def is_reachable_within(address: Address, seconds: float) -> bool:
    """Return whether an address accepts a connection now, or after this time: a server may be restarting."""
    if not why_unreachable(address, within_s=seconds):
        return True
    time.sleep(seconds)
    return not why_unreachable(address, within_s=seconds)


def why_unreachable(address: Address, *, within_s: float = CONNECT_S) -> str:
    """Connect to an address, close the connection again, and return why that failed; "" if it did not."""
    try:
        socket.create_connection(address, within_s).close()
    except (OSError, UnicodeError) as err:
        return why_absent(err, within_s)
    return ""
