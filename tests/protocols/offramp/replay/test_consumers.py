"""Recordings of several consumers of one stream: rebalances come at other times than they were recorded."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.replay.stage import check_no_finding, replay
from wiretool.capture.files.reading import read_packets
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.recording import recording_of
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

RECORDINGS = sorted((Path(__file__).parents[3] / "replay" / "recordings").glob("offramp_*_consumers.pcapng.gz"))


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) == 2


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_consumers_that_come_and_go_replay_without_a_finding(path: Path) -> None:
    check_no_finding(replay(path))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_a_message_that_the_road_lost_is_found(path: Path) -> None:
    """No consumer received it, and those that follow have other offsets."""
    options = manners()["offramp"].mock_options(recording_of(read_packets([path])), MockOptions())
    lost = next(at for at, message in enumerate(options.feed) if message.payload["id"] == 40)
    feed = [*options.feed[:lost], *options.feed[lost + 1 :]]
    findings = replay(path, mocks={"offramp": mock_for("offramp", replace(options, feed=feed))}).findings
    assert {finding.verdict for finding in findings} & {Verdict.MISSING, Verdict.DIFFERENT}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_a_message_of_another_content_is_found(path: Path) -> None:
    options = manners()["offramp"].mock_options(recording_of(read_packets([path])), MockOptions())
    feed = [
        msgspec.structs.replace(message, payload={**message.payload, "place": "elsewhere"})
        if message.payload["id"] == 40
        else message
        for message in options.feed
    ]
    findings = replay(path, mocks={"offramp": mock_for("offramp", replace(options, feed=feed))}).findings
    assert findings
