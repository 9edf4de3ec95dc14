"""Appends in order, what is on its way, fetches, seals."""

import pytest

from tests.protocols.sbp.server.talk import Client, append, code_of, codes_of, create_range, entry, fetch, frame_of
from wiretool import limits
from wiretool.errors import UsageError
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp.server.link import CONTENT_BYTES_MAX
from wiretool.protocols.sbp.server.mock import SbpMock


def client_of(mock: SbpMock | None = None, start: int = 0) -> Client:
    client = Client(mock or SbpMock())
    client.ask(create_range(start=start))
    client.next_id = 100
    return client


def appended(client: Client, *entries: bytes) -> list[int]:
    client.next_id += 1
    (answer,) = client.say(append(client.next_id, *entries))
    return codes_of(answer)


def test_each_entry_has_its_own_result() -> None:
    client = client_of()
    assert appended(client, entry(0, 10), entry(10, 5)) == [1200, 1200]
    assert appended(client, entry(3, 1), entry(20, 1), entry(15, 0), entry(15, 2)) == [1464, 1466, 1200, 1200]
    assert appended(client, entry(17, 1, stream=9), entry(17, 1), entry(0, 1, index=4)) == [1462, 1200, 1462]


def test_refusals_carry_the_real_words() -> None:
    client = client_of()
    client.say(append(101, entry(0, 1)))
    (answer,) = client.say(append(102, entry(0, 1), entry(5, 1), entry(5, 1, stream=7)))
    assert [each.status.message for each in answer.header.entries] == [  # type: ignore[union-attr]
        "The append request is already committed",
        "The append request is out of order",
        "The specified range is not found",
    ]


def test_without_a_first_offset_the_answer_is_empty() -> None:
    (answer,) = client_of().say(append(101, entry(-1, 1), entry(0, 1)))
    assert (answer.flags, answer.header, answer.payload) == (3, None, b"")


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", None),
        (b"\x23" + entry(0, 1)[1:], "Bad Request"),
        (entry(0, 1)[:8], "Bad Request"),
        (entry(0, 1) + b"\x22\x00\x00", "Invalid request"),
        (entry(0, 1) + b"\x23" + entry(1, 1)[1:], "Invalid request"),
    ],
)
def test_a_broken_payload_is_refused_as_a_whole(payload: bytes, message: str | None) -> None:
    client = client_of()
    (answer,) = client.say(append(101, payload))
    assert (answer.flags, code_of(answer), answer.header.status.message) == (7, 1400, message)  # type: ignore[union-attr]
    assert appended(client, entry(0, 1)) == [1200]


def test_offsets_end_with_63_bits() -> None:
    client = client_of(start=2**63 - 5)
    assert appended(client, entry(2**63 - 5, 10), entry(2**63 - 5, 4), entry(2**63 - 1, -1)) == [1461, 1200, 1400]


def test_what_is_on_its_way_is_pending() -> None:
    client = client_of(SbpMock(commit_ns=1_000))
    first, again = append(101, entry(0, 5)), append(102, entry(0, 5))
    answers = client.say(first, again, append(103, entry(5, 5)), append(104, entry(11, 1)))
    assert [(answer.stream_id, codes_of(answer)) for answer in answers] == [(102, [1465]), (104, [1466])]
    assert code_of(client.ask(fetch(0))) == 1204
    answers = client.wait(1_000)
    assert [(answer.stream_id, codes_of(answer)) for answer in answers] == [(101, [1200]), (103, [1200])]
    assert appended(client, entry(0, 5)) == [1464]


def test_what_is_on_its_way_when_its_range_is_sealed_is_not_part_of_it() -> None:
    client = client_of(SbpMock(commit_ns=1_000))
    client.say(append(101, entry(0, 5)))
    sealed = client.ask(tables.SealRangeRequest(kind=1, range=tables.Range(stream_id=1, index=0)))
    assert sealed.header.range.end == 0  # type: ignore[union-attr]
    (answer,) = client.wait(1_000)
    assert codes_of(answer) == [1460]


def test_a_seal_ends_appends_and_not_fetches() -> None:
    client = client_of()
    appended(client, entry(0, 5, b"abc"))
    for end in (-1, 3, 9):
        wanted = tables.Range(stream_id=1, index=0, end=end)
        sealed = client.ask(tables.SealRangeRequest(kind=1, range=wanted))
        assert sealed.header.range.end == 5  # type: ignore[union-attr]
    assert appended(client, entry(5, 1)) == [1460]
    assert client.ask(fetch(0)).payload == entry(0, 5, b"abc")


def test_sealing_what_is_not_there_makes_it() -> None:
    client = client_of()
    wanted = tables.Range(stream_id=77, index=3, start=4, end=9)
    assert client.ask(tables.SealRangeRequest(kind=1, range=wanted)).header.range.end == 4  # type: ignore[union-attr]
    assert appended(client, entry(4, 1, stream=77, index=3)) == [1460]


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        (fetch(0), [0, 10, 20]),
        (fetch(15), [10, 20]),
        (fetch(20), [20]),
        (fetch(21), []),
        (fetch(30), []),
        (fetch(-1), []),
        (fetch(0, limit=20), [0, 10]),
        (fetch(0, limit=21), [0, 10, 20]),
        (fetch(0, limit=0), []),
        (fetch(0, most=0), []),
        (fetch(0, most=1), [0]),
    ],
)
def test_fetch_finds_what_the_real_one_finds(request_: tables.FetchRequest, found: list[int]) -> None:
    client = client_of()
    appended(client, entry(0, 10), entry(10, 10), entry(20, 10))
    answer = client.ask(request_)
    assert answer.payload == b"".join(entry(base, 10) for base in found)
    assert code_of(answer) == (1200 if found else 1204)
    assert answer.header.throttle_time_ms == (-1 if found else 0)  # type: ignore[union-attr]


def test_creating_a_range_again_changes_nothing() -> None:
    client = client_of()
    appended(client, entry(0, 3))
    assert code_of(client.ask(create_range(start=7))) == 1200
    assert appended(client, entry(3, 1)) == [1200]


def test_no_more_ranges_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SBP_RANGES_MAX", 1)
    client = client_of()
    answer = client.ask(create_range(stream=2))
    assert (answer.flags, code_of(answer)) == (7, 2500)


def test_the_oldest_batches_go_first() -> None:
    client = client_of(SbpMock(retain_bytes=10_000))
    body = bytes(1_000)
    for number in range(20):
        appended(client, entry(number, 1, body))
    answer = client.ask(fetch(0))
    kept = len(answer.payload) // len(entry(0, 1, body))
    assert 5 <= kept < 10
    assert answer.payload == b"".join(entry(number, 1, body) for number in range(20 - kept, 20))


def test_somebody_may_seal_a_range() -> None:
    mock = SbpMock()
    client = client_of(mock)
    appended(client, entry(0, 3))
    assert mock.operate("seal", {"stream": 1, "index": 0}, 0) == ({"stream": 1, "index": 0, "end": 3}, [])
    assert appended(client, entry(3, 1)) == [1460]
    with pytest.raises(UsageError, match="no range 5 of stream 1"):
        mock.operate("seal", {"stream": 1, "index": 5}, 0)
    with pytest.raises(UsageError, match=r"no operation 'sail': there are seal, lead$"):
        mock.operate("sail", {}, 0)


@pytest.mark.parametrize("arguments", [{"stream": [1]}, {"stream": 1, "index": {}}, {"stream": True}])
def test_what_names_no_range_is_wrong_usage(arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="is a whole number, not"):
        SbpMock().operate("seal", arguments, 0)


def test_a_seal_without_a_stream_is_told_what_it_wants() -> None:
    with pytest.raises(UsageError, match="seal: missing stream; expected a whole number"):
        SbpMock().operate("seal", {"index": 0}, 0)


def test_any_batch_that_fits_is_found_and_of_others_is_said_that_they_do_not() -> None:
    header_bytes = 52
    largest = bytes(CONTENT_BYTES_MAX - header_bytes - len(entry(0, 1, b"")))
    for extra, code in ((b"", 1200), (b"x", 2500)):
        client = client_of()
        data = entry(0, 1, largest + extra)
        assert appended(client, data) == [1200]
        answer = client.ask(fetch(0))
        assert (answer.flags, code_of(answer)) == (3, code)
        assert answer.payload == (data if code == 1200 else b"")


def test_append_looks_at_no_header() -> None:
    frame = SbpFrame(opcode=0x1001, stream_id=101, header=b"garbage", header_format=3, payload=entry(0, 1))
    (answer,) = client_of().say(frame)
    assert codes_of(answer) == [1200]


def test_the_header_of_a_range_server_must_be_whole() -> None:
    client = Client(SbpMock(has_two_doors=True), door="sbp")
    for header in (tables.FetchRequest(), tables.SealRangeRequest(), tables.CreateRangeRequest()):
        client.next_id += 1
        (answer,) = client.say(frame_of(header, client.next_id))
        assert (answer.flags, code_of(answer)) == (7, 1400)
