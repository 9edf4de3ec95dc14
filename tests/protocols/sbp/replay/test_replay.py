"""Recorded SBP conversations are spoken again to a mock: nothing differs, or what does is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import HERE, SHARED
from tests.helpers.captures import tcp_packets
from tests.helpers.examples import needs_protocol
from tests.replay.mutants import Spot, mutated
from tests.replay.stage import START_NS, Replayed, Stage, check_no_finding, counts, replay
from wiretool.analysis.dialogues import Ended, Recording
from wiretool.capture.files.reading import read_packets
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import Side
from wiretool.codec.reference import encode
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.messages import SbpFrame, Schema
from wiretool.protocols.sbp.records import AppendEntry, RecordBatchMeta
from wiretool.protocols.sbp.replay.recorded_facts import grounds_in
from wiretool.protocols.sbp.replay.servers import servers_in
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import Hear, Say, script_of
from wiretool.server.mock import Mock, Outbox, Send
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

OWN = HERE.parent / "captures"
#: Of the batch style, by how their names begin; all others are of the newest schema.
BATCH_STYLE = ("pm_", "s1_")
WELL = {Verdict.SAME, Verdict.MAPPED, Verdict.NOISE, Verdict.EXPLAINED}


def captures() -> list[Path]:
    """Every capture of the two protocols that is at hand, each name once."""
    found: dict[str, Path] = {}
    for folder in (OWN / "sbp", OWN / "sbp-0.1", SHARED / "captures" / "sbp-server"):
        found |= {path.name: path for path in sorted(folder.glob("*.pcap"))}
    return [found[name] for name in sorted(found) if protocol_of(found[name]) in PROTOCOLS]


def capture(name: str) -> Path:
    return next(path for path in captures() if path.name == f"{name}.pcap")


def protocol_of(path: Path) -> str:
    return "sbp-0.1" if path.name.startswith(BATCH_STYLE) else "sbp"


def mock_of(path: Path) -> Mock:
    """A fresh mock that is such servers as were recorded."""
    name = protocol_of(path)
    options = manners()[name].mock_options(recording_of(read_packets([path])), MockOptions())
    return mock_for(name, options)


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_capture_replays_without_a_finding(path: Path) -> None:
    check_no_finding(replay(path))


@needs_protocol("sbp-0.1")
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


def test_a_connection_of_which_but_the_end_is_in_a_part() -> None:
    recording = recording_of(read_packets([capture("pd_ranges")]))
    ends = [event.time_ns for event in recording.events if isinstance(event, Ended)]
    part = recording.between(ends[0], ends[-1])
    assert [dialogue.records for dialogue in part.dialogues] == [[]]
    script = script_of(part, manners())
    assert script.dialogues == part.dialogues
    assert not any(isinstance(step, Say | Hear) for step in script.steps)


# -- a server in another state -----------------------------------------------------------------------------------------


def use(mock: Mock) -> None:
    """Let others have used a mock: numbers are given out, and ranges are there under the first ones."""
    if not isinstance(mock, SbpMock):
        older: Any = mock
        older.store.next_stream, older.store.next_node = 40, 9
        return
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
    return sum(line.dialogue.number < 0 for line in replayed.player._lines.by_number.values())


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


@needs_protocol("sbp-0.1")
@pytest.mark.parametrize(("name", "operation", "change"), CHANGES, ids=range(len(CHANGES)))
def test_one_field_said_otherwise_is_the_one_finding(name: str, operation: str, change: Change) -> None:
    path = capture(name)
    behind = prepared_on(replay(path))
    mock = mock_of(path)
    schema = getattr(mock, "schema", LATEST)
    assert schema is not None
    twisting = mock.outbox = Twisting(schema, operation, change, behind=behind)
    replayed = replay(path, mocks={protocol_of(path): mock})
    assert twisting.is_done
    (finding,) = replayed.findings
    assert finding.verdict is Verdict.DIFFERENT
    assert finding.live[0].message == operation


# -- holes -------------------------------------------------------------------------------------------------------------


def part_of(path: Path, first: float, last: float) -> Replayed:
    """The replay of a part of a capture: from and to which share of its packets."""
    packets = list(read_packets([path]))
    recording = recording_of(packets[int(first * len(packets)) : int(last * len(packets))])
    known = manners()
    script = script_of(recording, known)
    spoken = {dialogue.protocol for dialogue in script.dialogues}
    mocks = {name: mock_for(name, known[name].mock_options(recording, MockOptions())) for name in spoken}
    player = Player(script, known, prepare=recording)
    Stage(player, mocks).play()
    return Replayed(recording, script, player.outcomes(), player)


@pytest.mark.parametrize("name", ["sdk_main", "pd_ranges", "rs_append", "rs_fetch", "mixed_noise"])
@pytest.mark.parametrize(("first", "last"), [(0, 0.5), (0, 0.8), (0.3, 1)])
def test_what_is_in_front_of_a_part_is_made_and_what_is_behind_it_is_unknown(
    name: str, first: float, last: float
) -> None:
    replayed = part_of(capture(name), first, last)
    assert not replayed.findings
    assert sum(counts(replayed)[verdict] for verdict in WELL) > 4


@needs_protocol("sbp-0.1")
def test_data_nodes_that_reported_before_a_part_have_reported() -> None:
    """Streams are made on them."""
    packets = list(read_packets([capture("pm_s2_seal")]))
    replayed = part_of(capture("pm_s2_seal"), 7 / len(packets), 1)
    made = [each for each in replayed.outcomes if each.live and each.live[0].message == "CREATE_STREAMS"]
    assert made
    assert not replayed.findings


@given(lost=st.integers(8, 100))
@settings(max_examples=12)
def test_a_lost_packet_makes_no_finding(lost: int) -> None:
    packets = list(read_packets([capture("sdk_main")]))
    del packets[lost % len(packets)]
    recording = recording_of(packets)
    known = manners()
    script = script_of(recording, known)
    player = Player(script, known, prepare=recording)
    Stage(player, {"sbp": mock_for("sbp", known["sbp"].mock_options(recording, MockOptions()))}).play()
    assert not [each for each in player.outcomes() if each.verdict.is_finding]


# -- recordings of our own mock ----------------------------------------------------------------------------------------


def told_by(mock: Mock, requests: list[SbpFrame], port: int) -> Recording:
    """What a client says to a mock and hears, each request once the one before is answered."""
    says: list[tuple[Side, bytes]] = []
    mock.opened(1, mock.doors[0].name, START_NS)
    for request in requests:
        data = encode_frame(request, "client")
        says.append(("client", data))
        for action in mock.received(1, data, START_NS):
            assert isinstance(action, Send)
            says.append(("server", action.data))
    return recording_of(tcp_packets(says, server=("10.0.0.2", port)))


def on_another(recording: Recording, name: str) -> Replayed:
    """The replay on a second mock that others have used."""
    known = manners()
    script = script_of(recording, known)
    mock = mock_for(name, known[name].mock_options(recording, MockOptions()))
    use(mock)
    player = Player(script, known, prepare=recording)
    Stage(player, {name: mock}).play()
    return Replayed(recording, script, player.outcomes(), player)


def batch_of(stream_id: int, base: int, count: int) -> bytes:
    meta = RecordBatchMeta(stream_id=stream_id, range_index=0, base_offset=base, last_offset_delta=count)
    return encode(AppendEntry(meta=meta, payload=b"records"))


def test_a_recording_of_one_mock_replays_on_another() -> None:
    mock = mock_for("sbp", MockOptions())
    place = tables.Range(stream_id=0, epoch=0, index=0, start=0, end=-1)
    servers = (tables.RangeServer(server_id=0, advertise_addr="127.0.0.1:10911"),)
    kept = msgspec.structs.replace(place, servers=servers, replica_count=1, ack_count=1)
    headers: list[tuple[int, Table, bytes]] = [
        (0x3001, tables.CreateStreamRequest(stream=tables.Stream(replica=1, ack_count=1)), b""),
        (0x2004, tables.CreateRangeRequest(range=place), b""),
        (0x2004, tables.CreateRangeRequest(range=kept), b""),
        (0x1001, tables.AppendRequest(), batch_of(0, 0, 4) + batch_of(0, 4, 3)),
        (0x1002, tables.FetchRequest(range=place, offset=0, limit=-1, max_wait_ms=-1), b""),
        (0x2002, tables.SealRangeRequest(kind=1, range=place), b""),
        (0x0004, tables.IdAllocationRequest(host="h"), b""),
        (0x3004, tables.DescribeStreamRequest(stream_id=0), b""),
        (0x3004, tables.DescribeStreamRequest(stream_id=3), b""),
    ]
    requests = [
        SbpFrame(opcode=opcode, stream_id=number, header=header, payload=payload)
        for number, (opcode, header, payload) in enumerate(headers, start=1)
    ]
    replayed = on_another(told_by(mock, requests, 10911), "sbp")
    assert len(replayed.outcomes) == len(requests)
    assert not replayed.findings
    assert counts(replayed).keys() <= WELL
    assert counts(replayed)[Verdict.MAPPED] >= 5


# -- servers that go away ----------------------------------------------------------------------------------------------

PING, PLACEMENT = 0x0001, ("10.0.0.2", 12378)


def ping(number: int, flags: int = 0) -> tuple[Side, bytes]:
    return "server" if flags == 3 else "client", encode_frame(
        SbpFrame(opcode=PING, stream_id=number, flags=flags), "client"
    )


def goaway() -> tuple[Side, bytes]:
    return "server", encode_frame(SbpFrame(opcode=0x0002, stream_id=0), "server")


@pytest.mark.parametrize(("flags", "is_stopped"), [(0, True), (1, False)])
def test_a_server_that_goes_away_from_a_silent_client_was_not_stopped(flags: int, is_stopped: bool) -> None:
    """What says that it is a response is no sign of life."""
    packets = tcp_packets([ping(1), ping(2, flags), goaway()], server=PLACEMENT, acks=False, end="")
    times_s = dict(zip((packet.number for packet in packets[-3:]), (0, 14, 15), strict=True))
    recording = recording_of(
        packet._replace(time_ns=packet.time_ns + times_s.get(packet.number, 0) * 1_000_000_000) for packet in packets
    )
    grounds = grounds_in(recording, "sbp", servers_in(recording, "sbp"))
    assert bool(grounds.stopped) is is_stopped


def test_only_a_goodbye_is_excused_where_the_recorded_server_died() -> None:
    """Another answer to what was not answered then is too much."""
    says = [ping(1), ping(1, 3), ping(2)]
    packets = tcp_packets(says, server=PLACEMENT, acks=False)
    end = [packet for packet in packets if packet.number > 6]
    recording = recording_of([*packets[:6], *end[1:]])  # the server ends it first
    plain = mutated(recording)
    assert not plain.findings
    assert Verdict.EXPLAINED in {outcome.verdict for outcome in plain.outcomes}
    assert mutated(recording, Spot("sbp", "PING", ("flags",)), 1).findings
