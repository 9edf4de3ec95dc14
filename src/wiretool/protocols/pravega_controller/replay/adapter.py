"""How Pravega's controller is called again: the calls are those of the recording, HTTP/2 is spoken anew."""

import random
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.codec.message import Credential, Issued, Message, Named, Position, Role, Varies
from wiretool.errors import EncodeError
from wiretool.faults.adapter import Form
from wiretool.faults.places import changed_at, values_at, with_value
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.pravega_controller.calls import CALLS, PREFIX_BYTES, write_body
from wiretool.protocols.pravega_controller.client import Client, Part
from wiretool.protocols.pravega_controller.headers import path_of
from wiretool.protocols.pravega_controller.messages import Data, GoAway, Headers, RstStream
from wiretool.protocols.pravega_controller.replay.delays import delays_in, finished, unfinished_in
from wiretool.protocols.pravega_controller.replay.known_differences import Excuses
from wiretool.protocols.pravega_controller.replay.names import (
    epoch_of,
    in_order,
    name_of,
    names_in,
    other_scope,
    stream_at,
    with_maps,
    with_pairs,
)
from wiretool.protocols.pravega_controller.replay.prepare import Before, prepared
from wiretool.protocols.pravega_controller.roles import CONTINUATION, EPOCH, GROUP_ID, HIGH_BITS, LOW_BITS, SEGMENT_ID
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, Place, ReplayAdapter, Steps, Talk
from wiretool.replay.carrier import Carrier, Said
from wiretool.replay.playing.id_map import Values

#: A delegation token stands for the one that this server gives out for the same stream.
TOKEN = Issued("delegation token", "stream", is_unique=False, is_opaque=True)
_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]+(\.[A-Za-z0-9+/_=-]+){2}", re.ASCII)
#: What a request of ours says otherwise than the recorded one: we read no compressed answers.
_IDENTITY = {"grpc-accept-encoding": "identity"}
_USUAL = (("content-type", "application/grpc"), ("te", "trailers"))
_OWN = ("grpc-encoding",)
_AUTHORIZATION = "authorization"


class ControllerReplayAdapter(ReplayAdapter):
    """Scopes, streams, their segments and transactions."""

    is_first = True

    is_said_raw = False

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        #: First frames of calls whose message was not recorded whole, or cannot be read.
        self._unread: set[int] = set()
        self._excuses = Excuses(Recording(), protocol.name)
        #: How clients prove who they are: so do we in calls of our own.
        self._proofs: list[tuple[str, str]] = []

    @property
    def server(self) -> str:
        """The mock of a store has a controller beside it."""
        return "pravega"

    def study(self, recording: Recording) -> None:
        """What calls are whole, and what lists are asked for."""
        self._excuses = Excuses(recording, self.protocol.name)
        self._proofs = _proofs_in(recording.of(self.protocol.name))
        for dialogue in recording.of(self.protocol.name):
            self._unread |= set(_unread_in(dialogue))

    # -- what a frame says ---------------------------------------------------------------------------------------------

    def is_carriage(self, record: Record) -> bool:
        """All of HTTP/2, less the calls' messages and what says that one has failed."""
        if record.side == "client":
            is_end = isinstance(record.fields, RstStream | GoAway)
            return not (is_end or self._is_call(record) or record.n in self._unread)
        is_end = isinstance(record.fields, RstStream) and record.reply_to is None  # of what was answered before
        return is_end or isinstance(record.fields, GoAway) or self.dialect.is_carriage(record)

    def _is_call(self, record: Record) -> bool:
        return (record.message, record.side) in CALLS

    def form(self, record: Record) -> Form:
        """Of frames what they say of their call; cuts as pairs."""
        if isinstance(record.fields, Headers):
            return {"grpc_status": record.fields.grpc_status, "grpc_message": record.fields.grpc_message}
        if isinstance(record.fields, RstStream):
            return {"error_code": record.fields.error_code}
        return in_order(with_pairs(super().form(record), self.roles(record)))

    def places(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        """The values with a role; of a failure the text may be any."""
        if isinstance(record.fields, Headers):
            return [Place(("grpc_message",), form["grpc_message"], Varies(), None)]
        return list(self._places(record, form, request))

    def _places(self, record: Record, form: Form, request: Record | None) -> Iterator[Place]:
        for pattern, role in self.roles(record):
            for steps, value in values_at(form, pattern):
                stream = self._stream(steps, form, request)
                if isinstance(role, Credential) and not is_token(value):
                    continue
                if isinstance(role, Credential):
                    yield Place(steps, value, TOKEN, stream, is_made=record.side == "server")
                elif isinstance(role, Position):
                    yield from _offsets(steps, value, role, form, stream)
                elif role is not GROUP_ID or not self._is_its_own(value, record, request):
                    within = stream if role in (SEGMENT_ID, EPOCH) else self.within(role, steps, form, record, request)
                    yield Place(steps, value, role, within)

    def _stream(self, steps: Steps, form: Form, request: Record | None) -> str | None:
        found = stream_at(form, steps)
        return stream_at(self.form(request), ()) if found is None and request is not None else found

    def _is_its_own(self, value: Any, record: Record, request: Record | None) -> bool:
        """Whether the client made up the id of a reader group itself."""
        asked = record if record.side == "client" else request
        return (
            asked is not None
            and asked.message == "createReaderGroup"
            and value not in GROUP_ID.besides
            and self.form(asked).get("readerGroupId") == value
        )

    def within(self, role: Role, steps: Steps, form: Form, record: Record, request: Record | None) -> Hashable:
        """The other half of a transaction's id; for a page of which list it is."""
        if role in (HIGH_BITS, LOW_BITS):
            assert isinstance(role, Issued)
            around: Any = form
            for step in steps[:-1]:
                around = around[step]
            half: Hashable = around.get(role.within)
            return half
        if role == CONTINUATION:
            asked = record if record.side == "client" or request is None else request
            return asked.message, repr(self.form(asked).get("scope"))
        return None

    def told(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        """The names of segments by their ids, which the store's requests have."""
        if record.side != "server" or not self._is_call(record):
            return ()
        return list(names_in(self.places(record, form, request), form))

    def wants_answer(self, request: Record) -> bool:
        """Calls only."""
        return self._is_call(request)

    # -- what is said again --------------------------------------------------------------------------------------------

    def carrier(self, dialogue: Dialogue) -> Carrier:
        return _CallCarrier(self, dialogue)

    def renewed(self, record: Record, values: Values, conversation: Conversation, rng: random.Random) -> bytes:
        """The message of a call in its prefix; EncodeError where it cannot be said."""
        if isinstance(record.fields, RstStream | GoAway):
            return b""
        if not self._is_call(record):
            raise EncodeError("the message of this call was not recorded, or cannot be read")
        message = self.protocol.from_json(record.message, "client", self._now(record, values))
        body = write_body(message)[PREFIX_BYTES:] + record.left_over
        return b"\0" + len(body).to_bytes(PREFIX_BYTES - 1, "big") + body

    def _now(self, record: Record, values: Values, request: Record | None = None) -> Form:
        """What a call says, with what its values are now."""
        made: Any = self.form(record)
        for place in self.places(record, made, request):
            live = self._live(place, values)
            if isinstance(place.role, Position) and live < 0 <= place.value:
                raise EncodeError("it concerns bytes from long before the recording")
            if live != place.value:
                made = with_value(made, place.steps, live)
        return with_maps(made, self.roles(record))

    def may_change(self, record: Record) -> bool:
        return self._is_call(record)

    def _live(self, place: Place, values: Values) -> Any:
        """Epochs follow from the ids of segments."""
        if place.role == EPOCH and not values.knows(EPOCH, place.within, place.value):
            ids = values.known(SEGMENT_ID.kind, place.within)
            pairs = ((recorded, live) for recorded, live in ids.items() if isinstance(recorded, int))
            epochs = {epoch_of(live) for recorded, live in pairs if epoch_of(recorded) == place.value}
            return epochs.pop() if len(epochs) == 1 else place.value
        if place.role is TOKEN:
            return place.value
        return super()._live(place, values)

    def alias(self, record: Record, number: int) -> Record:
        """The call in a scope of another name. The bytes stay: they are not what is said again."""
        if not self._is_call(record):
            return record
        form: Any = record.fields
        for pattern, role in self.roles(record):
            if isinstance(role, Named):
                form = changed_at(form, pattern, lambda name: other_scope(name, number))
        return msgspec.structs.replace(record, fields=form)

    def metadata(self, recorded: Headers | None, method: str) -> list[tuple[str, str]]:
        """The headers of a call: its own as far as they are known, and in place of proofs those that are given."""
        pairs = (recorded.headers if recorded else None) or ((None, None),)
        said = [(name, value) for name, value in pairs if name and value]
        if len(said) < len(pairs):  # they were said before the recording
            there = dict(said)
            said += [(name, value) for name, value in (*_USUAL, *self._proofs) if name not in there]
        known = {name: value for name, value in said if name.startswith(":")}
        host = self.identity.host or known.get(":authority", "localhost")
        given = {name.lower(): value for name, value in self.identity.headers}
        if self.identity.token is not None and _AUTHORIZATION in dict(said):
            given.setdefault(_AUTHORIZATION, f"Bearer {self.identity.token}")
        own = [(name, value) for name, value in said if not name.startswith(":") and name not in {*given, *_OWN}]
        return [
            (":method", "POST"),
            (":scheme", known.get(":scheme", "http")),
            (":path", path_of(method)),
            (":authority", host),
            *((name, _IDENTITY.get(name, value)) for name, value in own),
            *given.items(),
        ]

    # -- the server before the recording -------------------------------------------------------------------------------

    def prepare(self, recording: Recording, values: Values) -> Talk:
        """The scopes and streams that were there."""
        return prepared(Before(recording, self.protocol.name), self.protocol, values)

    # -- what is answered ----------------------------------------------------------------------------------------------

    def delays(self, recording: Recording) -> Mapping[int, int]:
        return delays_in(recording)

    def unfinished(self, recording: Recording) -> Mapping[int, Record]:
        return dict(unfinished_in(recording))

    def finish(self, request: Record, answer: Record, values: Values) -> Talk:
        """Nothing tells when it is done, so it is asked again and again."""
        forms = [self._now(record, values, request) for record in (request, answer)]
        return finished(self.protocol, request.message, *forms)

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        return self._excuses.difference(difference, recorded, live, request)

    def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        return self._excuses.end(dialogue) if was_ended else None

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return self._excuses.extra(request, dialogue)


def is_token(value: Any) -> bool:
    """Return whether a delegation token is empty or has the three parts of a JWT (pravega.md §4.3)."""
    return value == "" or (isinstance(value, str) and _TOKEN.fullmatch(value) is not None)


def _offsets(steps: Steps, value: Any, role: Position, form: Form, stream: str | None) -> Iterator[Place]:
    """An offset in a segment that stands beside it, or those of a cut."""
    if stream is None:
        return
    if isinstance(value, list):
        for at, pair in enumerate(value):
            yield Place((*steps, at, "segment"), pair["segment"], SEGMENT_ID, stream)
            yield Place((*steps, at, "offset"), pair["offset"], role, name_of(stream, pair["segment"]))
        return
    around: Any = form
    for step in steps[:-1]:
        around = around[step]
    beside = around.get("segmentId")
    if isinstance(beside, Mapping):
        yield Place(steps, value, role, name_of(stream, beside["segmentId"]))


def _proofs_in(dialogues: Iterable[Dialogue]) -> list[tuple[str, str]]:
    """The first proof that a client gives."""
    for dialogue in dialogues:
        for record in dialogue.records:
            headers = record.fields.headers if isinstance(record.fields, Headers) else None
            found = [(name, value) for name, value in headers or () if name == _AUTHORIZATION and value]
            if found and record.side == "client":
                return found[:1]
    return []


def _unread_in(dialogue: Dialogue) -> Iterator[int]:
    """The first frames of calls whose messages cannot be read."""
    begun: dict[int, int] = {}
    known: set[int] = set()
    for record in dialogue.records:
        if record.side != "client" or record.kind != "frame":
            continue
        stream = stream_id_of(record)
        if (record.message, record.side) in CALLS:
            known.add(stream)
        elif isinstance(record.fields, Headers) or (isinstance(record.fields, Data) and record.fields.data):
            begun.setdefault(stream, record.n)
    return (n for stream, n in begun.items() if stream not in known)


def stream_id_of(record: Record) -> int:
    """The stream of HTTP/2 that a frame is on."""
    return int.from_bytes(record.raw[5:9], "big") & 0x7FFF_FFFF


class _CallCarrier(Carrier):
    """HTTP/2 for the calls of one connection."""

    def __init__(self, manner: ControllerReplayAdapter, dialogue: Dialogue) -> None:
        self._manner = manner
        self._client = Client()
        #: Stream of HTTP/2 -> the headers with which the client opened it, and the call on it.
        self._headers: dict[int, Headers] = {}
        self._calls: dict[int, Record] = {}
        self._own_calls = 0
        for record in dialogue.records:
            if record.side == "client" and isinstance(record.fields, Headers):
                self._headers.setdefault(record.fields.stream_id, record.fields)

    def say(self, record: Record, data: bytes) -> Sequence[Said]:
        stream = stream_id_of(record)
        if isinstance(record.fields, GoAway):
            return self._said(self._client.leave())
        if isinstance(record.fields, RstStream):
            return self._said(self._client.cancel(stream))
        self._calls[stream] = record
        headers = self._manner.metadata(self._headers.get(stream), record.message)
        return self._said(self._client.call(stream, headers, data))

    def ask(self, message: Message) -> Sequence[Said]:
        self._own_calls += 1
        headers = self._manner.metadata(None, message.declaration.name)
        return self._said(self._client.call(-self._own_calls, headers, write_body(message)))

    def hear(self, data: bytes) -> Sequence[Said]:
        return self._said(self._client.receive(data))

    def _said(self, parts: Sequence[Part]) -> list[Said]:
        return [Said(None if part.call is None else self._calls.get(part.call), part.data) for part in parts]
