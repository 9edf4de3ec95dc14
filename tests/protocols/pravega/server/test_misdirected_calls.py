"""Calls of the controller that come to the segment store: each is refused, and no bytes stop the store."""

from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event, ResponseReceived, StreamReset

from wiretool.protocols.pravega.server.misdirected_calls import MisdirectedCalls

PATH = "/io.pravega.controller.stream.api.grpc.v1.ControllerService/listScopes"
HEADERS = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", PATH),
    (":authority", "c"),
    ("content-type", "application/grpc"),
]


def client_with_call(*, ends: bool) -> tuple[H2Connection, bytes]:
    """Return a client, and the bytes of its first call."""
    client = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
    client.initiate_connection()
    client.send_headers(1, HEADERS, end_stream=ends)
    return client, client.data_to_send()


def answered(client: H2Connection, calls: MisdirectedCalls, data: bytes) -> list[Event]:
    """Return the events of the answer to some bytes of the client."""
    return client.receive_data(calls.feed(data))


@pytest.mark.parametrize("ends", [True, False])
def test_a_call_fails_with_a_text(ends: bool) -> None:
    client, data = client_with_call(ends=ends)
    calls = MisdirectedCalls("the controller is elsewhere")
    (response,) = [each for each in answered(client, calls, data) if isinstance(each, ResponseReceived)]
    headers: dict[Any, Any] = dict(response.headers)
    assert headers["grpc-message"] == "the controller is elsewhere"
    assert calls.is_done


def test_a_call_whose_stream_is_closed_by_later_frames_has_no_answer() -> None:
    """The second headers come on a stream that the client has ended; both are in one packet."""
    client, data = client_with_call(ends=True)
    _, again = client_with_call(ends=False)
    calls = MisdirectedCalls("the controller is elsewhere")
    events = answered(client, calls, data + again[again.rindex(b"\x01\x04\0\0\0\x01") - 3 :])
    assert calls.is_done
    assert [type(each) for each in events if isinstance(each, ResponseReceived | StreamReset)] == [StreamReset]
