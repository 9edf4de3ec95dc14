"""One TCP connection under asyncio, as whoever owns it wants to be told of it."""

import asyncio
import os
import socket
import sys
from abc import ABC, abstractmethod
from typing import cast

from wiretool.net.addresses import Address

NOWHERE = Address("", 0)


class Owner(ABC):
    """Is told what happens on its sockets. A socket that is lost is not spoken of again."""

    @abstractmethod
    def opened(self, end: "Socket") -> None:
        """It is connected."""

    @abstractmethod
    def received(self, end: "Socket", data: bytes) -> None:
        """The peer has sent this."""

    @abstractmethod
    def ended(self, end: "Socket") -> None:
        """The peer has sent its last byte; ours may still be sent."""

    @abstractmethod
    def full(self, end: "Socket") -> None:
        """The peer takes slowly what is sent to it: whatever makes more of it should be paused."""

    @abstractmethod
    def drained(self, end: "Socket") -> None:
        """Most of what was sent has left."""

    @abstractmethod
    def lost(self, end: "Socket", why: str) -> None:
        """It is closed; `why` says what the network said, if it was not us."""


class Socket(asyncio.Protocol):
    """Takes what asyncio has to say, and gives what is to be sent."""

    def __init__(self, owner: Owner, number: int, label: str) -> None:
        self._owner = owner
        #: Of the connection; and which end of it or which door.
        self.number = number
        self.label = label
        self.peer = self.local = NOWHERE
        #: Whether more is waiting to leave than should.
        self.is_full = False
        self.is_closing = False
        self._has_ended = self._is_finished = False
        #: Whether the owner knows of it: not where it was reset before it was accepted.
        self.is_reported = False
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = _address(transport.get_extra_info("peername"))
        if peer is None:  # reset before it was accepted: nobody is there any more
            self._transport.abort()
            return
        self.peer, self.local = peer, _address(transport.get_extra_info("sockname")) or NOWHERE
        self.is_reported = True
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        self._owner.received(self, data)

    def eof_received(self) -> bool:
        """Whether it stays half open; TLS under asyncio knows no half."""
        self._has_ended = True
        if self.is_reported:
            self._owner.ended(self)
        return self._transport.can_write_eof() and not (self.is_closing or self._is_finished)

    def pause_writing(self) -> None:
        self.is_full = True
        if self.is_open:
            self._owner.full(self)

    def resume_writing(self) -> None:
        self.is_full = False
        if self.is_open:
            self._owner.drained(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closing = True
        if self.is_reported:
            self._owner.lost(self, "" if exc is None else why_lost(exc))

    @property
    def is_open(self) -> bool:
        """Whether anything can be done with it; not so from its close on, though `lost` may be still to come."""
        return not (self.is_closing or self._transport.is_closing())

    def pause(self) -> None:
        """Take no more from the peer for now."""
        if self.is_open:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Take what the peer sends again."""
        if self.is_open:
            self._transport.resume_reading()

    def send(self, data: bytes) -> bool:
        """Send; whether it could be: what is sent on a closed socket is dropped."""
        if self.is_closing or self._is_finished or self._transport.is_closing():
            return False
        self._transport.write(data)
        return True

    def finish(self) -> None:
        """Send no more, but go on receiving; the last of both sides closes. TLS under asyncio knows no half."""
        if self._is_finished or not self.is_open:
            return
        if self._has_ended or not self._transport.can_write_eof():
            self.close()
            return
        self._is_finished = True
        self._transport.write_eof()

    def close(self) -> None:
        """Close once everything has left."""
        if not self.is_closing:
            self.is_closing = True
            self._transport.close()

    def abort(self) -> None:
        """Close at once, by a reset where the network allows."""
        self.is_closing = True
        _linger_not(self._transport)
        self._transport.abort()


def _address(told: object) -> Address | None:
    if isinstance(told, tuple) and len(told) >= 2:
        return Address(str(told[0]), int(told[1]))
    return None


def _linger_not(transport: asyncio.Transport) -> None:
    """Let close() send RST instead of FIN (SO_LINGER of zero seconds)."""
    raw = transport.get_extra_info("socket")
    if raw is not None:
        on, seconds = (1).to_bytes(4, sys.byteorder), bytes(4)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, on + seconds)


def why_lost(err: Exception) -> str:
    """What the network said, in its own words; the kind of the error where it said nothing."""
    if isinstance(err, OSError) and err.errno is not None and err.errno > 0:
        return os.strerror(err.errno)
    return getattr(err, "strerror", None) or str(err) or type(err).__name__
