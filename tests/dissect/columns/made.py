"""Captures made of a seed: several connections, each with its protocol and its troubles, on their way into a file."""

import gzip
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from struct import pack

import zstandard
from hypothesis import strategies as st

from tests.bench.talk import Sent
from tests.helpers.captures import Endpoint, Talk, ethernet, packets_of, pcap_bytes, pcapng_bytes
from tests.helpers.examples import parts
from tests.helpers.frames import TALKS
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.segments_of_packets import ACK, RST
from wiretool.codec.message import Side
from wiretool.protocols.base.registry import PROTOCOLS

#: A protocol that is none of ours.
FOREIGN = "foreign"
#: A few appends; the frames of such a connection.
SHORT, SHORT_FRAMES = "pravega-short", 12
#: Conversations that protocols have beside the usual one.
VARIANTS = {name: said for variants in parts("examples", "VARIANTS").values() for name, said in variants.items()}
SPOKEN = (*TALKS, *VARIANTS, SHORT, FOREIGN)
#: What may happen to the frames of one connection, and to all packets of a capture.
TROUBLES = ("lost", "doubled", "swapped", "late", "probed", "other bytes", "reset with text", "a hole")
HARMS = ("snapped", "fragments", "times", "vlan", "noise")
#: How a file is written.
FORMS = ("pcap", "nano", "big-endian", "pcapng", "gzip", "zstd", "cut", "two files")


@dataclass(frozen=True)
class Spoken:
    """One connection: `each` frames of a side are said in one go, in segments of `mtu` bytes."""

    protocol: str
    each: int = 1
    mtu: int = 1460
    ipv6: bool = False
    begin: bool = True
    acks: bool = False
    #: Near the end of the sequence numbers, which go on from 0.
    wraps: bool = False
    end: str = "fin"
    #: The same ports as the connection before it.
    again: bool = False
    troubles: frozenset[str] = frozenset()


def any_spoken(
    each: Sequence[int] = (1, 9), mtu: Sequence[int] = (60, 1460), troubles_max: int = 3
) -> st.SearchStrategy[Spoken]:
    """Connections of any kind, with `each` and `mtu` out of those."""
    return st.builds(
        Spoken,
        protocol=st.sampled_from(SPOKEN),
        each=st.sampled_from(each),
        mtu=st.sampled_from(mtu),
        ipv6=st.booleans(),
        begin=st.sampled_from([True, True, False]),
        acks=st.booleans(),
        wraps=st.booleans(),
        end=st.sampled_from(["fin", "rst", ""]),
        again=st.sampled_from([False, False, True]),
        troubles=st.frozensets(st.sampled_from(TROUBLES), max_size=troubles_max),
    )


@cache
def said(protocol: str, frames: int) -> tuple[Sent, ...]:
    """The beginning of a conversation, a frame each."""
    rng = random.Random(protocol)
    if protocol == FOREIGN:
        return tuple(
            Sent(rng.choice(("client", "server")), rng.randbytes(rng.randrange(1, 600))) for _ in range(frames)
        )
    if protocol == SHORT:
        return said("pravega", min(frames, SHORT_FRAMES))
    if protocol in VARIANTS:
        variant: tuple[Sent, ...] = VARIANTS[protocol]()
        return variant
    return tuple(islice(TALKS[protocol](rng), frames))


def turns(sent: Sequence[Sent], each: int) -> list[tuple[Side, bytes]]:
    """Frames put together: `each` of a side in one go, those of the client first."""
    out: list[tuple[Side, bytes]] = []
    head = 4 if each > 1 else 0
    for at in [*range(head), *range(head, len(sent), 2 * each)]:
        some = sent[at : at + (1 if at < head else 2 * each)]
        for side in ("client", "server"):
            data = b"".join(one.data for one in some if one.side == side)
            if data:
                out.append((side, data))
    return out


def frames_of(spoken: Spoken, number: int, rng: random.Random, frames: int) -> list[bytes]:
    """One connection as Ethernet frames, with its troubles."""
    protocol = spoken.protocol.removesuffix("-deflate").removesuffix("-short")
    port = 5555 if protocol == FOREIGN else PROTOCOLS[protocol].ports[0]
    ends: tuple[Endpoint, Endpoint] = ("10.0.0.1", 40_000 + number), ("10.0.0.2", port)
    if spoken.ipv6:
        ends = ("fd00::1", 40_000 + number), ("fd00::2", port)
    isn = (2**32 - 700, 2**32 - 90) if spoken.wraps else (1000 + number * 77_777, 5000)
    talk = Talk(*ends, isn=isn)
    if spoken.begin:
        talk.open()
    for side, data in turns(said(spoken.protocol, frames), spoken.each):
        talk.say(side, data, mtu=spoken.mtu, acks=spoken.acks)
        if "probed" in spoken.troubles and rng.random() < 0.1:
            talk.send(side, ACK, data[-1:], seq=talk.next[side] - 1)
        if "other bytes" in spoken.troubles and rng.random() < 0.05:
            size = min(len(data), 30)
            # With the same headers it would be a copy of the first one in a capture of another tap.
            talk.send(side, ACK, rng.randbytes(size), seq=talk.next[side] - size, window=511)
    if "reset with text" in spoken.troubles:
        talk.send("server", RST | ACK, b"no more of this")
    if spoken.end:
        talk.close(spoken.end)
    return _troubled(talk.frames, spoken.troubles, rng)


def _troubled(frames: list[bytes], troubles: frozenset[str], rng: random.Random) -> list[bytes]:
    """Frames lost, sent twice, out of order."""
    out = list(frames)
    some = max(len(out) // 50, 1)
    if "a hole" in troubles:
        start = rng.randrange(len(out))
        del out[start : start + rng.randrange(1, 12)]
    if not out:
        return out
    for _ in range(some):
        if "lost" in troubles and len(out) > 1:
            del out[rng.randrange(len(out))]
        if "doubled" in troubles:
            at = rng.randrange(len(out))
            out.insert(min(at + rng.randrange(1, 9), len(out)), out[at])
        if "swapped" in troubles:
            at = rng.randrange(len(out))
            out[at : at + 2] = out[at : at + 2][::-1]
        if "late" in troubles:
            at = rng.randrange(len(out))
            out.insert(rng.randrange(len(out)), out.pop(at))
    return out


def packets_made(connections: Sequence[Spoken], harms: frozenset[str], seed: int, frames: int = 160) -> list[Packet]:
    """All connections side by side, as packets."""
    rng = random.Random(seed)
    lanes: list[list[bytes]] = []
    for number, spoken in enumerate(connections):
        if spoken.again and lanes:
            lanes[-1] += frames_of(spoken, len(lanes) - 1, rng, frames)
        else:
            lanes.append(frames_of(spoken, number if not spoken.again else len(lanes), rng, frames))
    order = [index for index, lane in enumerate(lanes) for _ in lane]
    rng.shuffle(order)
    waiting = [iter(lane) for lane in lanes]
    packets = packets_of(next(waiting[index]) for index in order)
    for harm in HARMS:
        if harm in harms:
            packets = _HARMED[harm](packets, rng)
    return [packet._replace(number=number) for number, packet in enumerate(packets, 1)]


def _snapped(packets: list[Packet], rng: random.Random) -> list[Packet]:
    return [each._replace(data=each.data[: rng.choice((96, 300))]) if rng.random() < 0.03 else each for each in packets]


def _fragmented(packets: list[Packet], rng: random.Random) -> list[Packet]:
    out = []
    for each in packets:
        head, rest = each.data[14:34], each.data[34:]
        if each.data[12:14] == b"\x08\0" and len(rest) > 64 and rng.random() < 0.05:
            parts = [(rest[:48], 0x2000), (rest[48:], 6)]
            for body, place in parts[:: rng.choice((1, -1))]:
                fixed = pack(">BBHHH", 0x45, 0, 20 + len(body), each.number % 65536, place)
                data = ethernet(fixed + head[8:] + body)
                out.append(each._replace(data=data, length=len(data)))
        else:
            out.append(each)
    return out


def _timed(packets: list[Packet], rng: random.Random) -> list[Packet]:
    """Clocks that go back, stand, and leap over seconds."""
    shift, out = 0, []
    for each in packets:
        if rng.random() < 0.05:
            shift += rng.choice((-5_000_000, 0, 40_000_000, 700_000_000, 6_000_000_000))
        out.append(each._replace(time_ns=max(each.time_ns + shift, 0)))
    return out


def _tagged(packets: list[Packet], rng: random.Random) -> list[Packet]:
    return [
        each._replace(data=each.data[:12] + b"\x81\0\0\x07" + each.data[12:], length=each.length + 4)
        if rng.random() < 0.3
        else each
        for each in packets
    ]


def _noisy(packets: list[Packet], rng: random.Random) -> list[Packet]:
    out = []
    for each in packets:
        if rng.random() < 0.05:
            data = rng.choice(
                (b"", rng.randbytes(7), bytes(12) + b"\x08\x06" + bytes(28), bytes(12) + b"\x08\0\x45" + bytes(9))
            )
            out.append(each._replace(data=data, length=len(data)))
        out.append(each)
    return out


_HARMED: Mapping[str, Callable[[list[Packet], random.Random], list[Packet]]] = {
    "snapped": _snapped,
    "fragments": _fragmented,
    "times": _timed,
    "vlan": _tagged,
    "noise": _noisy,
}


def files_of(packets: Sequence[Packet], form: str, seed: int) -> list[bytes]:
    """The packets as a capture file, or as two."""
    rng = random.Random(seed)
    match form:
        case "pcapng":
            return [pcapng_bytes(packets)]
        case "gzip":
            return [gzip.compress(pcap_bytes(packets, nano=True), 1)]
        case "zstd":
            return [zstandard.compress(pcap_bytes(packets, nano=True), 1)]
        case "cut":
            raw = pcap_bytes(packets)
            return [raw[: rng.randrange(len(raw))]]
        case "two files":
            first = [rng.random() < 0.5 for _ in packets]
            return [
                pcap_bytes([packet for packet, is_first in zip(packets, first, strict=True) if is_first is mine])
                for mine in (True, False)
            ]
    return [pcap_bytes(packets, nano=form == "nano", order=">" if form == "big-endian" else "<")]
