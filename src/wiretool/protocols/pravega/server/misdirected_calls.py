"""Answers to gRPC calls that come to the segment store, so that their client reports where the controller is."""

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from h2.exceptions import ProtocolError

from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.grpc_messages import failure_headers


class MisdirectedCalls:
    """The server's end of HTTP/2: each call fails with UNIMPLEMENTED and a text."""

    def __init__(self, text: str) -> None:
        self._headers = failure_headers(CallFailed(Code.UNIMPLEMENTED, text))
        self._http2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._http2.initiate_connection()
        #: Whether a call was answered, or the client violated HTTP/2: nothing else is expected from it.
        self.is_done = False

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the client; return those to send."""
        try:
            for event in self._http2.receive_data(data):
                if isinstance(event, RequestReceived):
                    self._refuse(event)
            if self.is_done:
                self._http2.close_connection()
        except ProtocolError:
            self.is_done = True
        return self._http2.data_to_send()

    def _refuse(self, call: RequestReceived) -> None:
        """Answer a call; ProtocolError where a later frame of the same bytes has closed its stream."""
        assert call.stream_id is not None, "h2 names the stream of every request"
        self._http2.send_headers(call.stream_id, self._headers, end_stream=True)
        self.is_done = True
