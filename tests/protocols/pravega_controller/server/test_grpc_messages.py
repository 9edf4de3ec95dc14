"""What gRPC puts around messages."""

import pytest

from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.grpc_messages import failure_headers, framed, message_in


def test_a_message_is_framed_and_taken_out() -> None:
    assert framed(b"abc") == b"\0\0\0\0\x03abc"
    assert message_in(framed(b"")) == b""
    assert message_in(framed(b"abc")) == b"abc"


@pytest.mark.parametrize("body", [b"", b"\0\0\0", b"\0\0\0\0\x02a", framed(b"a") + framed(b"b")])
def test_a_request_is_just_one_message(body: bytes) -> None:
    with pytest.raises(CallFailed, match=f"{len(body)} bytes of request are not one message") as caught:
        message_in(body)
    assert caught.value.code is Code.INTERNAL


def test_compression_is_not_known() -> None:
    with pytest.raises(CallFailed, match="Compressed messages") as caught:
        message_in(b"\x01" + framed(b"abc")[1:])
    assert caught.value.code is Code.UNIMPLEMENTED


def test_the_text_of_a_failure_is_percent_encoded() -> None:
    headers = dict(failure_headers(CallFailed(Code.NOT_FOUND, "50% of ä\n")))
    assert headers["grpc-status"] == "5"
    assert headers["grpc-message"] == "50%25 of %C3%A4%0A"
