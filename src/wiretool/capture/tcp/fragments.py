"""Puts IP fragments together, of either version."""

from typing import NamedTuple

from wiretool.limits import IP_DATAGRAMS_WAITING_MAX, IP_FRAGMENTS_MAX

#: A datagram that is not whole by then never will be (RFC 8200 §4.5), and its identification may come again.
DATAGRAM_WAIT_NS = 60_000_000_000


class Fragment(NamedTuple):
    """One piece of the datagram `key`; `protocol` is of the header at the start of the whole."""

    key: tuple[bytes, int]
    time_ns: int
    protocol: int
    offset: int
    is_last: bool
    data: bytes


class _Datagram:
    """What has come of one datagram."""

    def __init__(self, time_ns: int) -> None:
        self.time_ns = time_ns
        self.packets = 0
        self._pieces: dict[int, Fragment] = {}
        self._bytes = 0
        self._size = -1

    def add(self, fragment: Fragment) -> tuple[int, bytes] | None:
        """Protocol and payload once all is there. Of two pieces at one offset the first is used."""
        self.packets += 1
        if fragment.offset not in self._pieces:
            self._pieces[fragment.offset] = fragment
            self._bytes += len(fragment.data)
        if fragment.is_last:
            self._size = fragment.offset + len(fragment.data)
        return self._whole() if 0 <= self._size <= self._bytes else None

    def _whole(self) -> tuple[int, bytes] | None:
        whole = bytearray()
        for offset, fragment in sorted(self._pieces.items()):
            if offset > len(whole):
                return None
            whole += fragment.data[len(whole) - offset :]
        return self._pieces[0].protocol, bytes(whole[: self._size])


class Fragments:
    """Datagrams that wait for the rest of their fragments, the oldest first."""

    def __init__(self) -> None:
        self._datagrams: dict[tuple[bytes, int], _Datagram] = {}
        self._given_up = 0

    @property
    def lost(self) -> int:
        """Fragments whose datagram is not whole, up to now."""
        return self._given_up + sum(datagram.packets for datagram in self._datagrams.values())

    def add(self, fragment: Fragment) -> tuple[int, bytes] | None:
        """Protocol and payload of the datagram that this fragment completes."""
        datagram = self._datagram(fragment)
        whole = datagram.add(fragment)
        if whole is not None:
            del self._datagrams[fragment.key]
        elif datagram.packets >= IP_FRAGMENTS_MAX:
            self._give_up(fragment.key)
        return whole

    def _datagram(self, fragment: Fragment) -> _Datagram:
        key = fragment.key
        if key in self._datagrams and fragment.time_ns - self._datagrams[key].time_ns > DATAGRAM_WAIT_NS:
            self._give_up(key)
        if key not in self._datagrams:
            if len(self._datagrams) == IP_DATAGRAMS_WAITING_MAX:
                self._give_up(next(iter(self._datagrams)))
            self._datagrams[key] = _Datagram(fragment.time_ns)
        return self._datagrams[key]

    def _give_up(self, key: tuple[bytes, int]) -> None:
        self._given_up += self._datagrams.pop(key).packets
