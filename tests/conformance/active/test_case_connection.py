"""The end of a connection that a case has."""

from wiretool.conformance.active.case_connection import CaseConnection
from wiretool.protocols.base.registry import protocol_named

_PATH = "/io.pravega.controller.stream.api.grpc.v1.ControllerService/createScope"


def test_a_call_has_its_bytes_before_it_is_answered() -> None:
    """The frame of a request depends on nothing that comes later, where it is our own."""
    connection = CaseConnection(protocol_named("pravega-controller"), 1)
    for stream_id in (1, 3):
        headers = [[":method", "POST"], [":path", _PATH], ["content-type", "application/grpc"]]
        connection.encode("Headers", {"stream_id": stream_id, "method": "createScope", "headers": headers})
        data = connection.encode("createScope", {"scope": "s"})
        assert data[3:9] == bytes((0, 1)) + stream_id.to_bytes(4, "big")  # DATA that ends its stream
        assert data[9:] == b"\x00\x00\x00\x00\x03\x0a\x01s"
