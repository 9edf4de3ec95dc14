"""The segment store behind all its connections: segments, tables and tokens, and what single requests are answered."""

import random
from typing import Any

from wiretool.codec.message import Message
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.failures import AuthTokenCheckFailed
from wiretool.protocols.pravega.messages import ReadSegment, SetupAppend
from wiretool.protocols.pravega.segments import CreateTransientSegment, MergeSegmentsBatch
from wiretool.protocols.pravega.server.index import SegmentIndex
from wiretool.protocols.pravega.server.life import ADMIN_ANSWERS, ANSWERS
from wiretool.protocols.pravega.server.refusals import NAMED_FIELD, failure
from wiretool.protocols.pravega.server.segments import EVENT_COUNT, Refusal, Segments
from wiretool.protocols.pravega.server.tables import Tables
from wiretool.protocols.pravega.server.tokens import Permission, TokenChecker

#: The wire version that brought index segments and LocateOffset.
INDEX_SINCE = 17
_NS_PER_S = 1_000_000_000
#: What more than reading is asked of a token for; that is not much.
_UPDATES = (SetupAppend, MergeSegmentsBatch)
_ANSWERS = {**ANSWERS, **ADMIN_ANSWERS}


class SegmentStore:
    """The state of one store. `tokens`: what delegation tokens are checked with, None where anybody may do anything."""

    def __init__(
        self,
        *,
        wire_version: int,
        retain_bytes: int,
        rng: random.Random,
        tokens: TokenChecker | None = None,
        forgets_refused: bool = False,
        grouping_ns: int = 0,
    ) -> None:
        self.wire_version = wire_version
        self.segments = Segments(retain_bytes)
        self.tables = Tables(self.segments.exists, retain_bytes=retain_bytes)
        self.index = SegmentIndex(self.segments) if wire_version >= INDEX_SINCE else None
        #: Whether a writer whose append was refused is set up no longer, as in the real store.
        self.forgets_refused = forgets_refused
        #: See reading.py.
        self.grouping_ns = grouping_ns
        self._tokens = tokens
        self._rng = rng

    def answer(self, request: Any, now_ns: int) -> Message | None:
        """The reply to a request: of the table that it is about, else of the store; None to a read or a set-up.

        Those two are answered by their connection. ProtocolViolation: there is no reply, the connection ends.
        """
        reply = self.tables.answer(request, now_ns)
        if reply is not None or type(request) not in _ANSWERS:
            return reply
        try:
            return _ANSWERS[type(request)](self, request, now_ns)
        except Refusal as refusal:
            return failure(refusal, request)

    def ask(self, request: Message, now_ns: int) -> Message:
        """The reply to any request but those two."""
        reply = self.answer(request, now_ns)
        assert reply is not None, f"no one answers a {type(request).__name__}"
        return reply

    def append_event(self, name: str, event: bytes, now_ns: int) -> None:
        """Append an event of the controller to a segment. SegmentMissing, SegmentSealed."""
        segment = self.segments.open(name)
        segment.attributes[EVENT_COUNT] = segment.attributes.get(EVENT_COUNT, 0) + 1
        self.segments.append(segment, event_frame(event), now_ns)
        if self.index is not None:
            self.index.note(segment, now_ns)

    def dropped_before(self, name: str) -> int:
        """The offset before which a segment lost its oldest data to the bound of memory; 0 without one."""
        return self.segments.info(name).dropped_before if self.segments.exists(name) else 0

    def is_name_free(self, name: str, now_ns: int) -> bool:
        """Whether a segment may be made under this name."""
        return self.segments.is_name_free(name, now_ns)

    def random_hex(self) -> str:
        """32 random digits."""
        return f"{self._rng.getrandbits(128):032x}"

    # -- delegation tokens -------------------------------------------------------------------------------------------

    def refused(self, request: Any, now_ns: int) -> AuthTokenCheckFailed | None:
        """Why the token of a request does not allow it; None where it does, or where none is needed.

        In answer to ReadSegment the offset stands in the place of the request id, as the real server has it.
        """
        if self._tokens is None or isinstance(request, CreateTransientSegment):
            return None
        resource = getattr(request, NAMED_FIELD[type(request)]) if type(request) in NAMED_FIELD else ""
        needed = Permission.READ_UPDATE if isinstance(request, _UPDATES) else Permission.READ
        why = self._tokens.check(request.delegation_token, resource, needed, now_ns // _NS_PER_S)
        if why is None:
            return None
        request_id = request.offset if isinstance(request, ReadSegment) else request.request_id
        return AuthTokenCheckFailed(request_id=request_id, error_code=int(why))

    def expires_ns(self, token: str) -> int | None:
        """When a token that was good expires."""
        expires_s = None if self._tokens is None else self._tokens.expires_s(token)
        return None if expires_s is None else expires_s * _NS_PER_S
