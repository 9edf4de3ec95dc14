"""Packets of a pcapng file: any number of sections and interfaces, each with its own byte order and clock.

Layout of the blocks: draft-ietf-opsawg-pcapng §3 and §4.
"""

from collections.abc import Iterator
from functools import partial
from struct import Struct, error
from typing import NamedTuple

from wiretool.capture.files.pcapng_blocks import TLS_KEY_LOG, Kind
from wiretool.capture.files.source import Source
from wiretool.capture.packets import Packet
from wiretool.capture.tls.keylog import KeyLog
from wiretool.limits import BLOCK_BYTES_MAX, INTERFACES_MAX, PACKET_BYTES_MAX

SECTION = b"\x0a\x0d\x0d\x0a"
#: Type and length before the body of a block, and its length again behind it.
BLOCK_BYTES_MIN = 12
OPTION_TSRESOL, OPTION_TSOFFSET = 9, 14
#: The times that can be told: from 1677 to 2262.
FIRST_NS, LAST_NS = -(1 << 63), (1 << 63) - 1

_packet = partial(tuple.__new__, Packet)


#: Where in the body of a block its packet begins.
DATA_AT = {Kind.OLD_PACKET: 20, Kind.SIMPLE_PACKET: 4, Kind.PACKET: 20}


class Layout:
    """The fixed parts of the blocks, in the byte order of one section."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.pair = Struct(order + "II")
        self.word = Struct(order + "I")
        self.option = Struct(order + "HH")
        self.seconds = Struct(order + "q")
        self.interface = Struct(order + "HxxI")
        self.packet = Struct(order + "5I")
        self.old_packet = Struct(order + "HxxIIII")


#: By the bytes of the byte-order magic.
LAYOUTS = {b"\x4d\x3c\x2b\x1a": Layout("<"), b"\x1a\x2b\x3c\x4d": Layout(">")}


class Interface(NamedTuple):
    """What a packet's interface says of it: a tick of its clock is `numerator / denominator` ns."""

    link_type: int
    snap_bytes: int
    numerator: int
    denominator: int
    offset_ns: int

    def time_ns(self, high: int, low: int) -> int:
        """Since the epoch; what 64 bits do not hold is the first or the last time that they do."""
        time_ns = ((high << 32) | low) * self.numerator // self.denominator + self.offset_ns
        return time_ns if FIRST_NS <= time_ns <= LAST_NS else min(max(time_ns, FIRST_NS), LAST_NS)


class Block(NamedTuple):
    """One block without its frame; the window stands before it as long as it is being read."""

    kind: int
    body: bytes
    layout: Layout


def read_pcapng(source: Source, keys: KeyLog | None = None) -> Iterator[Packet]:
    """Packets in file order, numbered from 1; raises CaptureError where the file stops making sense.

    The secrets of TLS connections in the file are added to `keys`.
    """
    reader = Reader(source, keys)
    while reader.has_block():
        packet = reader.read()
        if packet is not None:
            yield packet


def _section_layout(source: Source) -> Layout:
    magic = source.buffer[source.at + 8 : source.at + 12]
    if magic not in LAYOUTS:
        raise source.error(f"a section without byte order: its magic is {magic.hex(' ')}", 8)
    return LAYOUTS[magic]


def _await_block(source: Source, length: int, layout: Layout) -> None:
    """Widen the window to the whole block, whose two lengths must agree."""
    if not _is_length(length):
        raise source.error(f"a block length of {length} (12 to {BLOCK_BYTES_MAX}, in steps of 4)", 4)
    if not source.fill(length):
        raise source.error(f"a block ends early: expected {length} bytes, {source.left} left")
    (again,) = layout.word.unpack_from(source.buffer, source.at + length - 4)
    if again != length:
        raise source.error(f"a block of {length} bytes has the length {again} at its end", length - 4)


def _is_length(length: int) -> bool:
    """Whether a block may have so many bytes."""
    return BLOCK_BYTES_MIN <= length <= BLOCK_BYTES_MAX and length % 4 == 0


class Reader:
    """What must be remembered from block to block."""

    def __init__(self, source: Source, keys: KeyLog | None = None) -> None:
        self._source = source
        self._keys = keys
        #: Of the section.
        self.layout = LAYOUTS[b"\x4d\x3c\x2b\x1a"]
        self.interfaces: list[Interface] = []
        #: Of the last packet.
        self.number = 0
        self.time_ns = 0

    def has_block(self) -> bool:
        """Whether the capture goes on."""
        source = self._source
        if source.fill(BLOCK_BYTES_MIN):
            return True
        if source.left:
            raise source.error(f"a block ends early: expected {BLOCK_BYTES_MIN} bytes, {source.left} left")
        return False

    def is_at_hand(self) -> bool:
        """Whether the window is enough to read the next block, or to see what is wrong with it."""
        source = self._source
        if source.left < BLOCK_BYTES_MIN:
            return False
        magic = source.buffer[source.at + 8 : source.at + 12]
        layout = LAYOUTS.get(magic) if source.buffer.startswith(SECTION, source.at) else self.layout
        if layout is None:
            return True
        _, length = layout.pair.unpack_from(source.buffer, source.at)
        return length <= source.left or not _is_length(length)

    def read(self) -> Packet | None:
        """The packet of the next block, if it holds one; the window is moved behind it."""
        source = self._source
        if source.buffer.startswith(SECTION, source.at):
            self.layout = _section_layout(source)
        kind, length = self.layout.pair.unpack_from(source.buffer, source.at)
        _await_block(source, length, self.layout)
        at = source.at
        try:
            packet = self._read(Block(kind, source.buffer[at + 8 : at + length - 4], self.layout))
        except error as err:
            raise source.error(f"a block of type {kind} is too short for its fields") from err
        source.at = at + length
        return packet

    def pass_by(self, size: int, packets: int, time_ns: int) -> None:
        """So many bytes of whole blocks were read by another; the last of the packets in them has that time."""
        self._source.at += size
        self.number += packets
        self.time_ns = time_ns

    def _read(self, block: Block) -> Packet | None:
        match block.kind:
            case Kind.PACKET:
                return self._enhanced(block)
            case Kind.SIMPLE_PACKET:
                return self._simple(block)
            case Kind.OLD_PACKET:
                return self._old(block)
            case Kind.INTERFACE:
                self._add_interface(block)
            case Kind.SECRETS:
                self._add_secrets(block)
            case Kind.SECTION:
                self.interfaces = []
        return None

    def _add_secrets(self, block: Block) -> None:
        """Add the secrets of a decryption secrets block, if they are of TLS."""
        kind, length = block.layout.pair.unpack_from(block.body)
        at = block.layout.pair.size
        if kind != TLS_KEY_LOG or self._keys is None:
            return
        self._keys.add_reporting(block.body[at : at + length], str(self._source.name))

    def _enhanced(self, block: Block) -> Packet:
        index, high, low, captured, length = block.layout.packet.unpack_from(block.body)
        interface = self._interface(index)
        return self._packet(interface, interface.time_ns(high, low), block, captured, length)

    def _old(self, block: Block) -> Packet:
        index, high, low, captured, length = block.layout.old_packet.unpack_from(block.body)
        interface = self._interface(index)
        return self._packet(interface, interface.time_ns(high, low), block, captured, length)

    def _simple(self, block: Block) -> Packet:
        """It has no time: that of the packet before it is the best there is."""
        (length,) = block.layout.word.unpack_from(block.body)
        interface = self._interface(0)
        captured = min(length, interface.snap_bytes or length)
        return self._packet(interface, self.time_ns, block, captured, length)

    def _interface(self, index: int) -> Interface:
        if index >= len(self.interfaces):
            raise self._source.error(
                f"packet {self.number + 1} is of interface {index}, and the section has {len(self.interfaces)}"
            )
        return self.interfaces[index]

    def _packet(self, interface: Interface, time_ns: int, block: Block, captured: int, length: int) -> Packet:
        body, at = block.body, DATA_AT[block.kind]
        self.number += 1
        if captured > len(body) - at or captured > PACKET_BYTES_MAX:
            raise self._source.error(f"packet {self.number} claims {captured} bytes in a block of {len(body) - at}")
        self.time_ns = time_ns
        data = body[at : at + captured]
        return _packet((self.number, time_ns, interface.link_type, data, max(length, captured)))

    def _add_interface(self, block: Block) -> None:
        if len(self.interfaces) == INTERFACES_MAX:
            raise self._source.error(f"more than {INTERFACES_MAX} interfaces")
        link_type, snap_bytes = block.layout.interface.unpack_from(block.body)
        options = dict(_options(block))
        ns_numerator, ns_denominator = _tick(options.get(OPTION_TSRESOL, b"\x06"))
        offset_ns = 0
        if OPTION_TSOFFSET in options:
            offset_ns = block.layout.seconds.unpack_from(options[OPTION_TSOFFSET])[0] * 1_000_000_000
        self.interfaces.append(Interface(link_type, snap_bytes, ns_numerator, ns_denominator, offset_ns))


def _options(block: Block) -> Iterator[tuple[int, bytes]]:
    """Options of an interface block, as far as they are whole."""
    at = block.layout.interface.size
    while at + 4 <= len(block.body):
        code, length = block.layout.option.unpack_from(block.body, at)
        if code == 0:
            return
        yield code, block.body[at + 4 : at + 4 + length]
        at += 4 + length + (-length) % 4


def _tick(resolution: bytes) -> tuple[int, int]:
    """Nanoseconds per tick as a fraction: the byte is a negative power of ten, or of two if its top bit is set."""
    (power,) = Struct("B").unpack_from(resolution)
    if power & 0x80:
        return 1_000_000_000, 1 << (power & 0x7F)
    return (10 ** (9 - power), 1) if power <= 9 else (1, 10 ** (power - 9))
