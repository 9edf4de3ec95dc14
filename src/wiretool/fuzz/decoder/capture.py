"""The test case of a run on the decoder: TCP packets in memory, from which nothing is derived but their headers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from wiretool.capture.packets import Packet
from wiretool.codec.message import SIDES, Side, other_side
from wiretool.errors import InputError
from wiretool.fuzz.sequences.sequence import Change
from wiretool.sinks.tcp import ACK, FIN, RST, SYN, End, ethernet

#: LINKTYPE_ETHERNET.
LINK_TYPE = 1
#: The time of the first packet, and from one packet to the next, ns.
FIRST_NS, STEP_NS = 1_700_000_000_000_000_000, 1_000_000
#: More than all packets of a capture have.
ONE_TABLE_BYTES = 4 * 1024 * 1024
#: Addresses of the two ends, and the first port of clients.
CLIENT_ADDRESS, SERVER_ADDRESS, CLIENT_PORT = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), 40_000
#: Bytes of the Ethernet, IPv4 and TCP headers.
HEADER_BYTES = 14 + 20 + 20


class TcpPacket(NamedTuple):
    """One packet of a connection."""

    connection: int
    side: Side
    flags: int
    #: Sequence number of its first byte, relative to the initial one: 0 for SYN, 1 for the first payload byte.
    seq: int
    payload: bytes = b""
    #: Payload bytes at its end that the snap length left out of the capture.
    cut: int = 0
    #: Time since the packet before, ns; negative where the clock was set back.
    step_ns: int = STEP_NS


@dataclass(frozen=True, slots=True)
class FuzzCapture:
    """Packets in the order of the capture, and how they are read."""

    packets: tuple[TcpPacket, ...]
    #: The server port of each connection.
    ports: Mapping[int, int]
    #: The protocol that the reader is given; `auto` to recognise it.
    protocol: str
    #: Bytes of packets after which the column path begins a new table.
    table_bytes: int
    #: The initial sequence numbers of client and server.
    isn: tuple[int, int] = (1000, 5000)
    #: The conformance case or capture that the session is from.
    origin: str = ""
    changes: tuple[Change, ...] = ()

    @property
    def payload_bytes(self) -> int:
        """The captured payload of all packets."""
        return sum(len(each.payload) - each.cut for each in self.packets)

    def changed(self, packets: Sequence[TcpPacket], change: Change) -> "FuzzCapture":
        """Return the capture with other packets, marked with the mutation that made them."""
        return replace(self, packets=tuple(packets), changes=(*self.changes, change))


def rendered(capture: FuzzCapture) -> list[Packet]:
    """Return the packets as an interface would have captured them, acknowledgements included."""
    isn = dict(zip(SIDES, capture.isn, strict=True))
    seen: dict[tuple[int, Side], int] = {}
    out: list[Packet] = []
    time_ns = FIRST_NS
    for number, each in enumerate(capture.packets, 1):
        time_ns = max(0, time_ns + each.step_ns)
        ends = {
            "client": End(CLIENT_ADDRESS, CLIENT_PORT + each.connection, 0),
            "server": End(SERVER_ADDRESS, capture.ports[each.connection], 0),
        }
        source, target = ends[each.side], ends[other_side(each.side)]
        source.seq = isn[each.side] + each.seq
        target.seq = isn[other_side(each.side)] + seen.get((each.connection, other_side(each.side)), 1)
        key = each.connection, each.side
        seen[key] = max(seen.get(key, 0), each.seq + len(each.payload) + bool(each.flags & (SYN | FIN)))
        whole = ethernet(source, target, each.flags, each.payload)
        data = whole[: len(whole) - each.cut] if each.cut else whole
        out.append(Packet(number, time_ns, LINK_TYPE, data, len(whole)))
    return out


# -- JSON --------------------------------------------------------------------------------------------------------------


def capture_form(capture: FuzzCapture) -> dict[str, Any]:
    """Return the JSON form of a capture."""
    return {
        "origin": capture.origin,
        "protocol": capture.protocol,
        "table_bytes": capture.table_bytes,
        "ports": {str(connection): port for connection, port in capture.ports.items()},
        "isn": list(capture.isn),
        "changes": [list(change) for change in capture.changes],
        "packets": [_packet_form(each) for each in capture.packets],
    }


def _packet_form(packet: TcpPacket) -> dict[str, Any]:
    form: dict[str, Any] = {
        "connection": packet.connection,
        "side": packet.side,
        "flags": packet.flags,
        "seq": packet.seq,
        "payload": packet.payload.hex(),
    }
    if packet.cut:
        form["cut"] = packet.cut
    if packet.step_ns != STEP_NS:
        form["step_ns"] = packet.step_ns
    return form


def capture_from_form(form: Any, *, name: str) -> FuzzCapture:
    """Return the capture of a JSON form. InputError for one that is not."""
    try:
        client_isn, server_isn = map(int, form["isn"])
        capture = FuzzCapture(
            packets=tuple(_packet(each) for each in form["packets"]),
            ports={int(connection): int(port) for connection, port in form["ports"].items()},
            protocol=str(form["protocol"]),
            table_bytes=int(form["table_bytes"]),
            isn=(client_isn, server_isn),
            origin=str(form["origin"]),
            changes=tuple(Change(*map(str, each)) for each in form["changes"]),
        )
        rendered(capture)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as err:
        raise InputError(f"{name}: not a list of packets ({err}); expected the file of a finding") from err
    return capture


def _packet(form: Mapping[str, Any]) -> TcpPacket:
    side = form["side"]
    if side not in SIDES:
        raise ValueError(f"side {side!r}")
    payload, cut = bytes.fromhex(form["payload"]), int(form.get("cut", 0))
    if not 0 <= cut <= len(payload):
        raise ValueError(f"cut {cut} of {len(payload)} bytes")
    step_ns = int(form.get("step_ns", STEP_NS))
    return TcpPacket(int(form["connection"]), side, int(form["flags"]), int(form["seq"]), payload, cut, step_ns)


def described(packet: TcpPacket) -> str:
    """Return a packet in words."""
    names = [name for flag, name in ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST")) if packet.flags & flag]
    if not names and not packet.payload and packet.flags & ACK:
        names = ["ACK"]
    what = " ".join(names) or "data"
    text = f"connection {packet.connection}, {packet.side}: {what}, sequence number {packet.seq}"
    if packet.payload:
        shown = packet.payload[:48].hex() + ("…" if len(packet.payload) > 48 else "")
        text += f", {len(packet.payload)} bytes `{shown}`"
    return text + (f", of which {packet.cut} are cut off" if packet.cut else "")
