"""What a host and a tap have in common."""

import asyncio
import ssl
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wiretool.errors import PeerError
from wiretool.net.addresses import Address
from wiretool.net.sockets import Socket

#: Connections that may wait to be accepted.
BACKLOG = 1_024
#: How long clients are given to take what was sent to them when the server stops.
GOODBYE_S = 1.0


@dataclass(slots=True)
class Traffic:
    """What went over all connections."""

    opened: int = 0
    refused: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0


class Running(Protocol):
    """Listens at its doors until it is stopped."""

    @property
    def protocols(self) -> tuple[str, ...]:
        """Which protocols are spoken at its doors."""

    @abstractmethod
    async def listen(self, door: str, address: Address, context: ssl.SSLContext | None) -> Address:
        """Open a door; where it is. PeerError where that cannot be."""

    @abstractmethod
    async def stop(self) -> None:
        """Accept no more, and close every connection in an orderly way."""


async def listening(
    accept: Callable[[], Socket], door: str, address: Address, context: ssl.SSLContext | None
) -> tuple[asyncio.Server, Address]:
    """A listening socket, and where it is. PeerError with the address where it cannot be."""
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(accept, *address, ssl=context, backlog=BACKLOG)
    except OSError as err:
        raise PeerError(f"cannot listen on {address} ({door}): {err.strerror or err}") from err
    return server, Address(*server.sockets[0].getsockname()[:2])
