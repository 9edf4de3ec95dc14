"""Conversations of which something was not captured."""

from tests.protocols.pravega_controller.readings import OPENING, STREAM, URI, field, kinds, names, opened
from tests.protocols.pravega_controller.talk import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    Peer,
    Sent,
    body,
    call,
    frame,
    read_all,
)
from wiretool.protocols.pravega_controller.connection import Connection


def test_behind_a_hole_methods_are_known_only_where_they_were_said() -> None:
    client, server = Peer("client"), Peer("server")
    first = list(call(client, server, 1, "getURI", {"streamInfo": STREAM}, URI))
    second = list(call(client, server, 3, "getURI", {"streamInfo": STREAM}, URI))
    third = list(call(client, server, 5, "sealStream", STREAM, {"status": "SUCCESS"}))
    connection = Connection(from_start=True)
    read_all([*OPENING, *first], connection)
    connection.hole("client")
    readings = read_all([*second, *third], connection)
    assert not any(reading.defects for reading in readings)
    headers = field(readings[0], "headers")
    assert (None, None) in headers
    # The path of the second call stands for the first one's, which is as good as lost; the third says its own.
    assert names(readings[:5]) == ["Headers", "Data", "Headers", "Data", "Headers"]
    assert names(readings[5:]) == ["Headers", "sealStream", "Headers", "sealStream", "Headers"]
    assert [reading.reply_to for reading in readings] == [None] * 4 + [1] + [None] * 3 + [7, None]


def test_behind_a_hole_half_a_message_is_not_taken_for_a_whole() -> None:
    _, _, sent = opened("createScope")
    raw = body("createScope", "client", {"scope": "x" * 30})
    connection = Connection(from_start=True)
    read_all([*OPENING, *sent, Sent("client", frame(DATA, 0, 1, raw[:10]))], connection)
    connection.hole("client")
    readings = read_all(
        [Sent("client", frame(DATA, 0, 1, raw[20:])), Sent("client", frame(DATA, END_STREAM, 1, raw))], connection
    )
    assert names(readings) == ["Data", "createScope"]
    assert not any(reading.defects for reading in readings)


def test_from_the_middle_nothing_is_a_defect() -> None:
    client, server = Peer("client"), Peer("server")
    sent = list(call(client, server, 7, "getURI", {"streamInfo": STREAM}, URI))
    for start in range(len(sent)):
        readings = read_all(sent[start:], Connection(from_start=False))
        assert not any(reading.defects for reading in readings), start
    assert names(read_all(sent[1:], Connection(from_start=False))) == ["Data", "Headers", "Data", "Headers"]


def test_from_the_middle_a_lone_continuation_says_nothing() -> None:
    readings = read_all([Sent("client", frame(CONTINUATION, END_HEADERS, 1, b"\x83"))], Connection(from_start=False))
    assert kinds(readings) == [[]]
    assert field(readings[0], "headers") is None
