"""Recordings of the mock replay on another mock of the batch style."""

from typing import Any

import pytest

from tests.protocols.sbp.replay.test_replay import WELL, on_another, told_by
from tests.replay.stage import Stage, counts
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.playing.player import Player
from wiretool.replay.script import script_of
from wiretool.server.mock import Action, Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for


@pytest.mark.parametrize("schema", ["S1", "S2"])
def test_a_recording_of_one_mock_of_the_batch_style_replays_on_another(schema: str) -> None:
    mock = mock_for("sbp-0.1", MockOptions(schema=schema))
    tables: Any = tables_s1 if schema == "S1" else tables_s2
    streams = {"stremas" if schema == "S1" else "streams": (tables.Stream(),)}
    wanted = tables.RangeId(stream_id=0, range_index=0)
    owner = {"range_owners": (tables_s1.RangeOwner(stream_id=0),)}
    listed = owner if schema == "S1" else {"range_criteria": (tables_s2.RangeCriteria(stream_id=0),)}
    headers = [
        (0x3001, tables.CreateStreamsRequest(**streams)),
        (0x3004, tables.DescribeStreamsRequest(stream_ids=(0,))),
        (0x2001, tables.ListRangesRequest(**listed)),
        (0x2002, tables.SealRangesRequest(ranges=(wanted,))),
        (0x3002, tables.DeleteStreamsRequest(streams=(tables.Stream(stream_id=0),))),
    ]
    requests = [SbpFrame(opcode=opcode, stream_id=at, header=header) for at, (opcode, header) in enumerate(headers, 1)]
    replayed = on_another(told_by(mock, requests, 10911), "sbp-0.1")
    assert not replayed.findings
    assert counts(replayed).keys() <= WELL
    assert counts(replayed)[Verdict.MAPPED] >= 4


@pytest.mark.parametrize("is_other", [False, True])
def test_an_end_that_comes_of_appends_which_nobody_recorded_is_explained(is_other: bool) -> None:
    """An end that the live server tells otherwise than from nothing is found."""
    made = SbpFrame(opcode=0x3001, stream_id=1, header=tables_s2.CreateStreamsRequest(streams=(tables_s2.Stream(),)))
    seal = tables_s2.SealRangesRequest(ranges=(tables_s2.RangeId(stream_id=0, range_index=0),))

    class Elsewhere(Sbp01Mock):
        """Data nodes to which others append as soon as there is a stream."""

        count = 90

        def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
            done = super().received(connection, data, now_ns)
            for ranges in [list(self.store.list_ranges(None, number)) for number in self.store.streams]:
                if ranges[0].end < 0 and not ranges[0].next:
                    self.store.append(ranges[0], b"x", self.count)
            return done

    recording = told_by(Elsewhere(schema="S2"), [made, SbpFrame(opcode=0x2002, stream_id=2, header=seal)], 12378)
    live: Mock = Elsewhere(schema="S2") if is_other else Sbp01Mock(schema="S2")
    if isinstance(live, Elsewhere):
        live.count = 7
    known = manners()
    player = Player(script_of(recording, known), known, prepare=recording)
    Stage(player, {"sbp-0.1": live}).play()
    outcomes = player.outcomes()
    assert any(each.verdict.is_finding for each in outcomes) is is_other
    assert is_other or any(each.verdict is Verdict.EXPLAINED for each in outcomes)
