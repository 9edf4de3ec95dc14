"""The slowest exchanges of several processes as a capture, read again by our own reader and by tshark."""

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.tools import run_tool
from wiretool.dissect.dissector import read
from wiretool.load.report import line_on, write_slow
from wiretool.load.slow.model import Piece, Slow, SlowConnection, SlowExchange, SlowOnes
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import DataAppended, Hello, SegmentRead
from wiretool.protocols.pravega.messages import ReadSegment as Read
from wiretool.sinks.output import Output

AT_NS = 1_700_000_000_000_000_000
MS = 1_000_000
HELLO = encode(Hello(high_version=17, low_version=5), "client")


def exchange(number: int, *, took_ms: int = 10, waited_ms: int = 0, **fields: object) -> SlowExchange:
    """A read, the so manieth, and its answer."""
    request = Read(segment="a/b/0.#epoch.0", offset=number, suggested_length=10, request_id=number)
    reply = SegmentRead(
        segment="a/b/0.#epoch.0", offset=number, at_tail=False, end_of_segment=False, data=b"x", request_id=number
    )
    sent_ns = AT_NS + number * 100 * MS
    plain: dict[str, object] = {
        "operation": "fetch",
        "about": f"bytes {number}",
        "due_ns": sent_ns - waited_ms * MS,
        "sent_ns": sent_ns,
        "answered_ns": sent_ns + took_ms * MS,
        "request": encode(request, "client"),
        "reply": encode(reply, "server"),
        "reply_number": number,
    }
    return SlowExchange(**plain | fields)  # type: ignore[arg-type]


def connection(port: int, *exchanges: SlowExchange, host: str = "127.0.0.1") -> SlowConnection:
    opening = [
        Piece(at_ns=AT_NS - 2 * MS, side="client", data=HELLO),
        Piece(at_ns=AT_NS - MS, side="server", data=HELLO),
    ]
    opened_ns = AT_NS - 3 * MS
    ends = (host, port), (host, 12_345)
    return SlowConnection(
        client=ends[0], server=ends[1], opened_ns=opened_ns, opening=opening, exchanges=list(exchanges)
    )


def ones(*connections: SlowConnection, limit: int = 100, left_out: int = 0) -> SlowOnes:
    slow = SlowOnes(limit)
    for number, one in enumerate(connections):
        slow.add(Slow(worker=f"load {number}", connections=[one], left_out=left_out))
    return slow


def written(slow: SlowOnes, protocol: str = "pravega") -> bytes:
    file = BytesIO()
    write_slow(slow, Output(file), protocol)
    return file.getvalue()


def test_what_is_written_is_read_again_without_a_gap() -> None:
    slow = ones(connection(40_001, exchange(1), exchange(3)), connection(40_002, exchange(2), host="::1"), left_out=2)
    records = list(read(BytesIO(written(slow))))
    assert [record.kind for record in records] == ["frame"] * 10
    assert [(record.client, record.message) for record in records[4:]] == [
        ("127.0.0.1:40001", "ReadSegment"),
        ("127.0.0.1:40001", "SegmentRead"),
        ("[::1]:40002", "ReadSegment"),
        ("[::1]:40002", "SegmentRead"),
        ("127.0.0.1:40001", "ReadSegment"),
        ("127.0.0.1:40001", "SegmentRead"),
    ]
    times_ms = [(record.time_ns - AT_NS) // MS for record in records]
    assert times_ms == [-2, -2, -1, -1, 100, 110, 200, 210, 300, 310]
    assert line_on(slow) == "the slowest 3 exchanges, of 10 to 10 ms, sent within 0.2 s; 4 more had no room"


def test_tshark_shows_each_with_its_comment(tmp_path: Path) -> None:
    path = tmp_path / "slow.pcapng"
    last = exchange(2, took_ms=7, about="a\x1b[31m name")
    path.write_bytes(written(ones(connection(40_001, exchange(1, took_ms=12, waited_ms=33), last))))
    options = ["-o", "tcp.check_checksum:TRUE", "-T", "fields", "-e", "frame.comment", "-e", "tcp.analysis.flags"]
    shown = run_tool("tshark", "-r", str(path), *options)
    assert [line.strip() for line in shown.splitlines()] == [
        *[""] * 5,
        "fetch 1 of 2: service 12 ms, response 45 ms (due 33 ms before it was sent), bytes 1",
        "answers fetch 1 of 2",
        r"fetch 2 of 2: service 7 ms, response 7 ms, a\x1b[31m name",
        "answers fetch 2 of 2",
    ]


def test_an_answer_to_two_is_there_once() -> None:
    reply = exchange(2).reply
    both = [exchange(number, reply=reply, reply_number=7, answered_ns=AT_NS + 900 * MS) for number in (1, 2)]
    data = written(ones(connection(40_001, *both)))
    assert [record.message for record in read(BytesIO(data))][2:] == ["ReadSegment", "ReadSegment", "SegmentRead"]
    assert b"answers fetch 1, 2 of 2" in data


def test_of_nothing_there_is_a_capture_of_nothing() -> None:
    slow = ones()
    assert list(read(BytesIO(written(slow)))) == []
    assert line_on(slow) == "no exchange was answered"


def test_what_is_left_out_is_missing_where_bytes_are_counted() -> None:
    slow = ones(connection(40_001, exchange(1), exchange(2)))
    records = list(read(BytesIO(written(slow, "pravega-draft"))))
    assert sum(record.kind == "gap" for record in records) == 2
    assert sum(record.message == "ReadSegment" for record in records) == 2


@given(st.lists(st.lists(st.integers(1, 99), max_size=8), max_size=4), st.integers(1, 12))
def test_of_all_processes_the_slowest_are_there(times: list[list[int]], limit: int) -> None:
    connections = [
        connection(40_001 + port, *(exchange(number, took_ms=took) for number, took in enumerate(some, 1)))
        for port, some in enumerate(times)
    ]
    slow = ones(*connections, limit=limit)
    best = sorted((took for some in times for took in some), reverse=True)[:limit]
    assert [place.exchange.response_ms for place in slow] == best
    names = [record.message for record in read(BytesIO(written(slow)))]
    assert names.count("ReadSegment") == names.count("SegmentRead") == len(best)


def test_bytes_of_all_processes_are_bounded() -> None:
    slow = SlowOnes(10, bytes_max=1_000)
    for number, took_ms in enumerate((5, 9, 7, 8)):
        one = exchange(number, took_ms=took_ms, request=bytes(400), reply=b"")
        slow.add(Slow(worker="load", connections=[connection(40_000 + number, one)]))
    assert [place.exchange.response_ms for place in slow] == [9, 8]
    assert slow.left_out == 2


def test_where_one_process_had_no_room_no_faster_one_of_another_is_there() -> None:
    slow = SlowOnes(5)
    slow.add(Slow(worker="load 0", connections=[connection(1, exchange(1, took_ms=3), exchange(2, took_ms=8))]))
    slow.add(Slow(worker="load 1", connections=[connection(2, exchange(1, took_ms=9))], left_out=4, cut_ns=5 * MS))
    slow.add(Slow(worker="load 2", connections=[connection(3, exchange(1, took_ms=4))]))
    assert [place.exchange.response_ms for place in slow] == [9, 8]
    assert slow.left_out == 3


@pytest.mark.parametrize("about", ["x" * 100_000, "\U0001f600" * 30_000, "\ud800"])
def test_what_it_is_about_may_be_of_any_length(about: str) -> None:
    data = written(ones(connection(40_001, exchange(1, about=about))))
    assert len(list(read(BytesIO(data)))) == 4


def test_a_reply_of_another_kind_is_as_good() -> None:
    ack = DataAppended(
        writer_id="00000000-0000-0000-0000-000000000001", event_number=5, previous_event_number=4, request_id=5
    )
    data = written(ones(connection(40_001, exchange(1, reply=encode(ack, "server")))))
    assert [record.message for record in read(BytesIO(data))][-1] == "DataAppended"
