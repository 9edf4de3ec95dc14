from typing import Any

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.records import WRITER, Sample, a_record
from wiretool import limits
from wiretool.analysis.subjects import DEPTH_MAX, Subject, Subjects


def segment(name: str) -> tuple[Subject, ...]:
    return (Subject("segment", name),)


def test_a_segment_is_named_by_the_message() -> None:
    assert Subjects().of(a_record(fields={"segment": "s/t/0"})) == segment("s/t/0")
    assert Subjects().of(a_record(fields={"segment_name": "s/t/1"})) == segment("s/t/1")
    assert Subjects().of(a_record(fields=Sample(request_id=1, segment="x"))) == segment("x")


def test_a_writer_stands_for_the_segment_it_was_set_up_on() -> None:
    subjects = Subjects()
    assert subjects.of(a_record(fields={"writer_id": WRITER})) == ()
    subjects.of(a_record(n=2, fields={"writer_id": WRITER, "segment": "s"}))
    assert subjects.of(a_record(n=3, fields={"writer_id": WRITER})) == segment("s")
    assert subjects.of(a_record(n=4, fields={"writer_id": WRITER}, connection=1)) == ()
    assert subjects.of(a_record(n=5, fields={}, append={"segment": "t"})) == segment("t")


def test_streams_are_those_in_header_and_payload_not_the_number_of_the_request() -> None:
    frame = {
        "stream_id": 99,
        "header": {"fields": {"ranges": [{"stream_id": 1}, {"stream_id": 2}, {"stream_id": 1}]}},
        "payload": {"entries": [{"meta": {"stream_id": 3}}]},
    }
    assert Subjects().of(a_record(protocol="sbp", fields=frame)) == tuple(Subject("stream", each) for each in "123")
    assert Subjects().of(a_record(protocol="sbp", fields={"stream_id": 9, "header": None})) == ()


def test_a_deep_header_is_searched_only_so_far() -> None:
    value: Any = {"stream_id": 1}
    for _ in range(DEPTH_MAX + 5):
        value = {"inner": value}
    assert Subjects().of(a_record(fields={"header": value})) == ()


@needs_protocol("offramp")
def test_a_connection_is_about_the_road_of_its_handshake() -> None:
    subjects = Subjects()
    about = (Subject("road", "clicks"),)
    assert subjects.of(a_record(protocol="offramp", fields={"road": "clicks"})) == about
    assert subjects.of(a_record(n=2, protocol="offramp", fields={"type": "MESSAGE"})) == about
    assert subjects.of(a_record(n=3, protocol="offramp", connection=1, fields={})) == ()


@needs_protocol("offramp")
def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 10)
    subjects = Subjects()
    for n in range(1, 50):
        subjects.of(a_record(n=n, fields={"segment": "s", "writer_id": str(n)}))
        subjects.of(a_record(n=n, connection=n, protocol="offramp", fields={"road": "r"}))
    assert list(subjects.known) == [key for n in range(45, 50) for key in ((0, str(n)), (n, ""))]
