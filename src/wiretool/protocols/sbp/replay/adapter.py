"""How the Streaming Batch Protocol is spoken again."""

import random
import re
import zlib
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.codec.message import Issued, Role
from wiretool.faults.adapter import Form
from wiretool.faults.places import Pattern
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.sbp.faults import SbpFaultAdapter
from wiretool.protocols.sbp.messages import CHECKSUM_BYTES, RESPONSE_END
from wiretool.protocols.sbp.replay import known_differences as sbp_excuses
from wiretool.protocols.sbp.replay.live import LiveRanges
from wiretool.protocols.sbp.replay.prepare import ASIDE, STREAM, preparations
from wiretool.protocols.sbp.replay.recorded_facts import OK, Grounds, grounds_in, made_in
from wiretool.protocols.sbp.replay.servers import Servers, code_of, flags_of, servers_in, stream_id_of
from wiretool.protocols.sbp.session import SbpConversation
from wiretool.records import Record
from wiretool.replay.adapter import Breach, Difference, Excuse, Place, ReplayAdapter, Steps, Talk
from wiretool.replay.playing.id_map import Values
from wiretool.server.options import MockOptions

#: Numbers of streams and servers in the sentences of a placement driver (sbp.md §4.5).
_NUMBERED = re.compile(r"((?:stream(?: id:?)?|server id:?) )(-?\d+)")
_SERVER = Issued("range server", besides=(-1,))


class SbpReplayAdapter(ReplayAdapter):
    """Streams, ranges and batches."""

    dialect: SbpFaultAdapter

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        assert isinstance(self.dialect, SbpFaultAdapter)
        self._roles: dict[tuple[str, str], Sequence[tuple[Pattern, Role]]] = {}
        self._batches_keys = {schema.batches_key for schema in self.dialect.schemas}
        self.servers = Servers()
        self.grounds = Grounds()
        self.live = LiveRanges()

    def study(self, recording: Recording) -> None:
        self.servers = servers_in(recording, self.protocol.name)
        self.grounds = grounds_in(recording, self.protocol.name, self.servers)
        self.live = LiveRanges()

    # -- what a frame says ---------------------------------------------------------------------------------------------

    def form(self, record: Record) -> Form:
        """The JSON form less what follows from the rest; sentences of a server are cut at the numbers in them."""
        made = dict(super().form(record))
        payload = made.get("payload")
        if isinstance(payload, Mapping) and _is_all_batches(payload, record, self._batches_keys):
            made["payload"] = {
                key: [{name: value for name, value in batch.items() if name != "length"} for batch in payload[key]]
                for key in payload.keys() & self._batches_keys
            }
        if _is_sound(record):
            made.pop("checksum", None)
        if record.side == "server":
            made["header"] = _cut_at_numbers(_in_order(made.get("header")))
        return made

    def roles(self, record: Record) -> Sequence[tuple[Pattern, Role]]:
        kind = (record.side, record.message)
        if kind not in self._roles:
            self._roles[kind] = self.dialect.role_places(kind)
        return self._roles[kind]

    def places(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        found = list(super().places(record, form, request))
        if record.side == "server" and record.message == "ALLOCATE_ID" and code_of(record) != OK:
            found = []  # the number 0 of a refusal is that of nobody
        if record.side == "server":
            made = set(made_in(record))
            found = [place._replace(is_made=_is_made(place, made)) for place in found]
            found += _numbers_in(form.get("header"), ("header",))
        return found

    # -- what is said again --------------------------------------------------------------------------------------------

    def door(self, dialogue: Dialogue) -> str:
        return self.servers.door(dialogue.server)

    def renewed(self, record: Record, values: Values, conversation: Conversation, rng: random.Random) -> bytes:
        assert isinstance(conversation, SbpConversation)
        if record.n in self.grounds.fresh and isinstance(record.fields, Mapping):
            # What was answered by then in the recording, and is not here, will not be: it is not taken for this one.
            conversation.requests["client"].drop(record.fields["stream_id"])
        for place in self.places(record, self.form(record)):
            if isinstance(place.role, Issued):
                self._own(place, values)
                self.grounds.told.add((place.role.kind, values.live_of(place.role, place.within, place.value)))
        return super().renewed(record, values, conversation, rng)

    def _own(self, place: Place, values: Values) -> None:
        """A value that no server has told is the client's own, or of nothing at all: so it must stay."""
        role = place.role
        assert isinstance(role, Issued)
        if values.knows(role, place.within, place.value) or self.grounds.is_made(role.kind, place.value):
            return
        now = place.value
        while type(now) is int and values.is_taken(role, place.within, now):
            now += ASIDE
        values.bind(role.kind, place.within, place.value, now)

    # -- the server before the recording -------------------------------------------------------------------------------

    def preparations(self, recording: Recording, values: Values) -> Iterable[tuple[str, Talk]]:
        return preparations(self.protocol.name, self.servers, self.grounds, recording, values)

    def mock_options(self, recording: Recording, options: MockOptions) -> MockOptions:
        """One server that is both is one door, as by default; else each has its own."""
        self.study(recording)
        known = self.servers
        if known.both:
            return options
        count = max(len(known.range_servers), 1)
        return replace(options, range_servers=count, followers=max(len(known.followers), known.nodes - 1))

    def is_timed(self) -> bool:
        """Silence ends connections, so it must not last longer than it did."""
        return bool(self.grounds.ended)

    # -- what is answered ----------------------------------------------------------------------------------------------

    def follow(self, record: Record) -> None:
        self.live.follow(record)

    def breach(self, live: Record, recorded: Record | None) -> Breach | None:
        """Return that a FETCH lacks what this run appended, where what was recorded is no measure of it."""
        if recorded is None or not self.live.is_unlawful(live):
            return None
        asked = self.grounds.request_of(recorded)
        if asked is None or not self.grounds.is_overtaken(asked):
            return None
        return Breach(Difference(("payload",), "the batches appended in this run", "others"), sbp_excuses.UNAPPENDED)

    def match(self, live: Record, unheard: Mapping[int, Record], values: Values, dialogue: Dialogue) -> int | None:
        """An answer without its request is to that with its identifier."""
        if flags_of(live) & RESPONSE_END and isinstance(live.fields, Mapping):
            own = live.fields["stream_id"]
            unheard = {number: each for number, each in unheard.items() if stream_id_of(each) == own}
        return super().match(live, unheard, values, dialogue)

    def is_expected(self, reply: Record) -> bool:
        """Not so the goodbye of a server that somebody stopped, nor an answer whose request was in a hole."""
        if flags_of(reply) & RESPONSE_END:
            return False
        return self.grounds.dialogue_of.get(reply.n) not in self.grounds.stops

    def is_awaited(self, reply: Record) -> bool:
        """Not so the answer to what says that it is a response: most servers give none."""
        return reply.reply_to not in self.grounds.responses

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        return sbp_excuses.excuse(self.grounds, self.live, difference, recorded, live, request)

    def excuse_missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return sbp_excuses.excuse_missing(self.grounds, recorded, request, dialogue)

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return sbp_excuses.excuse_extra(self.grounds, live, request, dialogue)

    def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        return sbp_excuses.excuse_end(self.grounds, dialogue, was_ended=was_ended)


def _is_made(place: Place, made: Collection[tuple[str, Hashable]]) -> bool:
    """Whether a server gives a number out here, and does not only name it."""
    is_there = place.steps[-2:] in (("stream", "stream_id"), ("fields", "id"))
    return is_there and isinstance(place.role, Issued) and (place.role.kind, place.value) in made


def _is_all_batches(payload: Mapping[str, Any], record: Record, keys: Iterable[str]) -> bool:
    """Whether a payload is batches and nothing else, so that they make it again."""
    assert isinstance(record.fields, Mapping)
    lengths = [batch["length"] for key in payload.keys() & set(keys) for batch in payload[key]]
    return bool(lengths) and sum(lengths) == record.fields["payload_length"]


def _is_sound(record: Record) -> bool:
    """Whether the checksum of a frame is that of its payload, and so makes itself."""
    assert isinstance(record.fields, Mapping)
    length = record.fields["payload_length"]
    payload = record.raw[len(record.raw) - CHECKSUM_BYTES - length : -CHECKSUM_BYTES]
    return int.from_bytes(record.raw[-CHECKSUM_BYTES:], "big") == zlib.crc32(payload)


def _in_order(header: Any) -> Any:
    """The results of SEAL_RANGES, which come in any order (sbp.md §4.6), in one that hangs on what they say."""
    fields = header.get("fields") if isinstance(header, Mapping) else None
    if not isinstance(fields, Mapping) or not isinstance(fields.get("seal_responses"), list):
        return header

    def key(result: Mapping[str, Any]) -> tuple[int, ...]:
        told = result.get("range") or {}
        code = (result.get("status") or {}).get("code", 0)
        return code, told.get("range_index", -1), told.get("stream_id", -1)

    return {**header, "fields": {**fields, "seal_responses": sorted(fields["seal_responses"], key=key)}}


def _cut_at_numbers(form: Any) -> Any:
    """The form of a header with every sentence that names a stream or server as its parts."""
    if isinstance(form, list):
        return [_cut_at_numbers(each) for each in form]
    if not isinstance(form, Mapping):
        return form
    made = {name: _cut_at_numbers(value) for name, value in form.items()}
    if "code" in made and isinstance(made.get("message"), str):
        parts = _NUMBERED.split(made["message"])
        if len(parts) > 1:
            made["message"] = [int(part) if at % 3 == 2 else part for at, part in enumerate(parts)]
    return made


def _numbers_in(form: Any, steps: Steps) -> Iterable[Place]:
    """The places of the numbers in such sentences."""
    if isinstance(form, Mapping):
        parts = form.get("message") if "code" in form else None
        for name, value in form.items():
            yield from _numbers_in(value, (*steps, name))
        for at, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, int):
                role = _SERVER if "server" in form["message"][at - 1] else STREAM
                yield Place((*steps, "message", at), part, role, None)
    elif isinstance(form, list) and (not steps or steps[-1] != "message"):
        for at, value in enumerate(form):
            yield from _numbers_in(value, (*steps, at))
