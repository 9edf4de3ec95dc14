"""Assertions on recordings: evidence passes, findings and empty recordings fail with the report of the command."""

import gc
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.testing.hello import exchange_hello
from wiretool.errors import CaptureError, PeerError, UsageError
from wiretool.testing import MockServer, assert_conforms, assert_replays
from wiretool.testing.marks import ServerSettings, rules_from
from wiretool.testing.start import start_mock

pytestmark = needs_protocol("pravega", "offramp")
CAPTURES = Path(__file__).parents[2] / "captures"


def test_recorded_traffic_conforms(pravega_server: MockServer) -> None:
    exchange_hello(pravega_server)
    assert_conforms(pravega_server)
    assert_conforms(str(pravega_server.recording), protocol="pravega", cases=["pravega/traffic/client/*"])


@pytest.mark.parametrize("cases", [["*/client/*"], ["pravega/traffic/client/*"]])
def test_cases_of_one_protocol_are_selected_in_a_recording_of_two(cases: list[str]) -> None:
    assert_conforms(CAPTURES / "pravega" / "txn.pcap", cases=cases)
    with pytest.raises(UsageError, match="--case pravega/nothing: no case has such an id"):
        assert_conforms(CAPTURES / "pravega" / "txn.pcap", cases=["pravega/nothing"])


def test_a_replay_without_exchanges_is_a_failed_assertion(pravega_server: MockServer) -> None:
    with pytest.raises(AssertionError, match="nothing"):
        assert_replays(pravega_server.recording, pravega_server)


def test_a_recording_without_messages_is_no_evidence(pravega_server: MockServer) -> None:
    with pytest.raises(AssertionError, match="no message of a known protocol; expected traffic to judge"):
        assert_conforms(pravega_server.recording)
    exchange_hello(pravega_server)
    with pytest.raises(AssertionError, match="no message of offramp"):
        assert_conforms(pravega_server.recording, protocol="offramp")


@pytest.mark.wiretool(fault='message == "Hello" and side == "server": wrong length')
def test_a_finding_fails_with_the_report(pravega_server: MockServer) -> None:
    exchange_hello(pravega_server)
    with pytest.raises(AssertionError, match=r"(?s)fail +pravega/traffic/server/.*requirement: .*pravega on "):
        assert_conforms(pravega_server)
    assert_conforms(pravega_server, cases=["pravega/traffic/client/*"])


def test_replies_are_compared(pravega_server: MockServer, tmp_path: Path) -> None:
    exchange_hello(pravega_server)
    threshold = gc.get_threshold()
    assert_replays(pravega_server, pravega_server)
    assert_replays(pravega_server.recording, pravega_server.address)
    assert gc.get_threshold() == threshold
    rules = rules_from('message == "Hello" and side == "server": set high_version=9', ["pravega"])
    other = start_mock("pravega", ServerSettings(rules), tmp_path / "other.pcapng")
    with pytest.raises(AssertionError, match="high_version"):
        assert_replays(pravega_server, other)
    other.stop()
    with pytest.raises(PeerError, match=str(other.address)):
        assert_replays(pravega_server, other)


def test_bad_input(pravega_server: MockServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.pcapng: no such file; expected a recording"):
        assert_conforms(tmp_path / "missing.pcapng")
    text = tmp_path / "text.pcapng"
    text.write_text("text")
    for check in (assert_conforms, lambda path: assert_replays(path, pravega_server)):
        with pytest.raises(CaptureError, match=r"text\.pcapng: "):
            check(text)
    with pytest.raises(UsageError, match=r"--target 'nowhere'"):
        assert_replays(CAPTURES / "pravega" / "write.pcap", "nowhere")
    with pytest.raises(UsageError, match=r"192\.0\.2\.1:1: another machine"):
        assert_replays(CAPTURES / "pravega" / "write.pcap", "192.0.2.1:1")
