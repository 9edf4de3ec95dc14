"""Connections of which both sides have ended, in little memory: what late segments of theirs are held against."""

from struct import Struct

from wiretool.capture.tcp.direction import Flow, Shared
from wiretool.capture.tcp.reassembly_buffer import Ranges
from wiretool.capture.tcp.stream_events import Connection
from wiretool.codec.message import SIDES

#: Of a flow that has ended: whether it was started, `seq`, `offset`, and the number of its SYN or `NO_SYN`; each with
#: its format, little-endian.
PACKED = (("is_started", "?"), ("seq", "q"), ("offset", "q"), ("isn", "q"))
_FLOW = Struct("<" + "".join(form for _, form in PACKED))
NO_SYN = -1
#: Bytes of both.
PACKED_BYTES = 2 * _FLOW.size


class EndedFlows:
    """Both flows of such a connection, which hold nothing back any more; acknowledgements mean nothing to them."""

    __slots__ = ("_key", "_missing", "_packed", "connection")

    def __init__(self, key: bytes, connection: Connection, packed: bytes, missing: tuple[Ranges, ...] = ()) -> None:
        """`key` is that of the client's flow; `packed` has both flows as `PACKED`, the client's first."""
        self._key = key
        self.connection = connection
        self._packed = packed
        #: What was not given out; in good order nothing.
        self._missing = missing

    @classmethod
    def of(cls, client: Flow) -> "EndedFlows":
        """Return them for the flow of a client and its peer."""
        server = client.peer
        missing = (client.missing, server.missing) if client.missing or server.missing else ()
        return cls(client.key, client.connection, _packed(client) + _packed(server), missing)

    @property
    def key(self) -> bytes:
        """Return the key of the client's flow."""
        return self._key

    def flow(self, key: bytes, shared: Shared) -> Flow:
        """The flow with that key as it was, and its peer."""
        client, server = self._unpacked(0, self._key, shared), self._unpacked(1, way_back(self._key), shared)
        client.peer, server.peer = server, client
        return client if key == self._key else server

    def _unpacked(self, at: int, key: bytes, shared: Shared) -> Flow:
        flow = Flow(key, self.connection, SIDES[at], shared)
        flow.is_started, flow.seq, flow.offset, isn = _FLOW.unpack_from(self._packed, at * _FLOW.size)
        flow.isn = None if isn == NO_SYN else isn
        flow.is_ended = True
        if self._missing:
            flow.missing = self._missing[at]
        return flow


def may_be_packed(client: Flow) -> bool:
    """Whether the flows of a connection that was closed can be kept so; not those of one that is with itself."""
    return not client.pieces and not client.peer.pieces and client.key != client.peer.key


def way_back(key: bytes) -> bytes:
    """The key of the flow in the other direction."""
    size = len(key) // 2 - 2
    return key[size:-4] + key[:size] + key[-2:] + key[-4:-2]


def _packed(flow: Flow) -> bytes:
    return _FLOW.pack(flow.is_started, flow.seq, flow.offset, NO_SYN if flow.isn is None else flow.isn)
