"""Recorded conversations of the Streaming Batch Protocol are spoken again to a mock: nothing differs, or it is found."""

from collections import Counter
from collections.abc import Callable, Iterator
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
from wiretool.protocols.sbp_0_1 import tables_s2
from wiretool.protocols.sbp_0_1.messages import S2
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
    for stream_id in range(12):
        mock.range_server.create_range(
            tables.CreateRangeRequest(range=tables.Range(stream_id=stream_id, index=0, start=17)), 0
        )


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_server_that_others_have_used_will_do(path: Path) -> None:
    mock = mock_of(path)
    use(mock)
    assert not replay(path, mocks={protocol_of(path): mock}).findings


@pytest.mark.parametrize("name", ["sdk_main", "pd_ranges", "rs_fetch", "pm_s2_batch"])
def test_numbers_that_others_have_are_exchanged(name: str) -> None:
    if not any(path.name == f"{name}.pcap" for path in captures()):
        pytest.skip(f"the capture {name} is not here")
    path = capture(name)
    mock = mock_of(path)
    use(mock)
    replayed = replay(path, mocks={protocol_of(path): mock})
    assert not replayed.findings
    streams = {live for (kind, _), found in replayed.player.values._live.items() if kind == "stream" for live in found.values()}
    assert streams
    assert min(streams) >= 7
