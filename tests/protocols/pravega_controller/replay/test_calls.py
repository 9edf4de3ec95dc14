"""Calls to Pravega's controller are made again, beside what clients said to its store."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HERE
from tests.replay.controllers import Change, LyingController, with_a_past
from tests.replay.stage import Replayed, replay
from wiretool.analysis.dialogues import Told
from wiretool.capture.files.reading import read_packets
from wiretool.protocols.pravega.messages import SetupAppend
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.recording import recording_of
from wiretool.replay.script import Say, script_of
from wiretool.server.mock import Action, Send
from wiretool.server.options import MockOptions

CAPTURES = HERE.parent / "captures" / "pravega"
CONTROLLER = "pravega-controller"


def told(replayed: Replayed) -> list[str]:
    """The findings, as a person would want to read them in a failing test."""
    return [
        f"{found.verdict.name} {found.request and found.request.message} {found.differences[:3]} {found.reasons}"
        for found in replayed.findings
    ]


def version_of(name: str) -> int:
    """The wire version that the recorded store shows."""
    options = manners()["pravega"].mock_options(recording_of(read_packets([CAPTURES / name])), MockOptions())
    return options.wire_version or 16


def test_every_call_is_made_and_judged() -> None:
    outcomes = [each for each in replay(CAPTURES / "txn.pcap").outcomes if each.dialogue.protocol == CONTROLLER]
    assert len(outcomes) == 27
    assert all(len(each.live) == len(each.recorded) == 1 for each in outcomes)


class Echo(PravegaMock):
    """Says whatever it hears."""

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        return [Send(connection, data)]


def test_an_echo_answers_no_call() -> None:
    outcomes = replay(CAPTURES / "mgmt.pcap", mocks={"pravega": Echo(wire_version=17)}).outcomes
    asked = [each for each in outcomes if each.request and each.dialogue.protocol == CONTROLLER]
    assert len(asked) == 48
    for each in asked:
        assert each.verdict is Verdict.DIFFERENT
        assert [live.message for live in each.live] == ["Headers"]
        assert any(reason.startswith("no_status: ") for reason in each.reasons)


# -- values that controllers make up -----------------------------------------------------------------------------------


def test_transactions_have_ids_of_their_own_in_calls_and_in_names_of_segments() -> None:
    replayed = replay(CAPTURES / "txn.pcap", mocks={"pravega": (mock := with_a_past(wire_version=17))})
    assert told(replayed) == []
    mapped = {each.request.message for each in replayed.outcomes if each.request and each.verdict is Verdict.MAPPED}
    assert {"createTransaction", "getSegments", "getEpochSegments", "SetupAppend"} <= mapped
    recorded = [each for each in replayed.outcomes if each.request and isinstance(each.request.fields, SetupAppend)]
    assert any("0.#epoch.0#transaction.000000002cd109e7" in str(each.request) for each in recorded)
    assert any("sc/st/5.#epoch.0#transaction.0000000000000000000000000000000" in str(each.live) for each in recorded)
    assert mock.controller.scopes.stream("sc", "st").active.segments[0].number == 5


@pytest.mark.parametrize("name", ["write.pcap", "read.pcap", "txn.pcap", "reconnect.pcap"])
def test_a_stream_whose_segments_have_other_numbers_will_do(name: str) -> None:
    assert told(replay(CAPTURES / name, mocks={"pravega": with_a_past(wire_version=version_of(name))})) == []


def test_a_token_that_the_controller_gives_out_is_the_one_that_is_shown_to_the_store() -> None:
    manner = manners()
    for each in manner.values():
        each.identity = each.identity.__class__(headers=(("Authorization", "Basic YWRtaW46cHc="),))
    mock = PravegaMock(wire_version=version_of("java_conditional.pcap"), auth=("admin", "pw"))
    assert told(replay(CAPTURES / "java_conditional.pcap", mocks={"pravega": mock}, every=manner)) == []


def test_without_the_proof_that_is_asked_for_calls_fail() -> None:
    mock = PravegaMock(wire_version=version_of("java_conditional.pcap"), auth=("admin", "pw"))
    found = replay(CAPTURES / "java_conditional.pcap", mocks={"pravega": mock}).findings
    assert "UNAUTHENTICATED" in str([each.live for each in found])


# -- what is wrong is found --------------------------------------------------------------------------------------------


def set_to(**fields: Any) -> Change:
    def change(answer: Any) -> None:
        for name, value in fields.items():
            setattr(answer, name, value)

    return change


def set_all(names: Any, others: list[str]) -> None:
    names[:] = others


LIES: list[tuple[str, str, int, Change | None, tuple[Any, ...]]] = [
    ("mgmt.pcap", "createStream", 3, set_to(status=1), ("status",)),
    ("mgmt.pcap", "createScope", 2, set_to(status=0), ("status",)),
    ("mgmt.pcap", "deleteScope", 0, set_to(status=0), ("status",)),
    ("mgmt.pcap", "getStreamConfiguration", 0, lambda said: said.tags.tag.append("x"), ("tags", "tag")),
    ("mgmt.pcap", "getStreamConfiguration", 1, set_to(rolloverSizeBytes=1), ("rolloverSizeBytes",)),
    ("mgmt.pcap", "listStreamsInScope", 0, lambda said: said.streams.pop(0), ("streams",)),
    ("mgmt.pcap", "listStreamsInScope", 0, set_to(status=1), ("status",)),
    ("mgmt.pcap", "listScopes", 0, lambda said: said.scopes.remove("sc"), ("scopes", 0)),
    ("mgmt.pcap", "listScopes", 0, lambda said: said.scopes.append("_system"), ("scopes",)),
    ("mgmt.pcap", "listScopes", 0, lambda said: set_all(said.scopes, ["sc", "sc"]), ("scopes",)),
    ("mgmt.pcap", "listStreamsInScope", 0, lambda said: set_to(scope="x")(said.streams[3]), ("streams",)),
    ("mgmt.pcap", "listStreamsInScope", 1, lambda said: said.streams.add(scope="sc", stream="s0"), ("streams",)),
    ("java_mtu1500.pcap.gz", "getDelegationToken", 0, set_to(delegationToken="00"), ("delegationToken",)),
    ("txn.pcap", "checkTransactionState", 2, set_to(state=5), ("state",)),
    ("txn.pcap", "commitTransaction", 1, set_to(status=1), ("status",)),
    ("txn.pcap", "createTransaction", 1, lambda said: said.activeSegments.pop(), ("activeSegments",)),
    ("txn.pcap", "createTransaction", 0, lambda said: set_to(minKey=0.25)(said.activeSegments[0]), ()),
    ("txn.pcap", "getEpochSegments", 0, lambda said: set_to(segmentId=7)(said.segmentRanges[1].segmentId), ()),
    ("read.pcap", "getSegments", 0, lambda said: set_to(offset=1)(said.segments[0]), ("segments", 0, "offset")),
    ("java_scale.pcap.gz", "checkScale", 1, set_to(status=2), ("status",)),
    ("java_scale.pcap.gz", "getSegmentsImmediatelyFollowing", 1, lambda said: said.segments[0].value.append(9), ()),
    ("java_large.pcap.gz", "createReaderGroup", 0, lambda said: set_to(generation=3)(said.config), ()),
    ("read.pcap", "getURI", 2, None, ()),
]


@pytest.mark.parametrize(
    ("name", "method", "skip", "change", "steps"), LIES, ids=[f"{lie[0]}-{lie[1]}-{lie[2]}" for lie in LIES]
)
def test_one_thing_said_otherwise_is_found_there(
    name: str, method: str, skip: int, change: Change | None, steps: tuple[Any, ...]
) -> None:
    mock = LyingController(method, change, skip=skip, wire_version=version_of(name))
    found = replay(CAPTURES / name, mocks={"pravega": mock}).findings
    assert mock.has_lied
    first = next(each for each in found if each.request is not None and each.request.message == method)
    assert first.verdict is Verdict.DIFFERENT
    assert not steps or first.differences[0].steps == steps


# -- what a controller does --------------------------------------------------------------------------------------------


class Hearing(PravegaMock):
    """Keeps what it hears."""

    def __init__(self) -> None:
        super().__init__(wire_version=17)
        self.heard: dict[int, bytes] = {}

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        self.heard[connection] = self.heard.get(connection, b"") + data
        return super().received(connection, data, now_ns)


def test_the_client_heeds_what_the_server_says_of_http_2_itself() -> None:
    """Settings are acknowledged (RFC 9113 §6.5.3), or windows would stay as they were for ever."""
    mock = Hearing()
    assert told(replay(CAPTURES / "mgmt.pcap", mocks={"pravega": mock})) == []
    acknowledged = b"\0\0\0\x04\x01\0\0\0\0"
    assert mock.heard
    assert all(acknowledged in heard for heard in mock.heard.values())


def test_the_recorded_controller_does_not_speak_to_the_store_again() -> None:
    script = script_of(recording_of(read_packets([CAPTURES / "java_scale.pcap.gz"])), manners())
    assert ["own connection" in each.why for each in script.left_out] == [True]
    assert not any(step.record.message == "SealSegment" for step in script.steps if isinstance(step, Say))


def test_it_is_asked_to_scale_when_the_recorded_one_did_and_not_before() -> None:
    recording = recording_of(read_packets([CAPTURES / "java_scale.pcap.gz"]))
    steps = script_of(recording, manners()).steps
    said = [step.record.message for step in steps if isinstance(step, Say)]
    in_time = [event.record.message for event in recording.events if isinstance(event, Told)]
    assert said.index("scale") - said.index("getCurrentSegments") > 0
    first, last = in_time.index("scale"), len(in_time)
    assert in_time[first:last].count("AppendBlockEnd") > 100
    appends_before = [at for at, message in enumerate(said[: said.index("scale")]) if message == "AppendBlockEnd"]
    assert len(appends_before) > in_time[:first].count("AppendBlockEnd")


def test_without_calls_what_the_controller_did_is_done_in_its_place(tmp_path: Path) -> None:
    every = {name: manner for name, manner in manners().items() if name != CONTROLLER}
    replayed = replay(CAPTURES / "txn.pcap", every=every)
    assert told(replayed) == []
    assert [each.why for each in replayed.script.left_out] == [f"{CONTROLLER} is not replayed"]
