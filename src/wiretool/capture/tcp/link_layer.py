"""Where IP begins in a captured packet, by its link layer."""

from collections.abc import Callable
from struct import Struct

VLAN_TAGS = frozenset((0x8100, 0x88A8, 0x9100))
IPV4, IPV6 = 0x0800, 0x86DD
ETHER_TYPES = {0x0806: "ARP", 0x88CC: "LLDP", 0x8847: "MPLS", 0x8863: "PPPoE", 0x8864: "PPPoE"}
#: IPv4 has the same address family everywhere; IPv6 that of Linux, Windows, BSD (two) or macOS.
FAMILIES = frozenset((2, 10, 23, 24, 28, 30))

_u16 = Struct(">H").unpack_from


class NotTcp(Exception):
    """Why a packet gives no TCP segment; it never leaves this package."""


def _behind_type(data: bytes, type_at: int, at: int) -> int:
    """The offset of IP, when the EtherType is at `type_at` and what it names (or a VLAN tag) at `at`."""
    (kind,) = _u16(data, type_at)
    while kind in VLAN_TAGS:
        (kind,) = _u16(data, at + 2)
        at += 4
    if kind not in (IPV4, IPV6):
        raise NotTcp("802.3" if kind <= 1500 else ETHER_TYPES.get(kind, f"EtherType 0x{kind:04x}"))
    return at


def _ethernet(data: bytes) -> int:
    kind = data[12:14]
    return 14 if kind in (b"\x08\x00", b"\x86\xdd") else _behind_type(data, 12, 14)


def _cooked(data: bytes) -> int:
    return _behind_type(data, 14, 16)


def _cooked_2(data: bytes) -> int:
    return _behind_type(data, 0, 20)


def _loopback(data: bytes) -> int:
    """Four bytes of address family, in the byte order of whoever captured."""
    family = min(int.from_bytes(data[:4], "little"), int.from_bytes(data[:4], "big"))
    if family not in FAMILIES:
        raise NotTcp(f"address family {family}")
    return 4


def _bare(_: bytes) -> int:
    return 0


#: By LINKTYPE (tcpdump.org's list): the offset of IP in a packet.
LINKS: dict[int, Callable[[bytes], int]] = {
    0: _loopback,
    1: _ethernet,
    12: _bare,
    14: _bare,
    101: _bare,
    108: _loopback,
    113: _cooked,
    228: _bare,
    229: _bare,
    276: _cooked_2,
}
