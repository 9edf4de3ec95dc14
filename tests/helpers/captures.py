"""Captures made up for tests: conversations as packets, and packets as pcap and pcapng files."""

from collections.abc import Collection, Iterable, Sequence
from ipaddress import ip_address
from struct import pack

from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.fragments import Fragments
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, RST, SYN, segment_of
from wiretool.capture.tcp.stream_events import Side
from wiretool.errors import CaptureError

START_NS = 1_700_000_000_000_000_000
STEP_NS = 1_000_000
ETHERNET = 1
CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 8080)
Endpoint = tuple[str, int]


# -- packets -----------------------------------------------------------------------------------------------------------


def tcp(
    source: Endpoint, target: Endpoint, seq: int, ack: int, flags: int, payload: bytes = b"", window: int = 512
) -> bytes:
    """A TCP segment in an IP packet, of the version that the addresses have; without checksums."""
    options = b"\x01" * 12
    header = pack(">HHIIBBHHH", source[1], target[1], seq % 2**32, ack % 2**32, 0x80, flags, window, 0, 0)
    return ip(source[0], target[0], 6, header + options + payload)


def ip(source: str, target: str, protocol: int, body: bytes, *, fragment: int = 0, identification: int = 7) -> bytes:
    """An IP packet; `fragment` is the flags and offset field of IPv4."""
    addresses = ip_address(source).packed + ip_address(target).packed
    if len(addresses) == 32:
        return pack(">IHBB", 6 << 28, len(body), protocol, 64) + addresses + body
    total = 20 + len(body)
    return pack(">BBHHHBBH", 0x45, 0, total, identification, fragment, 64, protocol, 0) + addresses + body


def ethernet(packet: bytes, *tags: int) -> bytes:
    """An Ethernet frame, padded to its shortest length; each tag is the EtherType of one VLAN tag."""
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    stack = b"".join(pack(">HH", tag, 100) for tag in tags)
    return (bytes(12) + stack + pack(">H", kind) + packet).ljust(60, b"\xee")


def packets_of(frames: Iterable[bytes], *, link_type: int = ETHERNET, start_ns: int = START_NS) -> list[Packet]:
    """Frames as packets, numbered from 1 and a millisecond apart."""
    return [
        Packet(number, start_ns + number * STEP_NS, link_type, frame, len(frame))
        for number, frame in enumerate(frames, 1)
    ]


def tcp_packets(
    says: Sequence[tuple[Side, bytes]],
    *,
    client: Endpoint = CLIENT,
    server: Endpoint = SERVER,
    isn: tuple[int, int] = (1000, 5000),
    mtu: int = 1460,
    begin: bool = True,
    acks: bool = True,
    end: str = "fin",
    drop: Iterable[int] = (),
    order: Sequence[int] | None = None,
) -> list[Packet]:
    """A conversation as packets: handshake, what each side says in turn (each segment acknowledged), and its end.

    `end` is "fin" (by the client first), "rst" (by the client) or "". `order` says which frame comes at which place,
    `drop` which frames (counted from 0, in their first order) are left out.
    """
    talk = Talk(client, server, isn)
    if begin:
        talk.open()
    for side, data in says:
        talk.say(side, data, mtu=mtu, acks=acks)
    if end:
        talk.close(end)
    lost = set(drop)
    chosen = [at for at in (order or range(len(talk.frames))) if at not in lost]
    return packets_of(talk.frames[at] for at in chosen)


class Talk:
    """Writes down the frames of one connection."""

    def __init__(self, client: Endpoint = CLIENT, server: Endpoint = SERVER, isn: tuple[int, int] = (1000, 5000)):
        self.frames: list[bytes] = []
        self._ends: dict[Side, Endpoint] = {"client": client, "server": server}
        #: The sequence number of each side's next byte.
        self.next: dict[Side, int] = {"client": isn[0] + 1, "server": isn[1] + 1}

    def open(self) -> None:
        self.send("client", SYN, seq=self.next["client"] - 1, ack=0)
        self.send("server", SYN | ACK, seq=self.next["server"] - 1)
        self.send("client", ACK)

    def say(self, side: Side, data: bytes, *, mtu: int = 1460, acks: bool = True) -> None:
        for at in range(0, len(data), mtu):
            piece = data[at : at + mtu]
            self.send(side, ACK, piece)
            self.next[side] += len(piece)
            if acks:
                self.send(other(side), ACK)

    def close(self, end: str) -> None:
        if end == "rst":
            self.send("client", RST | ACK)
            return
        for side in ("client", "server"):
            self.send(side, FIN | ACK)
            self.next[side] += 1
        self.send("client", ACK)

    def send(
        self,
        side: Side,
        flags: int,
        data: bytes = b"",
        *,
        seq: int | None = None,
        ack: int | None = None,
        window: int = 512,
    ) -> None:
        """One frame, at the next byte of the side unless told otherwise."""
        target = other(side)
        at = self.next[side] if seq is None else seq
        acked = self.next[target] if ack is None else ack
        self.frames.append(ethernet(tcp(self._ends[side], self._ends[target], at, acked, flags, data, window)))


def other(side: Side) -> Side:
    return "server" if side == "client" else "client"


def sent_by(side: Side, packets: Iterable[Packet], ports: Collection[int]) -> list[Packet]:
    """Return the TCP packets of one side; servers have these ports."""
    fragments, counts = Fragments(), PacketCounts()
    found = []
    for packet in packets:
        segment = segment_of(packet, fragments, counts)
        if segment is not None and ((segment.sport in ports) == (side == "server")):
            found.append(packet)
    return found


# -- files -------------------------------------------------------------------------------------------------------------


def pcap_bytes(
    packets: Iterable[Packet], *, order: str = "<", nano: bool = False, link_type: int = ETHERNET, snap: int = 262_144
) -> bytes:
    """A pcap file."""
    magic, per_second, tick_ns = (0xA1B23C4D, 10**9, 1) if nano else (0xA1B2C3D4, 10**6, 1000)
    out = [pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link_type)]
    for packet in packets:
        seconds, fraction = divmod(packet.time_ns // tick_ns, per_second)
        data = packet.data[:snap]
        out += [pack(order + "IIII", seconds, fraction, len(data), packet.length), data]
    return b"".join(out)


def pcapng_bytes(packets: Iterable[Packet], *, order: str = "<", link_type: int = ETHERNET) -> bytes:
    """A pcapng file of one section and one interface, with nanoseconds."""
    out = [section(order), interface(order, link_type, options=[(9, b"\x09")])]
    out += [packet_block(order, 0, packet.time_ns, packet.data, packet.length) for packet in packets]
    return b"".join(out)


def block(order: str, kind: int, body: bytes) -> bytes:
    """One pcapng block."""
    body += bytes(-len(body) % 4)
    length = 12 + len(body)
    return pack(order + "II", kind, length) + body + pack(order + "I", length)


def section(order: str = "<") -> bytes:
    return block(order, 0x0A0D0D0A, pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(
    order: str = "<", link_type: int = ETHERNET, *, snap: int = 0, options: Iterable[tuple[int, bytes]] = ()
) -> bytes:
    told = b"".join(pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4) for code, value in options)
    return block(order, 1, pack(order + "HHI", link_type, 0, snap) + told + (bytes(4) if told else b""))


def packet_block(order: str, index: int, ticks: int, data: bytes, length: int = 0) -> bytes:
    head = pack(order + "5I", index, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length or len(data))
    return block(order, 6, head + data)


def old_packet_block(order: str, index: int, ticks: int, data: bytes) -> bytes:
    head = pack(order + "HH4I", index, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(order, 2, head + data)


def simple_packet_block(order: str, data: bytes, length: int = 0) -> bytes:
    return block(order, 3, pack(order + "I", length or len(data)) + data)


def outcome(packets: Iterable[Packet]) -> list[Packet | str]:
    """The packets, and what is said of the damage behind them if there is any."""
    found: list[Packet | str] = []
    try:
        found.extend(packets)
    except CaptureError as err:
        found.append(str(err))
    return found
