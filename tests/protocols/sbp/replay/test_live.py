"""Answers of range servers that differ from the recorded ones must still be what this run allows."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.protocols.sbp.replay.test_replay import batch_of, capture, mock_of, on_another, prepared_on, told_by
from tests.replay.mutants import Spot, mutated
from tests.replay.stage import counts, replay
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.messages import RESPONSE_END, SbpFrame
from wiretool.protocols.sbp.replay.known_differences import EXPLANATIONS
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.tables import FetchResponse, ObjectMetadata, Status
from wiretool.replay.adapter import Verdict
from wiretool.replay.judging.explanation import Explanation
from wiretool.server.mock import Outbox
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

#: Recordings of a restarted server, of appends that race with fetches, and of fetches cut by bytes.
RECORDINGS = ("rs_restart", "rs_pipelined", "rs_fetch")
Lie = Callable[[SbpFrame], SbpFrame]


def lengths_in(frame: SbpFrame) -> list[int]:
    """The lengths of the batches in a payload."""
    batches = LATEST.read_batches(frame, None)
    return [length for _, length in batches.found] if batches is not None else []


def altered(frame: SbpFrame) -> SbpFrame:
    """The last bytes of the batches are other ones."""
    return frame if not frame.payload else _with_payload(frame, frame.payload[:-1] + bytes((frame.payload[-1] ^ 1,)))


def without_last(frame: SbpFrame) -> SbpFrame:
    """One batch is missing; where there is but one, nothing is found."""
    lengths = lengths_in(frame)
    if not lengths:
        return frame
    if len(lengths) == 1:
        status = Status(code=1204, message="No new records to fetch")
        return msgspec.structs.replace(frame, header=FetchResponse(status=status), payload=b"", checksum=None)
    return _with_payload(frame, frame.payload[: -lengths[-1]])


def doubled(frame: SbpFrame) -> SbpFrame:
    """The first batch comes twice."""
    lengths = lengths_in(frame)
    return _with_payload(frame, frame.payload[: lengths[0]] + frame.payload) if lengths else frame


def throttled(frame: SbpFrame) -> SbpFrame:
    """A field that hangs on nothing is another one."""
    header = frame.header
    assert isinstance(header, Table)
    return msgspec.structs.replace(frame, header=msgspec.structs.replace(header, throttle_time_ms=77))


def sealed(frame: SbpFrame) -> SbpFrame:
    """An entry is refused for what was not done."""
    return _with_entry(frame, 1460, "The specified range is sealed")


def miscalled(frame: SbpFrame) -> SbpFrame:
    return _with_entry(frame, 1464, "no")


def _with_payload(frame: SbpFrame, payload: bytes) -> SbpFrame:
    return msgspec.structs.replace(frame, payload=payload, checksum=None)


def _with_entry(frame: SbpFrame, code: int, message: str) -> SbpFrame:
    header: Any = frame.header
    if not header.entries:
        return frame
    status = msgspec.structs.replace(header.entries[0].status, code=code, message=message)
    first = msgspec.structs.replace(header.entries[0], status=status, timestamp_ms=0)
    return msgspec.structs.replace(frame, header=msgspec.structs.replace(header, entries=(first, *header.entries[1:])))


class Lying(Outbox):
    """Changes the `nth` answer of an operation that a lie changes, from 0."""

    def __init__(self, operation: str, lie: Lie, nth: int, behind: int) -> None:
        super().__init__()
        self._operation, self._lie, self._left, self._behind = operation, lie, nth, behind
        self.is_done = False

    def send(self, connection: int, data: bytes) -> None:
        reading = read_frame(LATEST, data, 0, len(data))
        is_it = reading.operation is not None and reading.operation.name == self._operation
        if is_it and connection > self._behind and reading.frame.flags == RESPONSE_END | 1 and not self.is_done:
            told = self._lie(reading.frame)
            if told != reading.frame:
                self._left -= 1
                self.is_done = self._left < 0
                data = encode_frame(told, "server") if self.is_done else data
        super().send(connection, data)


LIES: list[tuple[str, Lie]] = [
    ("FETCH", altered),
    ("FETCH", without_last),
    ("FETCH", doubled),
    ("FETCH", throttled),
    ("APPEND", sealed),
    ("APPEND", miscalled),
]


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize(("operation", "lie"), LIES, ids=lambda value: getattr(value, "__name__", value))
def test_what_this_run_does_not_allow_is_found(name: str, operation: str, lie: Lie) -> None:
    """Early, in the middle and late. Where appends are under way, a FETCH may or may not find the last of them."""
    if (name, lie) == ("rs_pipelined", without_last):
        name = "rs_restart"
    path = capture(name)
    behind = prepared_on(replay(path))
    done = 0
    for nth in (30,) if name == "rs_pipelined" else (0, 1, 3, 9, 27):
        mock = mock_of(path)
        lying = mock.outbox = Lying(operation, lie, nth, behind)
        replayed = replay(path, mocks={"sbp": mock})
        assert bool(replayed.findings) is lying.is_done, nth
        done += lying.is_done
    assert done


def test_every_explanation_names_fields_of_an_answer() -> None:
    """None covers the frame's own fields, such as its identifier, or everything."""
    for each in EXPLANATIONS:
        assert isinstance(each, Explanation)
        assert each.fields
        for pattern in each.fields:
            assert pattern[0] in ("header", "payload", "flags")
        assert not each.covers(("stream_id",))
        assert not each.covers(())


def test_a_restart_is_shown_by_its_record() -> None:
    replayed = replay(capture("rs_restart"))
    whys = {why for each in replayed.outcomes for why in each.reasons if "restarted and lost its data" in why}
    assert counts(replayed)[Verdict.EXPLAINED] > 4
    (why,) = whys
    assert why.endswith("shows it")


# -- what no replay can make ------------------------------------------------------------------------------------------


class Offloading(Outbox):
    """Names an object in each FETCH that finds something, as a server with object storage does."""

    def send(self, connection: int, data: bytes) -> None:
        reading = read_frame(LATEST, data, 0, len(data))
        header = reading.frame.header
        if isinstance(header, FetchResponse) and reading.frame.payload:
            told = msgspec.structs.replace(header, object_metadata_list=(ObjectMetadata(key="a/0-0/0", data_len=9),))
            data = encode_frame(msgspec.structs.replace(reading.frame, header=told), "server")
        super().send(connection, data)


def fetches() -> list[SbpFrame]:
    servers = (tables.RangeServer(server_id=0, advertise_addr="127.0.0.1:10911"),)
    place = tables.Range(stream_id=0, epoch=0, index=0, start=0, end=-1, servers=servers, replica_count=1, ack_count=1)
    headers: list[tuple[int, Table, bytes]] = [
        (0x2004, tables.CreateRangeRequest(range=place), b""),
        (0x1001, tables.AppendRequest(), batch_of(0, 0, 4) + batch_of(0, 4, 3)),
        (0x1002, tables.FetchRequest(range=place, offset=0, limit=-1, max_wait_ms=-1), b""),
    ]
    return [
        SbpFrame(opcode=opcode, stream_id=number, header=header, payload=payload)
        for number, (opcode, header, payload) in enumerate(headers, start=1)
    ]


def test_objects_that_the_recorded_server_had_made_are_unknown() -> None:
    """And nothing else of the answer: other batches are a finding."""
    recorded = mock_for("sbp", MockOptions())
    recorded.outbox = Offloading()
    recording = told_by(recorded, fetches(), 10911)
    replayed = on_another(recording, "sbp")
    assert not replayed.findings
    assert counts(replayed)[Verdict.UNKNOWN] == 1
    mutant = mutated(recording, Spot("sbp", "FETCH", ("header", "fields", "throttle_time_ms")), 0)
    assert mutant.is_done
    assert mutant.findings
