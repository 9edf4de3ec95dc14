"""The bytes of vectors as captures: each said by both sides, over and over, in a conversation in good order."""

from collections.abc import Mapping
from typing import Any

from tests.dissect.columns.made import said, turns
from tests.helpers.captures import Talk, packets_of, pcap_bytes
from tests.helpers.offramp_vectors import frame_of
from tests.helpers.vectors import Vector
from wiretool.codec.message import Side
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.offramp.framing import FIN, frame_bytes
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import APPEND, SbpFrame

#: Frames in front of a vector, and how often it comes: enough for runs on both sides of it.
BEFORE, TIMES, AFTER = 40, 20, 60
MASK = b"\x01\x02\x03\x04"


def capture_of(vector: Vector) -> tuple[str, bytes]:
    """The protocol of a vector, and a pcap file in which its bytes are said."""
    protocol, by_client, by_server = _bytes_of(vector.file.stem, vector.group, vector.record)
    before = turns(said(protocol, BEFORE), 1)
    after = turns(said(protocol, BEFORE + AFTER)[BEFORE:], 1)
    talk = Talk(server=("10.0.0.2", PROTOCOLS[protocol].ports[0]))
    talk.open()
    said_now: list[tuple[Side, bytes]] = [("client", by_client), ("server", by_server)]
    for side, data in [*before, *said_now * TIMES, *after]:
        if data:
            talk.say(side, data, mtu=60_000, acks=False)
    talk.close("fin")
    return protocol, pcap_bytes(packets_of(talk.frames))


def _bytes_of(stem: str, group: str, record: Mapping[str, Any]) -> tuple[str, bytes, bytes]:
    """The protocol, what the client says, and what the server does."""
    if stem == "pravega":
        data = bytes.fromhex(record["hex"])
        return record["version"], data, data
    if stem == "sbp":
        data = _sbp_bytes(record)
        return "sbp" if record["version"] == "sbp-latest" else "sbp-0.1", data, data
    if group == "json":
        text = record["text"].encode()
        return "offramp", frame_bytes(FIN | 1, text, MASK), frame_bytes(FIN | 1, text, None)
    data = frame_of(record) if group == "frames" else b"\x81\x00"
    return "offramp", data, data


def _sbp_bytes(record: Mapping[str, Any]) -> bytes:
    data = bytes.fromhex(record["hex"])
    match record.get("kind"):
        case "header_only":
            return encode_frame(SbpFrame(opcode=APPEND, flags=0, stream_id=1, header=data), "client")
        case "payload_only":
            return encode_frame(SbpFrame(opcode=APPEND, flags=0, stream_id=1, payload=data), "client")
    return data
