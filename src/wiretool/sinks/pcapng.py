"""A pcapng file of connections that a server or a tap had itself: their bytes in the clear, as TCP packets."""

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

from wiretool.capture.files.pcapng_blocks import TLS_KEY_LOG, Kind
from wiretool.codec.message import Side
from wiretool.errors import WiretoolError
from wiretool.sinks.output import Output, open_output
from wiretool.sinks.tcp import Flow

ETHERNET = 1
#: Option if_tsresol: times are in 10^-9 seconds.
NANOSECONDS = bytes.fromhex("0900 0100 09 000000 0000 0000")
#: Option opt_comment, and what ends all options; bytes of one comment.
COMMENT, END_OF_OPTIONS = 1, bytes(4)
COMMENT_BYTES_MAX = 65_535
#: Payload of one packet: what the loopback's MTU of 65,536 takes, headers of IPv6 included.
SEGMENT_BYTES_MAX = 65_000
#: TCP addresses: host (IPv4 or IPv6, a zone allowed) and port.
Address = tuple[str, int]


class Recording:
    """Writes each connection as it goes: handshake, bytes of both sides in order, end. Times are ns since 1970."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._flows: dict[int, Flow] = {}
        self._has_begun = False
        #: Whether it has no packet.
        self.is_empty = True

    def begin(self) -> None:
        """Write what stands before the first packet, once; a recording of nothing has that too."""
        if self._has_begun:
            return
        self._has_begun = True
        self._output.write_bytes(section() + interface(ETHERNET))

    def has_reader(self) -> bool:
        """Return whether another program still reads the pipe that is written to; always for a file."""
        return self._output.has_reader()

    def opened(self, connection: int, client: Address, server: Address, now_ns: int) -> None:
        """A new connection."""
        self.begin()
        flow = Flow.between(*_packed(client, server), SEGMENT_BYTES_MAX)
        self._flows[connection] = flow
        for packet in flow.handshake():
            self._write(packet, now_ns)

    def sent(self, connection: int, side: Side, data: bytes, now_ns: int, *, comment: str = "") -> None:
        """What a side sent; a comment goes with its first packet."""
        for packet in self._flows[connection].data(side, data):
            self._write(packet, now_ns, comment)
            comment = ""

    def missed(self, connection: int, side: Side, size: int) -> None:
        """A side sent so many bytes more that are not in the recording."""
        self._flows[connection].ends[side].seq += size

    def finished(self, connection: int, side: Side, now_ns: int) -> None:
        """A side has sent its last byte."""
        self._write(self._flows[connection].finish(side), now_ns)

    def lost(self, connection: int, side: Side, now_ns: int) -> None:
        """A side broke the connection off."""
        self._write(self._flows[connection].reset(side), now_ns)

    def forget(self, connection: int) -> None:
        """Nothing more will come of a connection."""
        self._flows.pop(connection, None)

    def _write(self, packet: bytes, now_ns: int, comment: str = "") -> None:
        self.is_empty = False
        self._output.write_bytes(packet_block(packet, now_ns, len(packet), comment))


@contextmanager
def open_recording(path: Path) -> Iterator[Recording]:
    """Open a recording of a run. UsageError where the file cannot be written.

    A new file is a valid capture at once: a signal may end the run before its first connection. After an earlier error
    the new file is removed. An existing file keeps its content until the recording begins.
    """
    is_new = not path.exists()
    with open_output(path) as out:
        recording = Recording(out)
        try:
            if is_new:
                recording.begin()
            yield recording
        except WiretoolError:
            if is_new and recording.is_empty:
                path.unlink(missing_ok=True)
            raise


def section() -> bytes:
    """What a file begins with: little-endian, version 1.0, of unknown length."""
    return block(Kind.SECTION, (0x1A2B3C4D).to_bytes(4, "little") + (1).to_bytes(2, "little") + bytes(2) + b"\xff" * 8)


def interface(link_type: int, options: bytes = NANOSECONDS) -> bytes:
    """An interface with this LINKTYPE and no snap length."""
    return block(Kind.INTERFACE, link_type.to_bytes(2, "little") + bytes(6) + options)


def tls_secrets(lines: bytes) -> bytes:
    """A block of the lines of a TLS key log, for the packets after it."""
    head = TLS_KEY_LOG.to_bytes(4, "little") + len(lines).to_bytes(4, "little")
    return block(Kind.SECRETS, head + lines)


def packet_block(packet: bytes, time_ns: int, wire_bytes: int, comment: str = "") -> bytes:
    """Return the block of a packet that had `wire_bytes` on the wire."""
    high, low = divmod(time_ns, 2**32)
    numbers = (0, high, low, len(packet), wire_bytes)
    head = b"".join(number.to_bytes(4, "little") for number in numbers)
    return block(Kind.PACKET, head + padded(packet) + (commented(comment) if comment else b""))


def block(kind: int, body: bytes) -> bytes:
    """One block, padded to four bytes."""
    body = padded(body)
    length = (len(body) + 12).to_bytes(4, "little")
    return kind.to_bytes(4, "little") + length + body + length


def padded(data: bytes) -> bytes:
    """The same with zeros behind it, to four bytes."""
    return data + bytes(-len(data) % 4)


def commented(text: str) -> bytes:
    """The options of a packet that has a comment, which is cut where it is too long."""
    data = text.encode(errors="backslashreplace")[:COMMENT_BYTES_MAX].decode(errors="ignore").encode()
    return COMMENT.to_bytes(2, "little") + len(data).to_bytes(2, "little") + padded(data) + END_OF_OPTIONS


def _packed(client: Address, server: Address) -> tuple[tuple[bytes, int], tuple[bytes, int]]:
    """Both addresses as bytes of one family: IPv4 is mapped where the other is IPv6."""
    hosts = [ip_address(host.partition("%")[0]) for host, _ in (client, server)]
    raw = [host.packed for host in hosts]
    if len(raw[0]) != len(raw[1]):
        raw = [each if len(each) == 16 else bytes(10) + b"\xff\xff" + each for each in raw]
    return (raw[0], client[1]), (raw[1], server[1])
