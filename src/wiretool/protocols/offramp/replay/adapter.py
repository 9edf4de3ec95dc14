"""How Offramp is spoken again: a handshake and masks anew, and messages that come when they come."""

import base64
import hashlib
import random
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import msgspec

from wiretool.analysis.dialogues import Dialogue, Recording, in_turn
from wiretool.codec.message import Issued, Message, Named, Position, Role, Side, fields_of
from wiretool.faults.adapter import Form
from wiretool.faults.places import with_value
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.offramp import handshake, http
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.messages import (
    Close,
    CommitEvent,
    HandshakeRequest,
    HandshakeResponse,
    MessageEvent,
    Ping,
    Pong,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.replay.consumer_trace import Course, course_of, courses_of
from wiretool.protocols.offramp.replay.frames import renewed_frame, renewed_head, with_stream
from wiretool.protocols.offramp.replay.known_differences import Excuses
from wiretool.protocols.offramp.replay.matching import Matcher
from wiretool.protocols.offramp.replay.order import Deliveries, breaches_in
from wiretool.protocols.offramp.replay.roads import credentials_of, is_decided, roads_of
from wiretool.protocols.offramp.server.upgrade import accept_of
from wiretool.records import Record
from wiretool.replay.adapter import Breach, Difference, Excuse, Place, ReplayAdapter, Steps, Talk, Verdict
from wiretool.replay.playing.id_map import Values
from wiretool.server.options import MockOptions

#: Headers of an answer that mean something to a WebSocket; what else a server says in its head is its own affair.
_MEANT = frozenset(
    {
        "allow",
        "connection",
        "sec-websocket-accept",
        "sec-websocket-extensions",
        "sec-websocket-protocol",
        "sec-websocket-version",
        "upgrade",
        "www-authenticate",
    }
)
_ACCEPT = "sec-websocket-accept"
#: What the server makes of the client's key.
_ACCEPT_ROLE = Issued("accept")
_OFFSET_ROLE = Position("offset", "partition")


class OfframpReplayAdapter(ReplayAdapter):
    """Roads, and the consumers of their streams."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        self._courses: dict[int, Course] = {}
        self._excuses: dict[int, Excuses] = {}
        #: What the recorded server did against the rules, by record; and what this one does, by connection and record.
        self._recorded_breaches: Mapping[int, Breach] = {}
        self._breaches: dict[tuple[int, int], Breach] = {}
        self._deliveries = Deliveries()
        #: Live messages whose offset or assignment is not that of their recorded counterparts.
        self._misplaced: set[tuple[int, int]] = set()
        #: Connection -> the keys of its live handshake; and the live answers that do not follow from theirs, by id.
        self._keys: dict[int, list[str]] = {}
        self._wrong_accepts: dict[int, Record] = {}
        #: Recorded connection -> its live one; and the sides that have sent a Close on each live one.
        self._paired: dict[int, int] = {}
        self._closed: defaultdict[int, set[Side]] = defaultdict(set)
        #: Recorded connection -> its live one, and what stands for recorded values there.
        self._lives: dict[int, tuple[int, Values]] = {}

    def study(self, recording: Recording) -> None:
        self._recorded_breaches = breaches_in(in_turn(recording.of(self.protocol.name)))
        self._breaches, self._deliveries, self._misplaced = {}, Deliveries(), set()
        self._keys, self._wrong_accepts, self._lives = {}, {}, {}
        self._paired, self._closed = {}, defaultdict(set)
        courses = courses_of(recording, self.protocol.name)
        self._courses = {course.dialogue.number: course for course in courses}
        self._excuses = {}
        for course in courses:
            same = [other for other in courses if other.road == course.road or other.is_greeted]
            self._excuses[course.dialogue.number] = Excuses(course, same)

    def _course(self, dialogue: Dialogue) -> Course:
        return self._courses.get(dialogue.number) or course_of(dialogue)

    def _excuses_of(self, dialogue: Dialogue) -> Excuses:
        course = self._course(dialogue)
        return self._excuses.get(dialogue.number) or Excuses(course, [course])

    # -- what a frame says ---------------------------------------------------------------------------------------------

    def form(self, record: Record) -> Form:
        form = super().form(record)
        if not isinstance(record.fields, HandshakeResponse):
            return form
        names = dict.fromkeys(name.lower() for name, _ in record.fields.headers)
        said = {name: ", ".join(http.header_values(record.fields.headers, name)) for name in names if name in _MEANT}
        return {**form, "headers": said}

    def places(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        found = list(super().places(record, form, request))
        is_response = isinstance(record.fields, HandshakeResponse) and id(record) not in self._wrong_accepts
        if is_response and _ACCEPT in form["headers"]:
            steps = ("headers", _ACCEPT)
            found.append(Place(steps, form["headers"][_ACCEPT], _ACCEPT_ROLE, record.connection))
        if record.message == "COMMIT":  # no offset is below 0: such a value is no place
            found = [place for place in found if type(place.value) is int and place.value >= 0]
        return found

    def within(self, role: Role, steps: Steps, form: Form, record: Record, request: Record | None) -> Hashable:
        if not isinstance(role, Position):
            return super().within(role, steps, form, record, request)
        partition = str(form["partition"] if "partition" in form else steps[-1])
        return self._partition(record.connection, int(partition) if partition.isdecimal() else partition)

    def _partition(self, number: int, partition: int | str) -> Hashable:
        course = self._courses.get(number)
        return course.road if course is not None else number, partition

    # -- what is said again --------------------------------------------------------------------------------------------

    def is_said(self, record: Record) -> bool:
        course = self._courses.get(record.connection)
        if course is not None and record.n in course.halves:
            return False
        return not (record.message == "Pong" and record.reply_to is not None)

    def may_change(self, record: Record) -> bool:
        """Every frame has a new mask, and hangs on those before it where they are compressed."""
        return True

    def is_basis(self, record: Record) -> bool:
        """Without it nothing but HTTP is spoken."""
        return record.message == "HandshakeRequest"

    def renewed(self, record: Record, values: Values, conversation: Conversation, rng: random.Random) -> bytes:
        assert isinstance(conversation, Connection)
        if record.message == "HandshakeRequest":
            raw, accepts = renewed_head(record, self.identity, rng)
            for recorded, now in accepts.items():
                values.bind(_ACCEPT_ROLE.kind, record.connection, recorded, now)
            return raw

        def changed(whole: Record) -> Message | None:
            return self._changed(whole, values)

        course = self._courses.get(record.connection)
        part = course.parts.get(record.n) if course is not None else None
        return renewed_frame(record, part, changed, conversation, rng)

    def _changed(self, record: Record, values: Values) -> Message | None:
        """The message of a frame where it says something else now."""
        if not isinstance(record.fields, CommitEvent):
            return None
        form = made = self.form(record)
        for place in self.places(record, form):
            assert isinstance(place.role, Position)
            live = values.live_of(place.role, place.within, place.value)
            if live != place.value:
                made = with_value(made, place.steps, live)
        return None if made is form else self.protocol.from_json(record.message, "client", made)

    def alias(self, record: Record, number: int) -> Record:
        """Another stream of the same road: streams are the clients', roads and what is on them the servers'."""
        if not isinstance(record.fields, HandshakeRequest):
            return record
        role = next(field.role for field in fields_of(HandshakeRequest) if isinstance(field.role, Named))
        return with_stream(record, lambda name: self.other_name(role, name, number))

    def is_greeted(self, dialogue: Dialogue) -> bool:
        return self._course(dialogue).is_greeted

    def greeting(self, dialogue: Dialogue) -> Talk:
        """A handshake, and what was asked for before the recording begins; on a road of no name that was recorded."""
        course = self._course(dialogue)
        key = base64.b64encode(hashlib.sha256(f"{dialogue.number}".encode()).digest()[:16]).decode("ascii")
        target = f"/offramp/v2/roads/{course.road}/streams/{course.stream}/messages?defaultOffset=EARLIEST"
        headers = (
            ("Host", self.identity.host or dialogue.server),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", key),
            ("Sec-WebSocket-Version", "13"),
            *self.identity.headers,
        )
        yield [handshake.request(target, headers)]
        if course.owed:
            yield [RequestEvent(count=course.owed)]

    def reflex(self, live: Record, rng: random.Random) -> bytes:
        if not isinstance(live.fields, Ping):
            return b""
        return encode(Pong(payload=live.fields.payload), "client", mask=rng.randbytes(4))

    # -- the server before the recording -------------------------------------------------------------------------------

    def mock_options(self, recording: Recording, options: MockOptions) -> MockOptions:
        courses = courses_of(recording, self.protocol.name)
        roads = roads_of(courses)
        is_every = all(course.road in roads for course in courses)
        return replace(
            options,
            roads=options.roads if options.roads is not None or is_every else sorted(roads),
            feed=[*options.feed, *(message for road in roads.values() for message in road.feed())],
            road_starts={name: road.start() for name, road in roads.items()},
            auth=options.auth or credentials_of(courses),
            like_real=options.like_real or not is_decided(courses),
        )

    def options_with_copies(
        self, recording: Recording, copies: Sequence[Recording], options: MockOptions
    ) -> MockOptions:
        """What is on the roads is there for all; each stream begins where it did, and is told of it as it was."""
        return self.mock_options(recording.beside(copies), options)

    # -- what is answered ----------------------------------------------------------------------------------------------

    def wants_answer(self, request: Record) -> bool:
        if isinstance(request.fields, RequestEvent):
            return request.fields.count < 0
        return request.message in ("HandshakeRequest", "COMMIT", "Ping", "Close")

    def pair(self, request: Record, live: Record) -> None:
        self._paired[request.connection] = live.connection

    def follow(self, record: Record) -> None:
        if isinstance(record.fields, Close):
            self._closed[record.connection].add(record.side)
        breach = self._deliveries.follow(record)
        if breach is not None:
            self._breaches[record.connection, record.n] = breach
        if isinstance(record.fields, HandshakeRequest):
            self._keys[record.connection] = http.header_values(record.fields.headers, "Sec-WebSocket-Key")
        elif isinstance(record.fields, HandshakeResponse) and not self._follows_from_key(
            record.fields, record.connection
        ):
            self._wrong_accepts[id(record)] = record

    def _follows_from_key(self, response: HandshakeResponse, connection: int) -> bool:
        """Return whether the accept is that of the key, where that is known (RFC 6455 §4.2.2)."""
        keys, accepts = self._keys.get(connection), http.header_values(response.headers, _ACCEPT)
        return not (keys and accepts) or list(map(accept_of, keys)) == accepts

    def breach(self, live: Record, recorded: Record | None) -> Breach | None:
        """Return it unless the recorded server breaks it in that message, or an earlier finding is the cause."""
        if recorded is not None and recorded.n in self._recorded_breaches:
            return None
        breach = self._breaches.get((live.connection, live.n))
        is_found = breach is not None and (live.connection, breach.against) in self._misplaced
        return None if is_found and recorded is not None else breach

    def match(self, live: Record, unheard: Mapping[int, Record], values: Values, dialogue: Dialogue) -> int | None:
        self._lives[dialogue.number] = live.connection, values
        if not isinstance(live.fields, MessageEvent):
            found = super().match(live, unheard, values, dialogue)
            is_other = found is not None and _assignment_of(unheard[found]) != _assignment_of(live)
        else:
            within = self._partition(dialogue.number, live.fields.partition)
            excuses = self._excuses_of(dialogue)
            found = Matcher(_OFFSET_ROLE, within, values, excuses.is_known).match(live.fields, unheard)
            recorded = None if found is None else unheard[found].fields
            is_other = (
                isinstance(recorded, MessageEvent)
                and values.live_of(_OFFSET_ROLE, within, recorded.offset) != live.fields.offset
            )
        if is_other:
            self._misplaced.add((live.connection, live.n))
        return found

    def is_expected(self, reply: Record) -> bool:
        if not isinstance(reply.fields, Message) or isinstance(reply.fields, Ping | Pong):
            return False
        excuses = self._excuses.get(reply.connection)
        if excuses is None or not isinstance(reply.fields, Close | RebalanceEvent):
            return True
        return excuses.is_expected(reply)

    def _of(self, record: Record) -> Excuses | None:
        return self._excuses.get(record.connection)

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        excuses = self._of(recorded)
        return excuses.difference(difference, recorded, live) if excuses is not None else None

    def excuse_missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        excuse = self._excuses_of(dialogue).missing(recorded, request)
        if excuse is None and isinstance(recorded.fields, MessageEvent) and dialogue.number in self._lives:
            connection, values = self._lives[dialogue.number]
            within = self._partition(dialogue.number, recorded.fields.partition)
            offset = values.live_of(_OFFSET_ROLE, within, recorded.fields.offset)
            why = self._deliveries.why_missing(connection, msgspec.structs.replace(recorded.fields, offset=offset))
            excuse = Excuse(Verdict.EXPLAINED, why) if why else None
        return excuse

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        if self.breach(live, None) is not None:
            return None
        return self._excuses_of(dialogue).extra(live, request)

    def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        is_closed = len(self._closed[self._paired.get(dialogue.number, -1)]) == len(("client", "server"))
        return self._excuses_of(dialogue).end(was_ended=was_ended, is_closed_by_both=is_closed)


def _assignment_of(record: Record) -> frozenset[int] | None:
    """Return the partitions that a REBALANCE assigns; None for any other event."""
    return frozenset(record.fields.assignment) if isinstance(record.fields, RebalanceEvent) else None
