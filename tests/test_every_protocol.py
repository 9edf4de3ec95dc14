"""What holds for each protocol of the registry, so that a new one is tested before it has a test of its own."""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.loss import CUTS, Sweep, sweep
from tests.bench.talk import Sent, segments
from tests.helpers.frames import SAYINGS, SIDES, TALKS, before, comparable, talk
from tests.helpers.strategies import tiles
from tests.helpers.tables import mutated
from wiretool.codec.json_text import json_text
from wiretool.codec.message import Side
from wiretool.dissect.dissector import Dissector
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.records import Record
from wiretool.sinks.ndjson import RecordText, json_record

NAMES = tuple(PROTOCOLS)
every = pytest.mark.parametrize("name", NAMES)
#: Each so-many-th position of the sweep; the bench does all of them.
STEP = 50


def read_one(protocol: Protocol, side: Side, data: bytes, said: Sequence[Sent] = ()) -> Reading:
    """What one whole frame says on a connection of which nothing else was seen but what is `said` before."""
    conversation = protocol.open(False)
    for sender, frame_before in said:
        conversation.read(sender, frame_before, 0, len(frame_before), 1)
    assert conversation.extent(side, data, 0, len(data)) == len(data)
    return conversation.read(side, data, 0, len(data), 1)


def fields_of_reading(reading: Reading, data: bytes = b"") -> dict[str, object]:
    """The fields in their JSON form."""
    record = Record(
        n=1,
        kind="frame",
        time_ns=0,
        connection=0,
        client="c",
        server="s",
        side="client",
        packets=(1, 1),
        offset=0,
        length=len(data),
        protocol="p",
        message=reading.message,
        fields=reading.fields,
    )
    fields: dict[str, object] = json.loads(json_text(json_record(record)))["fields"]
    return fields


# -- there and back ----------------------------------------------------------------------------------------------------


@every
def test_everything_is_there(name: str) -> None:
    assert name in SAYINGS, "no strategy makes its messages"
    assert name in TALKS, "no conversation for the sweep"
    assert PROTOCOLS[name].name == name


@every
@given(data=st.data())
def test_a_message_comes_back_from_its_frame_and_from_its_json(name: str, data: st.DataObject) -> None:
    protocol = PROTOCOLS[name]
    side, message = data.draw(SAYINGS[name]())
    raw = protocol.encode(message, side)
    reading = read_one(protocol, side, raw, before(name, message))
    again = protocol.from_json(reading.message, side, fields_of_reading(reading))
    # Two schemas may have tables that look the same.
    assert comparable(again) == message or isinstance(message, SbpFrame)
    encoded = protocol.encode(again, side)
    if encoded != raw:  # where the defaults of the two differ, a value may be written in one and not in the other
        assert isinstance(message, SbpFrame)
        assert isinstance(again, SbpFrame)
        assert type(again.header) is not type(message.header)
        same = fields_of_reading(read_one(protocol, side, encoded, before(name, message)))["header"]
        assert same == fields_of_reading(reading)["header"]
    assert not [defect for defect in reading.defects if isinstance(defect, DecodeError) and not is_allowed(defect)]


def is_allowed(defect: DecodeError) -> bool:
    """Defects of what can be written and read, but not be said: an append without its payload, an empty COMMIT."""
    return defect.kind in ("empty_append_payload", "message_too_big", "missing_required_field")


@every
@given(data=st.data())
def test_spans_tile_every_frame(name: str, data: st.DataObject) -> None:
    protocol = PROTOCOLS[name]
    side, message = data.draw(SAYINGS[name]())
    raw = protocol.encode(message, side)
    around = b"\xee" * 3
    spans = protocol.open(False).annotate(side, around + raw + around, 3, 3 + len(raw))
    assert tiles(spans, 3, 3 + len(raw))


@every
@given(data=st.data())
def test_a_frame_is_not_whole_before_its_last_byte(name: str, data: st.DataObject) -> None:
    protocol = PROTOCOLS[name]
    side, message = data.draw(SAYINGS[name]())
    raw = protocol.encode(message, side)
    cut = data.draw(st.integers(0, len(raw) - 1))
    length = protocol.open(False).extent(side, raw[:cut], 0, cut) if cut else 0
    assert length == 0 or length > cut


@every
def test_what_was_sent_is_found_and_trusted(name: str) -> None:
    conversation = PROTOCOLS[name].open(False)
    for n, (side, raw) in enumerate(talk(name), 1):
        assert 0 in list(conversation.candidates(side, raw, 0, len(raw))), raw
        assert conversation.trust(side, raw, 0, len(raw)) > 0, raw
        conversation.read(side, raw, 0, len(raw), n)


# -- any bytes ---------------------------------------------------------------------------------------------------------


def ask_everything(conversation: Conversation, side: Side, data: bytes) -> None:
    """Nothing is raised by any bytes but a DecodeError by `extent`."""
    end = len(data)
    places = list(conversation.candidates(side, data, 0, end))
    assert places == sorted(set(places))
    assert all(0 <= at < end for at in places)
    for at in {0, *places[:20]}:
        with suppress(DecodeError):
            length = conversation.extent(side, data, at, end)
            assert length >= 0
            if 0 < length <= end - at:
                ask_frame(conversation, side, data, at, at + length)


def ask_frame(conversation: Conversation, side: Side, data: bytes, at: int, end: int) -> None:
    """A whole frame has a trust, spans that tile it, and a meaning that can be written down."""
    before = conversation.trust(side, data, at, end)
    assert before in (0, 1, 2, 4)
    assert tiles(conversation.annotate(side, data, at, end), at, end)
    assert conversation.trust(side, data, at, end) == before, "asking has changed something"
    reading = conversation.read(side, data, at, end, 1)
    assert reading.message
    assert fields_of_reading(reading) is not None
    assert all(defect.kind and str(defect) for defect in reading.defects)


@every
@given(raw=st.binary(max_size=300), side=st.sampled_from(SIDES), began=st.booleans())
def test_any_bytes_are_taken(name: str, raw: bytes, side: Side, began: bool) -> None:
    ask_everything(PROTOCOLS[name].open(began), side, raw)


@every
@given(data=st.data(), side=st.sampled_from(SIDES), began=st.booleans())
@settings(max_examples=150)
def test_damaged_frames_are_taken(name: str, data: st.DataObject, side: Side, began: bool) -> None:
    sender, message = data.draw(SAYINGS[name]())
    raw = data.draw(mutated(PROTOCOLS[name].encode(message, sender)))
    ask_everything(PROTOCOLS[name].open(began), data.draw(st.sampled_from([side, sender])), raw)


@every
@given(data=st.data())
def test_a_damaged_conversation_is_taken(name: str, data: st.DataObject) -> None:
    """The same in the middle of a conversation, where more is known and more can be confused."""
    conversation = PROTOCOLS[name].open(True)
    sent = data.draw(st.lists(st.sampled_from(talk(name)), max_size=12))
    for n, (side, raw) in enumerate((*talk(name)[:3], *sent), 1):
        changed = data.draw(mutated(raw)) if n > 3 else raw
        with suppress(DecodeError):
            length = conversation.extent(side, changed, 0, len(changed))
            if 0 < length <= len(changed):
                ask_frame(conversation, side, changed, 0, length)
        if data.draw(st.booleans()):
            conversation.hole(side)


# -- any chunking ------------------------------------------------------------------------------------------------------


def told(sent: Sequence[Sent], port: int) -> list[Record]:
    return list(Dissector().records_of(segments(sent, port=port)))


def timeless(records: Sequence[Record]) -> list[tuple[object, ...]]:
    """Everything but packets and time."""
    return [
        (
            *(each.n, each.kind, each.side, each.offset, each.length, each.protocol, each.message, each.fields),
            *(each.reply_to, each.error, each.why, each.append, each.events, each.left_over, each.raw),
        )
        for each in records
    ]


@every
@given(seed=st.integers(0, 2**32), most=st.sampled_from([1, 3, 40, 2000]))
@settings(max_examples=12)
def test_any_chunking_gives_the_same_records(name: str, seed: int, most: int) -> None:
    port = PROTOCOLS[name].ports[0]
    whole = timeless(told(talk(name), port))
    assert [each[1] for each in whole] == ["frame"] * len(talk(name))
    assert timeless(told(list(chunks(talk(name), random.Random(seed), most)), port)) == whole


def chunks(sent: Sequence[Sent], random_: random.Random, most: int) -> Iterator[Sent]:
    """The same bytes: frames of one side that follow one another are joined, and cut anywhere."""
    side: Side = "client"
    held = b""
    for sender, data in (*sent, Sent("client", b""), Sent("server", b"")):
        if sender != side:
            while held:
                size = random_.randint(1, most)
                yield Sent(side, held[:size])
                held = held[size:]
            side = sender
        held += data


# -- JSON --------------------------------------------------------------------------------------------------------------


@every
def test_the_lines_of_ndjson_are_the_records_and_encode_again(name: str) -> None:
    line_of = RecordText().of
    protocol = PROTOCOLS[name]
    for record in told(talk(name), protocol.ports[0]):
        line = line_of(record)
        assert line == json_text(json_record(record))
        form = json.loads(line)
        if record.kind != "frame" or record.message in ("Fragment", "Empty", "Unknown"):
            continue
        side: Side = form["side"]
        message = protocol.from_json(form["message"], side, form["fields"])
        raw = protocol.encode(message, side)
        again = read_one(protocol, side, raw, before(name, message))
        assert fields_of_reading(again) == form["fields"]


# -- loss --------------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("size", CUTS.values(), ids=CUTS)
def test_a_lost_segment_costs_little_else(name: str, size: int) -> None:
    sent = list(islice(TALKS[name](random.Random(1)), 1_003))
    port = PROTOCOLS[name].ports[0]
    found = sweep(sent, segments(sent, port=port, segment_bytes=size), port, STEP if not size else 10)
    assert found.is_good, found


def test_the_sweep_knows_good_from_bad() -> None:
    assert Sweep(0.996, 0.98, 0, 10).is_good
    assert not Sweep(0.994, 0.98, 0, 10).is_good
    assert not Sweep(0.999, 0.97, 0, 10).is_good
    assert not Sweep(0.999, 0.99, 1, 10).is_good
