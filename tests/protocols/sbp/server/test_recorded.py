"""The mock answers recorded clients as the real servers did: operation, flags, stream identifier and status codes.

`AS_RECORDED` speaks to two doors with `like_real`, `BY_DEFAULT` to the one door that a user gets.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import HERE, SHARED
from tests.protocols.sbp.server.before import prepare
from tests.protocols.sbp.server.recorded import (
    SECOND,
    Event,
    Player,
    Recording,
    answers_of,
    compare,
    name_of,
    read_recording,
    recordings_of,
)
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.codes import PD_NOT_LEADER
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.protocols.sbp.server.range_server import Replica
from wiretool.server.mock import Mock

#: Ports of the recorded servers, and which of them are one mock where both roles share a door.
PLACEMENT_DRIVERS = {12378: 0, 22378: 1, 32378: 2}
RANGE_SERVERS = {10911: 0, 10912: 1, 10913: 2, 10914: 3}
PORTS = frozenset(PLACEMENT_DRIVERS | RANGE_SERVERS)
MEBIBYTE = 1024 * 1024


#: The captures that the mock is held to; not all of them go with the project.
RECORDED = (
    *("mixed_noise", "sdk_main", "sdk_replica3"),
    *("pd_cluster", "pd_crash_format_2", "pd_crash_header_length_1", "pd_crash_no_header", "pd_errors", "pd_goaway"),
    *("pd_heartbeat", "pd_idle", "pd_large_mtu1500", "pd_malformed", "pd_metrics", "pd_no_available_rs"),
    *("pd_not_leader", "pd_ping", "pd_pipelined", "pd_probe_header_zeros", "pd_ranges", "pd_shutdown"),
    *("pd_stream_ids", "pd_streams", "pd_timeout"),
    *("rs_append", "rs_boot", "rs_close", "rs_errors", "rs_fetch", "rs_heartbeat", "rs_malformed", "rs_ping"),
    *("rs_pipelined", "rs_probe_neg_meta", "rs_probe_tail1", "rs_restart", "rs_seal", "rs_too_large"),
)


class Known(NamedTuple):
    """How often a mock differs, and why: answers missing, answers too many, connections that end otherwise."""

    missing: int
    extra: int
    ends: int
    why: str


class Way(NamedTuple):
    """How the mock is set up, and where it is known to differ."""

    name: str
    has_two_doors: bool
    known: Mapping[str, Known]


NO_TIMEOUT = "the mock answers at once, so no timeout_ms passes; a real driver then never answers, nor ever ends"
RACE = "which of two things that happened at once a real server saw first"
RESTART = "the server was started again on its data, which a mock is not"
ANSWERED = "a header that ends a real server's process, or silences it, is answered"
ONE_DOOR = "behind one door, what only one of the servers refuses is served by the other"

AS_RECORDED = Way(
    "as recorded",
    True,
    {
        "pd_malformed": Known(0, 1, 0, f"a request and FIN in one moment: {RACE}"),
        "pd_timeout": Known(1, 119, 2, NO_TIMEOUT),
        "rs_close": Known(0, 0, 2, f"FIN a moment after an answer: {RACE}; it never closed then"),
        "rs_malformed": Known(0, 0, 3, f"a good PING in front of the bad frame: {RACE}; it closed, or never did"),
        "rs_pipelined": Known(13, 13, 0, f"FETCH right behind the APPEND of what it asks for: {RACE}"),
        "rs_restart": Known(3, 4, 2, RESTART),
    },
)
BY_DEFAULT = Way(
    "by default",
    False,
    {
        "pd_crash_format_2": Known(0, 2, 1, ANSWERED),
        "pd_crash_header_length_1": Known(0, 2, 1, "a header length that is too long ends one connection, not all"),
        "pd_crash_no_header": Known(0, 2, 1, ANSWERED),
        "pd_errors": Known(3, 3, 0, ONE_DOOR),
        "pd_malformed": Known(0, 10, 1, f"{ANSWERED}; a length is judged as soon as it is there; once {RACE}"),
        "pd_timeout": Known(1, 119, 0, NO_TIMEOUT),
        "rs_append": Known(1, 0, 0, "a request with the response bit is dropped"),
        "rs_close": Known(0, 3, 3, "what was only pinged is taken for a placement driver: GOAWAY at 15 s"),
        "rs_errors": Known(35, 2, 0, "GOAWAY of a client that asked for neither server is answered, and the end"),
        "rs_heartbeat": Known(1, 1, 0, ONE_DOOR),
        "rs_malformed": Known(0, 26, 15, "GOAWAY and close behind a bad frame, where the range server falls silent"),
        "rs_ping": Known(1, 0, 0, "a request with the response bit is dropped"),
        "rs_pipelined": Known(66, 66, 0, "appends are durable at once, so none is pending and FETCH finds them"),
        "rs_probe_tail1": Known(0, 2, 0, ANSWERED),
        "rs_restart": Known(5, 6, 0, f"{RESTART}; GOAWAY with the last request instead of a flag, or as of a driver"),
        "rs_too_large": Known(0, 2, 0, "a FETCH is cut to what a frame carries"),
    },
)

#: Where a real server answered PINGs out of turn, which a mock never does: a driver, one routine for each request.
OUT_OF_TURN = ("pd_large_mtu1500",)
#: Options that the recorded server was started with.
OPTIONS: Mapping[str, Mapping[str, Any]] = {"pd_no_available_rs": {"server_silence_ns": 4 * SECOND}}
#: When somebody stopped the servers, counted from the first event.
STOPS_NS = {"pd_shutdown": 2_800_000, "rs_restart": 7_300_000}


def fill_range(mock: SbpMock) -> None:
    """More than a frame can carry in the range that is asked for."""
    server = mock.range_server
    replica = server.replicas[1, 0] = Replica(0, 0, 100)
    for number in range(5):
        server.keeper.put(replica.batches, number, bytes(4 * MEBIBYTE))


#: What a recorded range server had stored before.
STORED: Mapping[str, Callable[[SbpMock], None]] = {"rs_too_large": fill_range}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recorded" in metafunc.fixturenames:
        metafunc.parametrize("recorded", recordings_of(metafunc.config, "L", RECORDED))


@pytest.mark.parametrize("way", [AS_RECORDED, BY_DEFAULT], ids=["as recorded", "by default"])
def test_answers_of_the_capture(recorded: Path, way: Way) -> None:
    name = name_of(recorded)
    recording = read_recording(recorded, PORTS)
    if name in STOPS_NS:
        stop(recording, STOPS_NS[name])
    ours = Player(recording, Mocks(recording, name, way)).play()
    found = compare(LATEST, recording.sides, ours, lingers=way.has_two_doors)
    known = way.known.get(name, Known(0, 0, 0, "no difference is known"))
    told = f"{way.name}: {name}: {found}"
    print(told)
    if is_known(recorded):
        assert bool(found.pings) is (name in OUT_OF_TURN), told
        assert found.figures == known[:3], f"{told} ({known.why}): {found.missing}, {found.extra}, {found.ends}"
    else:
        assert found.same >= 0.95 * found.recorded, f"{told}: {found.missing}"


def is_known(path: Path) -> bool:
    """Whether a capture was there when the differences were listed."""
    return path.is_relative_to(HERE.parent) or path.is_relative_to(SHARED)


def stop(recording: Recording, after_ns: int) -> None:
    """Let somebody stop the first server."""
    first = recording.events[0]
    recording.events.append(Event(first.time_ns + after_ns, first.connection, "stop"))
    recording.events.sort(key=lambda event: event.time_ns)


class Mocks:
    """The mocks of a recording's servers: one for each, or one for two that may share a door."""

    def __init__(self, recording: Recording, name: str, way: Way) -> None:
        self._recording = recording
        self._name = name
        self._way = way
        self._made: dict[int, SbpMock] = {}

    def __call__(self, server: str) -> tuple[Mock, str]:
        port = int(server.rsplit(":", 1)[1])
        is_driver = port in PLACEMENT_DRIVERS
        key = port if self._way.has_two_doors else {**PLACEMENT_DRIVERS, **RANGE_SERVERS}[port]
        if key not in self._made:
            self._made[key] = self._new(key)
        return self._made[key], "placement-driver" if is_driver and self._way.has_two_doors else "sbp"

    def _new(self, key: int) -> SbpMock:
        mine = {number: side for number, side in self._recording.sides.items() if self._is_driver(side.server, key)}
        mock = SbpMock(
            has_two_doors=self._way.has_two_doors,
            like_real=self._way.has_two_doors,
            servers={} if self._way.has_two_doors else None,
            is_leader=all(answer.code != PD_NOT_LEADER for answer in answers_of(LATEST, mine)),
            **OPTIONS.get(self._name, {}),
        )
        prepare(mock.placement, self._recording, mine)
        if self._name in STORED:
            STORED[self._name](mock)
        return mock

    def _is_driver(self, server: str, key: int) -> bool:
        """Whether a recorded server is the placement driver of the mock with this key."""
        port = int(server.rsplit(":", 1)[1])
        return port in PLACEMENT_DRIVERS and key in (port, PLACEMENT_DRIVERS[port])
