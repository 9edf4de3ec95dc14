"""What of an offer of compression is taken, and what a client makes of compressed events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.offramp.server.network import Client, Network, deflate, joined
from wiretool.protocols.offramp.deflate import Inflater
from wiretool.protocols.offramp.framing import read_header
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.deflate import Deflater, is_lawful, negotiate

PMD = "permessage-deflate"


@pytest.mark.parametrize(
    ("offers", "answer"),
    [
        ([], ""),
        (["x-webkit-deflate-frame"], ""),
        ([PMD], PMD),
        ([f"{PMD}; client_max_window_bits"], f"{PMD};client_max_window_bits=15"),
        ([f"{PMD}; client_max_window_bits=8"], f"{PMD};client_max_window_bits=8"),
        ([f'{PMD}; client_max_window_bits="9"'], f"{PMD};client_max_window_bits=9"),
        ([f"{PMD}; server_max_window_bits=15"], f"{PMD};server_max_window_bits=15"),
        ([f"{PMD}; server_max_window_bits=10"], ""),
        ([f"{PMD}; server_max_window_bits=10, {PMD}"], PMD),
        (
            [f"{PMD}; server_max_window_bits=10", f"{PMD};server_no_context_takeover"],
            f"{PMD};server_no_context_takeover",
        ),
        (
            [f"{PMD}; client_max_window_bits; client_no_context_takeover; server_no_context_takeover"],
            f"{PMD};server_no_context_takeover;client_no_context_takeover;client_max_window_bits=15",
        ),
    ],
)
def test_negotiation(offers: list[str], answer: str) -> None:
    assert is_lawful(offers)
    agreed = negotiate(offers)
    assert agreed.answer == answer
    assert (agreed.deflate is not None) == bool(answer)
    if agreed.deflate is not None:
        assert agreed.deflate.client_resets == ("client_no" in answer)
        assert agreed.deflate.server_resets == ("server_no" in answer)


@pytest.mark.parametrize(
    "wrong",
    [
        "foo=1",
        "client_max_window_bits=16",
        "client_max_window_bits=7",
        "server_max_window_bits",
        "server_no_context_takeover=1",
        "client_max_window_bits; client_max_window_bits",
    ],
)
def test_a_wrong_parameter_declines_an_offer(wrong: str) -> None:
    assert not is_lawful([f"{PMD}; {wrong}"])
    assert negotiate([f"{PMD}; {wrong}"]).answer == ""
    assert negotiate([f"{PMD}; {wrong}, {PMD}"]).answer == PMD


@given(st.lists(st.binary(min_size=1, max_size=400), max_size=8), st.booleans())
def test_deflated_messages_inflate(messages: list[bytes], resets: bool) -> None:
    deflater, inflater = Deflater(resets=resets), Inflater(resets=resets)
    for message in messages:
        assert inflater.inflate(deflater.deflate(message)) == message


@pytest.mark.parametrize("takes_over", [True, False])
def test_a_client_reads_compressed_events_and_is_read(takes_over: bool) -> None:
    offer = deflate(client_no_context_takeover=not takes_over, server_no_context_takeover=not takes_over)
    net = Network(OfframpMock(partitions=1))
    client, _ = joined(net, 9, extensions=offer)
    begun = len(net.got[0])
    net.publish("one", "same" * 50, "same" * 50)
    sizes = [len(net.got[0]) - begun]
    assert [event["payload"] for event in client.take()] == ["same" * 50] * 2
    assert sizes[0] < 200
    client.commit({0: 1}, "x" * 8_000)
    client.commit({0: 1}, "x" * 8_000)
    assert [answer["success"] for answer in client.take()] == [True, True]


def test_a_large_compressed_event_goes_out_in_fragments() -> None:
    net = Network(OfframpMock(partitions=1))
    client, _ = joined(net, 9, extensions=deflate())
    begun = len(net.got[0])
    payload = [n * 7_919 % 100_003 for n in range(10_000)]
    net.publish("one", payload)
    data, at, firsts = bytes(net.got[0]), begun, []
    while at < len(data):
        header = read_header(data, at, len(data))
        assert header is not None
        assert header.length <= 8_192
        firsts.append(header.first)
        at += header.size + header.length
    assert len(firsts) > 2
    assert firsts == [0x42, *[0x00] * (len(firsts) - 2), 0x80]
    (event,) = client.take()
    assert event["payload"] == payload


def test_compression_can_be_switched_off() -> None:
    net = Network(OfframpMock(deflate=False))
    Client(net, extensions=deflate())
    assert b"deflate" not in net.got[0]
