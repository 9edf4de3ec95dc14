"""Short connections that begin and end in one table are not fed segment by segment, and no flow of them is made."""

from io import BytesIO
from typing import Any

import numpy as np
import pytest

from tests.dissect.columns.engines import table_packets
from tests.dissect.columns.made import Spoken, packets_made
from tests.helpers.captures import pcap_bytes
from tests.helpers.plain_segments import ends_of
from wiretool.capture.columns.new_connections import NewConnections
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.columns.streams import BulkStreams, Fed, Pause
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp import reassembler as capture_streams
from wiretool.capture.tcp.direction import Flow
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.stream_events import End

COUNT = 20
RAW = pcap_bytes(packets_made([Spoken("pravega")] * COUNT, frozenset(), seed=1, frames=8))


def parts_of(is_known: bool, pause: int = 0) -> list[object]:
    """Return what the streams of the capture give, where each first payload is known or none is."""
    recent = RecentRuns()
    streams = BulkStreams(LentStreams((12345,), recent), recent, lambda *_: is_known)
    parts: list[object] = []
    for table in read_segment_tables(read_packet_tables([BytesIO(RAW)])):
        if pause:
            streams.pause = pause
        parts += streams.read(table)
    return parts


def test_known_connections_come_together_with_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Flow] = []

    def make(*args: Any) -> Flow:
        made.append(Flow(*args))
        return made[-1]

    monkeypatch.setattr(capture_streams, "Flow", make)
    (whole,) = parts_of(is_known=True)
    assert isinstance(whole, NewConnections)
    assert {each.id for each in whole.plain.connections} == set(range(COUNT))
    assert {each.closed for each in whole.plain.connections} == {"fin"}
    ends = whole.segments(np.ones(COUNT, np.bool_)).ends
    assert all(isinstance(end, End) and end.how == "fin" for end in ends)
    assert sorted((end.connection.id, end.side) for end in ends) == [
        (number, side) for number in range(COUNT) for side in ("client", "server")
    ]
    assert not made


def test_some_of_the_connections_have_their_own_segments_and_ends() -> None:
    (whole,) = parts_of(is_known=True)
    assert isinstance(whole, NewConnections)
    wanted = np.arange(COUNT) % 3 == 1
    some = whole.segments(wanted)
    assert list(some.connections) == [whole.plain.connections[index] for index in np.flatnonzero(wanted).tolist()]
    every = {each.id: whole.plain.run(index) for index, each in enumerate(whole.plain.connections)}
    for index, connection in enumerate(some.connections):
        run, same = some.run(index), every[connection.id]
        assert run.client.rows.tolist() == same.client.rows.tolist()
        assert run.server.rows.tolist() == same.server.rows.tolist()
    assert {end.connection for end in some.ends} == set(some.connections)


def test_connections_that_go_on_after_a_pause_have_flows() -> None:
    parts = parts_of(is_known=True, pause=60)
    assert not [part for part in parts if isinstance(part, Fed)]
    assert len([part for part in parts if isinstance(part, Pause)]) == 1
    plain = [part for part in parts if isinstance(part, PlainSegments)]
    new = [part for part in parts if isinstance(part, NewConnections)]
    assert len(new) == 2
    went_on = {each for each, goes_on in zip(new[0].plain.connections, new[0].goes_on.tolist(), strict=True) if goes_on}
    ended = {end.connection for part in plain for end in ends_of(part)}
    assert went_on
    assert went_on <= ended  # some of these had only their handshakes before the pause
    assert {each.id for part in new for each in part.plain.connections} | {each.id for each in ended} == set(
        range(COUNT)
    )
    assert not new[1].goes_on.any()


def test_connections_of_several_tables_are_not_whole() -> None:
    with table_packets(7):
        assert not [part for part in parts_of(is_known=True) if isinstance(part, NewConnections)]


def test_unknown_connections_are_fed() -> None:
    assert not [part for part in parts_of(is_known=False) if isinstance(part, PlainSegments | NewConnections)]
