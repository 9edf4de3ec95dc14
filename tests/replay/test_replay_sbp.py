"""Recorded SBP conversations are spoken again to a mock: nothing differs, or what does is found."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import HERE, SHARED
from tests.replay.stage import Replayed, replay
from wiretool.capture.files import read_packets
from wiretool.codec.flatbuffers import Table
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp.schema import LATEST
from wiretool.replay.manners import manners
from wiretool.replay.manners.manner import Verdict
from wiretool.replay.manners.sbp_servers import servers_in
from wiretool.replay.recording import recording_of
from wiretool.servers.choose import mock_for
from wiretool.servers.mock import Mock, Outbox
from wiretool.servers.options import MockOptions
from wiretool.servers.sbp.mock import SbpMock
from wiretool.servers.sbp_0_1.mock import Sbp01Mock

OWN = HERE.parent / "captures"
#: Of the batch style, by how their names begin; all others are of the newest schema.
BATCH_STYLE = ("pm_", "s1_")
WELL = {Verdict.SAME, Verdict.MAPPED, Verdict.NOISE}


def captures() -> list[Path]:
    """Every capture of the two protocols that is at hand, each name once."""
    found: dict[str, Path] = {}
    for folder in (OWN / "sbp", OWN / "sbp-0.1", SHARED / "captures" / "sbp-server"):
        found |= {path.name: path for path in sorted(folder.glob("*.pcap"))}
    return [found[name] for name in sorted(found)]


def capture(name: str) -> Path:
    return next(path for path in captures() if path.name == f"{name}.pcap")


def protocol_of(path: Path) -> str:
    return "sbp-0.1" if path.name.startswith(BATCH_STYLE) else "sbp"


def mock_of(path: Path) -> Mock:
    """A fresh mock that is such servers as were recorded."""
    name = protocol_of(path)
    options = manners()[name].mock_options(recording_of(read_packets([path])), MockOptions())
    return mock_for(name, options)


def counts(replayed: Replayed) -> Counter[Verdict]:
    return Counter(outcome.verdict for outcome in replayed.outcomes)


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_capture_replays_without_a_finding(path: Path) -> None:
    replayed = replay(path)
    assert replayed.outcomes
    assert not replayed.findings
    for outcome in replayed.outcomes:
        assert outcome.reasons or outcome.verdict not in (Verdict.EXPLAINED, Verdict.UNKNOWN)


@pytest.mark.parametrize("name", ["mixed_noise", "sdk_main", "rs_fetch", "pd_heartbeat", "s1_streams"])
def test_what_is_regular_needs_no_excuse(name: str) -> None:
    assert counts(replay(capture(name))).keys() <= WELL


@pytest.mark.parametrize(
    ("name", "drivers", "range_servers"),
    [("sdk_main", ["127.0.0.1:12378"], ["127.0.0.1:10911"]), ("rs_errors", [], ["127.0.0.1:10911"])],
)
def test_servers_are_known_by_what_they_say(name: str, drivers: list[str], range_servers: list[str]) -> None:
    servers = servers_in(recording_of(read_packets([capture(name)])), "sbp")
    assert (servers.drivers, servers.range_servers) == (drivers, range_servers)
    assert (servers.followers, servers.both) == ([], [])


# -- a server in another state -----------------------------------------------------------------------------------------


def use(mock: Mock) -> None:
    """Let others have used a mock: numbers are given out, and ranges are there under the first ones."""
    if isinstance(mock, Sbp01Mock):
        mock.store.next_stream, mock.store.next_node = 40, 9
        return
    assert isinstance(mock, SbpMock)
    wanted = tables.CreateStreamRequest(stream=tables.Stream(replica=1, ack_count=1))
    for _ in range(7):
        mock.placement.create_stream(wanted, 0)
        mock.placement.allocate_id(tables.IdAllocationRequest(), 0)
    for stream_id in (*range(7), 10, 1000):
        mock.range_server.create_range(
            tables.CreateRangeRequest(range=tables.Range(stream_id=stream_id, index=0, start=17)), 0
        )


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_server_that_others_have_used_will_do(path: Path) -> None:
    mock = mock_of(path)
    use(mock)
    assert not replay(path, mocks={protocol_of(path): mock}).findings


@pytest.mark.parametrize("name", ["sdk_main", "pd_ranges", "mixed_noise"])
def test_numbers_that_others_have_are_exchanged(name: str) -> None:
    mock = mock_of(capture(name))
    use(mock)
    assert isinstance(mock, SbpMock)
    before = set(mock.placement.streams)
    replayed = replay(capture(name), mocks={"sbp": mock})
    assert not replayed.findings
    assert counts(replayed)[Verdict.MAPPED] > 20
    assert mock.placement.streams.keys() > before
    assert all(mock.placement.streams[number].replica == 1 for number in before)


# -- a server that says something else ---------------------------------------------------------------------------------

Change = Callable[[Any], Any]


class Twisting(Outbox):
    """Says the header of the first answer of a kind otherwise, where `change` makes another of it."""

    def __init__(self, schema: Schema, operation: str, change: Change, *, behind: int) -> None:
        super().__init__()
        self._schema, self._operation, self._change, self._behind = schema, operation, change, behind
        self.is_done = False

    def send(self, connection: int, data: bytes) -> None:
        reading = read_frame(self._schema, data, 0, len(data))
        is_it = reading.operation is not None and reading.operation.name == self._operation
        if is_it and not self.is_done and connection > self._behind and isinstance(reading.frame.header, Table):
            header = self._change(reading.frame.header)
            self.is_done = header != reading.frame.header
            data = encode_frame(msgspec.structs.replace(reading.frame, header=header), "server")
        super().send(connection, data)


def at(*steps: str | int, value: Any) -> Change:
    """Puts a value there, if there is such a place."""

    def change(table: Any) -> Any:
        return _with(table, steps, value)

    return change


def _with(table: Any, steps: tuple[str | int, ...], value: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return (*table[:step], _with(table[step], rest, value), *table[step + 1 :]) if table else table
    return (
        table if table is None else msgspec.structs.replace(table, **{step: _with(getattr(table, step), rest, value)})
    )


def prepared_on(replayed: Replayed) -> int:
    """How many connections were made to prepare the servers."""
    return sum(line.dialogue.number < 0 for line in replayed.player._lines.values())


CHANGES = [
    ("sdk_main", "CREATE_RANGE", at("range", "start", value=3)),
    ("sdk_main", "SEAL_RANGE", at("range", "end", value=7)),
    ("sdk_main", "APPEND", at("entries", 0, "status", "code", value=1464)),
    ("sdk_main", "APPEND", at("entries", value=None)),
    ("sdk_main", "FETCH", at("throttle_time_ms", value=9)),
    ("sdk_main", "LIST_RANGE", at("ranges", 0, "servers", 0, "advertise_addr", value="10.9.9.9:1")),
    ("sdk_main", "LIST_RANGE", at("ranges", 0, "stream_id", value=31)),
    ("pd_ranges", "SEAL_RANGE", at("status", "message", value="no range in stream 99: range not found")),
    ("pd_ranges", "CREATE_RANGE", at("status", "code", value=1500)),
    ("pd_heartbeat", "HEARTBEAT", at("client_id", value="another")),
    ("rs_fetch", "FETCH", at("status", "code", value=1204)),
    ("rs_append", "APPEND", at("entries", 0, "status", "message", value="no")),
    ("s1_streams", "GET_STREAMS", at("describe_responses", 0, "error_code", value=2)),
]


@pytest.mark.parametrize(("name", "operation", "change"), CHANGES, ids=range(len(CHANGES)))
def test_one_field_said_otherwise_is_the_one_finding(name: str, operation: str, change: Change) -> None:
    path = capture(name)
    behind = prepared_on(replay(path))
    mock = mock_of(path)
    schema = mock.schema if isinstance(mock, Sbp01Mock) else LATEST
    assert schema is not None
    twisting = mock.outbox = Twisting(schema, operation, change, behind=behind)
    replayed = replay(path, mocks={protocol_of(path): mock})
    assert twisting.is_done
    (finding,) = replayed.findings
    assert finding.verdict is Verdict.DIFFERENT
    assert finding.live[0].message == operation
