"""One Offramp connection, watched from the middle: HTTP heads, then WebSocket frames, then the events in them."""

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.codec.cursor import Span
from wiretool.codec.message import SIDES, Message, Side, other_side
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Conversation, Defect, Reading
from wiretool.protocols.offramp import events, framing, handshake, http
from wiretool.protocols.offramp.annotation import annotate_frame, annotate_http
from wiretool.protocols.offramp.closing import read_close
from wiretool.protocols.offramp.deflate import looks_deflated
from wiretool.protocols.offramp.framing import Header
from wiretool.protocols.offramp.messages import (
    CommitEvent,
    CommitResponseEvent,
    ErrorEvent,
    HandshakeRequest,
    HandshakeResponse,
    Ping,
    Pong,
    RequestEvent,
)
from wiretool.protocols.offramp.messaging import Joined, Joiner
from wiretool.protocols.offramp.searching import (
    LONG_BYTES,
    candidates,
    trust_control,
    trust_fragment,
    trust_message,
    trust_plain,
)
from wiretool.protocols.offramp.session import Kind, Phase, Session, Unnamed, Waiting

_GIVEN_COUNT = re.compile(r"\(given (-[0-9]{1,19})\)\Z", re.ASCII)
#: What every stream's path holds, whatever a server makes of the rest.
_OWN_PATH = "/offramp/"
_HEAD = "HEAD"
#: The method of frames that a client sends to a server which still uses HTTP: the server reads a broken request.
_NO_METHOD = ""


class Connection(Conversation):
    """The state of one connection; see Conversation for what its methods give."""

    def __init__(self, *, from_start: bool) -> None:
        #: The state from which `columns/conversation.py` goes on, and which it leaves as this would; so `commits`.
        self.session = Session(from_start=from_start)
        self.joiners = {side: Joiner(side, is_certain=from_start) for side in SIDES}
        #: None while the answer to the handshake was not seen.
        self.deflates: bool | None = None
        #: Whether there were packed messages though nothing of the kind was agreed on: they are unpacked all the same.
        self.is_packed = False
        self._is_foreign = False
        self._is_over: dict[Side, bool] = {"client": False, "server": False}
        self._heads: dict[Side, int] = {"client": 0, "server": 0}
        #: Requests without a response: the number of the record, 0 for bytes without a frame, and the method.
        self._asked: deque[tuple[int, str]] = deque(maxlen=1_024)
        #: Where the last response ends that was cut out of a packet, and how many up to there are not read yet.
        self._cut_end = self._cut_count = 0
        self.commits = Waiting()
        self._negative = Waiting()
        self._pings: dict[Side, Waiting] = {"client": Waiting(), "server": Waiting()}
        self._closes: dict[Side, int] = {}

    # -- where a frame ends ----------------------------------------------------------------------------------------

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        is_http = framing.is_http(side, data, at, end)
        if is_http is None:
            return 0
        if is_http:
            return self._http_extent(side, data, at, end)
        return framing.frame_extent(side, data, at, end)

    def _http_extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        is_over = self._is_over[side]
        if side == "client":
            return http.http_extent(side, data, at, end, answers_head=False, is_over=is_over)
        # All extents of a packet are found before the first response in it is read.
        place = self._cut_count if at == self._cut_end else 0
        answers_head = place < len(self._asked) and self._asked[place][1] == _HEAD
        size = http.http_extent(side, data, at, end, answers_head=answers_head, is_over=is_over)
        if 0 < size <= end - at:
            self._cut_end = at + size
            self._cut_count = place + (not is_interim(int(data[at + 9 : at + 12])))
        return size

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        return candidates(side, data, at, end, may_deflate=self.deflates is not False)

    def hole(self, side: Side) -> None:
        self.session.hole(side)
        self.joiners[side].hole()
        self._asked.clear()
        self.commits.forget_repeated()
        self._negative.forget_repeated()
        for pings in self._pings.values():
            pings.forget_repeated()

    def lost(self, side: Side) -> None:
        asked = self._asked.copy()
        self.hole(side)
        self._asked = asked  # all requests were captured: a server that uses HTTP refuses these bytes as another one
        self._note_unreadable_request(side, 0)

    @property
    def held_bytes(self) -> int:
        return self.joiners["client"].held_bytes + self.joiners["server"].held_bytes

    def end(self, side: Side) -> None:
        self._is_over[side] = True

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        if framing.is_http(side, data, at, end):
            return self._read_http(side, data, at, end, n)
        self._note_unreadable_request(side, n)
        header = framing.read_header(data, at, end)
        assert header is not None
        payload = framing.payload_of(header, data, at, end)
        defects: list[Defect] = list(framing.header_defects(side, header, may_deflate=self.deflates is not False))
        if header.opcode not in framing.OPCODES:
            self._take(side, Unnamed, defects)
            return Reading("Unknown", {**_frame_fields(header), "data": payload.hex()}, defects)
        if header.is_control:
            return self._read_control(side, header, payload, defects, n)
        return self._read_data(side, header, payload, defects, n)

    def _take(self, side: Side, kind: Kind, defects: list[Defect], status: int = 0) -> None:
        breach = self.session.take(side, kind, status)
        if breach is not None:
            defects.append(breach)

    # -- HTTP ------------------------------------------------------------------------------------------------------

    def _read_http(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        message, strange = handshake.read_handshake(side, data, at, end)
        defects: list[Defect] = [
            DecodeError("bad_http_header", f"{line[:60]!a} is not a header") for line in strange[:1]
        ]
        self._heads[side] += 1
        if isinstance(message, HandshakeRequest):
            return self._read_request(message, defects, n)
        return self._read_response(message, defects)

    def _read_request(self, request: HandshakeRequest, defects: list[Defect], n: int) -> Reading:
        self._take("client", HandshakeRequest, defects)
        self._is_foreign = _OWN_PATH not in request.target
        self._asked.append((n, request.method))
        return Reading("HandshakeRequest", request, defects)

    def _read_response(self, response: HandshakeResponse, defects: list[Defect]) -> Reading:
        self._take("server", HandshakeResponse, defects, response.status)
        if response.status == 101:
            self._drop_unreadable_requests()
        reply_to = (self._asked[0][0] or None) if self._asked else None
        if not is_interim(response.status):
            self._cut_count = max(self._cut_count - 1, 0)
            if self._asked:
                self._asked.popleft()
        if response.status == 101:
            self._upgrade(response)
        return Reading("HandshakeResponse", response, defects, reply_to)

    def _note_unreadable_request(self, side: Side, n: int) -> None:
        """Note bytes before the upgrade that are not HTTP.

        Unless it is granted, a response (400) answers them (RFC 9112 §9.3.2).
        """
        is_refused = side == "client" and self.session.phases["server"] is Phase.HTTP
        if is_refused and (not self._asked or self._asked[-1][1] != _NO_METHOD):
            self._asked.append((n, _NO_METHOD))

    def _drop_unreadable_requests(self) -> None:
        """The upgrade is granted: frames that came before the response are read as frames."""
        for each in [each for each in self._asked if each[1] == _NO_METHOD]:
            self._asked.remove(each)

    def _upgrade(self, response: HandshakeResponse) -> None:
        """Both sides begin anew, with what was agreed."""
        deflate = handshake.agreed_deflate(response)
        self.deflates = deflate is not None
        for side in SIDES:
            self.joiners[side] = Joiner(side, is_certain=True)
        if deflate is not None:
            self.joiners["client"].inflater.resets = deflate.client_resets
            self.joiners["server"].inflater.resets = deflate.server_resets

    # -- control frames --------------------------------------------------------------------------------------------

    def _read_control(self, side: Side, header: Header, payload: bytes, defects: list[Defect], n: int) -> Reading:
        if header.opcode == 9:
            self._take(side, Ping, defects)
            self._pings[side].add(payload, n)
            return Reading("Ping", Ping(payload=payload), defects)
        if header.opcode == 10:
            self._take(side, Pong, defects)
            return Reading("Pong", Pong(payload=payload), defects, self._pings[other_side(side)].take(payload))
        return self._read_close(side, payload, defects, n)

    def _read_close(self, side: Side, payload: bytes, defects: list[Defect], n: int) -> Reading:
        close, fields, wrong = read_close(side, payload)
        if wrong is not None:
            # A Close that is none: its receiver fails the connection, and then both sides may still send theirs.
            self._take(side, Unnamed, defects)
            return Reading("Close", fields, [*defects, wrong])
        self._take(side, type(close), defects)
        self._closes.setdefault(side, n)
        return Reading("Close", close, defects, self._closes.get(other_side(side)))

    # -- data frames -----------------------------------------------------------------------------------------------

    def _read_data(self, side: Side, header: Header, payload: bytes, defects: list[Defect], n: int) -> Reading:
        joined = self.joiners[side].join(header, payload)
        defects += joined.defects
        if joined.content is not None:
            return self._read_message(side, joined.content, joined, defects, n)
        if joined.deflated is None:
            self._take(side, Unnamed, defects)
            return Reading("Fragment", _frame_fields(header), defects)
        if not joined.defects and self.session.phases[side] is Phase.UPGRADED:
            self.session.phases[side] = Phase.JOINED  # it may have been CONNECTION
        self._take(side, Unnamed, defects)
        fields = {**_frame_fields(header), "data": joined.deflated.hex(), "why": joined.why}
        return Reading("Deflated", fields, defects)

    def _read_message(self, side: Side, content: bytes, joined: Joined, defects: list[Defect], n: int) -> Reading:
        if not content and side == "client":
            self._take(side, Unnamed, defects)
            return Reading("Empty", {"opcode": framing.NAMES[joined.opcode], "length": 0}, defects)
        try:
            event = events.decode(content, side)
        except DecodeError as err:
            self._take(side, Unnamed, defects)
            shown = events.show(content)
            if shown.message == "COMMIT" and side == "client":  # servers there are that take it all the same
                self.commits.add(echoed(shown.fields.get("correlationId")), n)
            if err.kind != "malformed_utf8" or not any(defect.kind == "bad_utf8" for defect in defects):
                defects.append(err)
            return Reading(shown.message, shown.fields, defects)
        self._take(side, type(event), defects)
        return Reading(event.declaration.name, event, defects, self._reply_to(event, n))

    def _reply_to(self, event: Message, n: int) -> int | None:
        """The request that `event` answers; if it is one itself it waits for its answer."""
        if isinstance(event, CommitEvent):
            self.commits.add(echoed(event.correlationId), n)
        elif isinstance(event, CommitResponseEvent):
            return self.commits.take(echoed(event.correlationId))
        elif isinstance(event, RequestEvent) and event.count < 0:
            self._negative.add(event.count, n)
        elif isinstance(event, ErrorEvent):
            given = _GIVEN_COUNT.search(event.reason)
            return self._negative.take(int(given.group(1))) if given else None
        return None

    # -- searching -------------------------------------------------------------------------------------------------

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        if framing.is_http(side, data, at, end):
            return self._trust_http(side, data, at, end)
        header = framing.read_header(data, at, end)
        may_deflate = self.deflates is not False
        if self._is_foreign or header is None or header.size + header.length != end - at:
            return 0
        if framing.header_defects(side, header, may_deflate=may_deflate):
            return 0
        if header.opcode in (1, 2) and header.is_final and not header.is_compressed:
            return trust_plain(side, header, data, at, end)
        if header.length > LONG_BYTES:
            return 1
        payload = framing.payload_of(header, data, at, end)
        if header.is_control:
            return trust_control(side, header, payload)
        if header.is_compressed:
            return self._trust_deflated(side, header, payload)
        return trust_fragment(side, header, payload, may_deflate=may_deflate)

    def _trust_http(self, side: Side, data: bytes, at: int, end: int) -> int:
        """A head of another service is believed where it may be the first, so that a port of ours is told by it."""
        try:
            head = http.read_head(side, data, at, end)
        except DecodeError:
            return 0
        if head is None or head.strange:
            return 0
        if side == "client" and _OWN_PATH in head.target:
            return 4
        if side == "server" and not self._is_foreign:
            return 2
        return int(not self._heads[side])

    def _trust_deflated(self, side: Side, header: Header, payload: bytes) -> int:
        if not looks_deflated(payload, is_whole=header.is_final):
            return 0
        if not header.is_final:
            return 1
        message = self.joiners[side].inflater.peek(payload)
        if message is not None:
            return trust_message(side, message)
        return 2 if len(payload) > 2 else 1

    # -- annotating ------------------------------------------------------------------------------------------------

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        if framing.is_http(side, data, at, end):
            return annotate_http(side, data, at, end)
        return annotate_frame(side, data, at, end)


def is_interim(status: int) -> bool:
    """Return whether another response to the same request follows (RFC 9110 §15.2)."""
    return status < 200 and status != 101


def _frame_fields(header: Header) -> Mapping[str, Any]:
    opcode = framing.NAMES.get(header.opcode, header.opcode)
    return {"opcode": opcode, "fin": header.is_final, "length": header.length}


def echoed(correlation_id: object) -> bytes | None:
    """The id as the reference server echoes it: numbers and booleans as text, half a surrogate pair as `?`.

    A digest for a long one, so that many open commits stay small.
    """
    if isinstance(correlation_id, bool):
        correlation_id = str(correlation_id).lower()
    if not isinstance(correlation_id, str | int | float):
        return None
    raw = str(correlation_id).encode("utf-8", "replace")
    return raw if len(raw) <= 64 else hashlib.blake2b(raw).digest()
