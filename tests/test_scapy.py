"""Layers of Scapy: what they dissect and build is what `decode` and the codec have."""

from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.packet import Packet, split_bottom_up
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession

from tests.helpers.examples import needs_protocol
from wiretool.codec.message import Message
from wiretool.dissect.dissector import read
from wiretool.errors import DecodeError, EncodeError, UsageError
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.scapy import MessageLayer, bind, frame_layer, layers_of

CAPTURES = Path(__file__).parents[1] / "captures"
SAMPLE = [
    pytest.param("pravega", "pravega/txn.pcap"),
    pytest.param("pravega-controller", "pravega/mgmt.pcap"),
    pytest.param("pravega-draft", "pravega-draft/blocks.pcap"),
    pytest.param("sbp", "sbp/rs_append.pcap"),
    pytest.param("sbp", "sbp/pd_heartbeat.pcap"),
    pytest.param("sbp-0.1", "sbp-0.1/s1_streams.pcap", marks=needs_protocol("sbp-0.1")),
    pytest.param("offramp", "offramp/plain.pcap", marks=needs_protocol("offramp")),
    pytest.param("offramp", "offramp/err_malformed.pcap", marks=needs_protocol("offramp")),
]


@pytest.fixture
def bound() -> Iterator[dict[str, int]]:
    """Bind protocols for the time of a test: the port of each, to be set."""
    ports: dict[str, int] = {}
    yield ports
    for protocol, port in ports.items():
        for end in ("sport", "dport"):
            split_bottom_up(TCP, frame_layer(protocol), **{end: port})


def messages_in(packet: Packet) -> Iterator[MessageLayer]:
    layer = packet.getlayer(TCP)
    while layer:
        layer = layer.payload
        if isinstance(layer, MessageLayer):
            yield layer


def values_of(record: Record) -> dict[str, Any]:
    """Return the fields of a record as a layer has them."""
    if not isinstance(record.fields, Message) or layers_of(record.protocol)[record.message].declared is None:
        return {"values": record.fields}
    return {name: getattr(record.fields, name.rstrip("_")) for name in names_of(record.protocol, record.message)}


def names_of(protocol: str, message: str) -> list[str]:
    return [field.name for field in layers_of(protocol)[message].fields_desc]


@pytest.mark.parametrize(("protocol", "name"), SAMPLE)
def test_captures_are_dissected_as_by_decode(protocol: str, name: str, bound: dict[str, int]) -> None:
    records = [record for record in read(CAPTURES / name) if record.kind == "frame" and record.protocol == protocol]
    (port,) = {int(record.server.rpartition(":")[2]) for record in records}
    bind(protocol, port)
    bound[protocol] = port
    packets = sniff(offline=str(CAPTURES / name), session=TCPSession)
    found = [layer for packet in packets for layer in messages_in(packet)]
    assert [(layer.message, layer.side, layer.self_build()) for layer in found] == [
        (record.message, record.side, record.raw) for record in records
    ]
    for layer, record in zip(found, records, strict=True):
        assert layer.fields == values_of(record)


def test_layers_have_names_that_python_allows() -> None:
    every = [name for protocol in PROTOCOLS for message in layers_of(protocol) for name in names_of(protocol, message)]
    assert "from_" in every
    assert not [name for name in every if iskeyword(name)]


@pytest.mark.parametrize("port", [0, -1, 65536, "9999", None])
def test_a_bad_port_is_refused(port: Any) -> None:
    with pytest.raises(UsageError, match=r"sbp: port .*; expected 1 to 65535"):
        bind("sbp", port)


def test_bytes_of_another_message_are_refused() -> None:
    hello = bytes(layers_of("pravega")["Hello"](high_version=17, low_version=5))
    with pytest.raises(DecodeError, match="the bytes are not a frame of KeepAlive: Hello"):
        layers_of("pravega")["KeepAlive"](hello)


def test_a_changed_value_is_encoded(bound: dict[str, int]) -> None:
    bind("pravega")
    bound["pravega"] = 12345
    pravega = layers_of("pravega")
    made = (
        IP()
        / TCP(dport=12345)
        / pravega["Hello"](high_version=17, low_version=5)
        / pravega["SetupAppend"](segment="a/b/0")
    )
    again = IP(bytes(made))
    assert [layer.message for layer in messages_in(again)] == ["Hello", "SetupAppend"]
    again[pravega["SetupAppend"]].segment = "x/y/1"
    assert bytes(again).endswith(b"\x00\x05x/y/1\x00\x00")
    assert bytes(again)[:-12] == bytes(made)[:-12]


def test_a_value_that_is_changed_in_place_is_encoded() -> None:
    record = next(record for record in read(CAPTURES / "sbp/rs_append.pcap") if record.kind == "frame")
    layer = layers_of("sbp")[record.message](record.raw)
    assert bytes(layer) == record.raw
    layer.values["stream_id"] += 1
    assert bytes(layer) != record.raw


def test_structures_are_given_as_json() -> None:
    layer = layers_of("pravega")["ReadTable"](segment="a/b/0", keys=[{"data": "6b", "key_version": 3}])
    assert b"k" in bytes(layer)


def test_bad_values_and_names() -> None:
    with pytest.raises(EncodeError, match="segment"):
        bytes(layers_of("pravega")["SetupAppend"](segment=5))
    with pytest.raises(UsageError, match="no protocol is called 'nothing'"):
        layers_of("nothing")


def test_a_session_goes_on_after_bytes_that_no_frame_begins_with(bound: dict[str, int]) -> None:
    bind("pravega")
    bound["pravega"] = 12345
    hello = bytes(layers_of("pravega")["Hello"](high_version=17, low_version=5))
    frame = frame_layer("pravega")
    session: dict[str, Any] = {}
    first = frame.tcp_reassemble(hello + b"\x00\x00\x00\x01\xff\xff\xff\xff....", {}, session)
    assert first is not None
    assert [type(first).__name__, type(first.payload).__name__, first.payload.load[-4:]] == ["Hello", "Raw", b"...."]
    second = frame.tcp_reassemble(hello, {}, session)
    assert second is not None
    assert second.high_version == 17


def test_bytes_that_are_no_whole_frame_stay_raw(bound: dict[str, int]) -> None:
    bind("pravega")
    bound["pravega"] = 12345
    packet = IP(bytes(IP() / TCP(dport=12345) / (b"\x00\x00\x00\x01\x00\x00\x00\x21short")))
    assert [type(packet[TCP].payload).__name__, bytes(packet[TCP].payload)[-5:]] == ["Raw", b"short"]
