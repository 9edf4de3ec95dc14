"""Where the mock once differed from a real Pravega 0.13.0: each scenario runs against the mock, and the real one.

The real server needs Maven, root and `ip` (see real_pravega/); where one is missing, or in CI, its half is skipped.
"""

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.interop.pravega_server import ELSEWHERE, HAS_WHEEL, IS_CI, pravega_server
from tests.interop.processes import report_of
from tests.interop.real_pravega import missing, real_pravega
from tests.interop.test_pravega_java import driver

__all__ = ["driver"]

#: A real controller looks at what writers have noted every ten seconds.
WINDOW_ROUNDS = 40
LEASE_MS, LATE_MS = 10_000, 12_000
#: Lists that a real controller gives out now and then, and now and then empty.
VARYING = {"sealed.listCompletedTransactions", "sealed.listStreamsInScopeForTag"}
REAL_ANSWERS = Path(__file__).parents[1] / "protocols" / "pravega_controller" / "server" / "real_answers.json"

needs_maven = pytest.mark.skipif(
    shutil.which("mvn") is None and not IS_CI, reason="Maven is not installed: Pravega's Java client was left out"
)
needs_wheel = pytest.mark.skipif(
    importlib.util.find_spec("pravega_client") is None and not (IS_CI and HAS_WHEEL),
    reason="the PyPI client `pravega` is not installed (there are wheels for Linux on x86_64 and Python 3.11 at most)",
)


@dataclass(frozen=True, slots=True)
class Reachable:
    """A server, and the words before a command that reach it."""

    controller: str
    enter: tuple[str, ...] = ()
    is_real: bool = False


@pytest.fixture(scope="module", params=["mock", "real"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reachable]:
    """The mock, then a real server."""
    if ELSEWHERE:
        assert not IS_CI, "in CI every server is one of our own"
        pytest.skip(f"the scenarios run against the server at {ELSEWHERE}, in the other files")
    if request.param == "mock":
        with pravega_server(tmp_path_factory.mktemp("server")) as mock:
            yield Reachable(mock.controller)
        return
    lacking = "the choice of CI not to download it" if IS_CI else missing()
    if lacking:
        pytest.skip(f"the real Pravega server was left out, for want of {lacking}")
    with real_pravega() as real:
        yield Reachable(real.controller, real.enter, is_real=True)


def java(driver: list[str], name: str, server: Reachable, scope: str, **options: object) -> dict[str, Any]:
    """Return the report of a scenario of the Java client."""
    words = [f"{key}={value}" for key, value in {"scope": scope, **options}.items()]
    return report_of([*server.enter, *driver, name, f"tcp://{server.controller}", *words])


def python(name: str, server: Reachable, **options: Any) -> dict[str, Any]:
    """Return the report of a scenario of the Python client."""
    words = [sys.executable, "-m", "tests.interop.pravega_python", name, f"tcp://{server.controller}"]
    return report_of([*server.enter, *words, json.dumps(options)])


@needs_maven
def test_a_sealed_stream_has_no_current_segments(driver: list[str], either: Reachable, scope: str) -> None:
    assert java(driver, "sealed_stream", either, scope) == {
        "sealed": True,
        "current": 0,
        "is_sealed": True,
        "write_later": "IllegalStateException",
    }


@needs_maven
def test_a_stream_is_truncated_beyond_its_end(driver: list[str], either: Reachable, scope: str) -> None:
    assert java(driver, "truncated_beyond", either, scope) == {"truncated": True, "head": [1_000_000]}


@needs_maven
def test_a_transaction_is_aborted_when_its_lease_is_over(driver: list[str], either: Reachable, scope: str) -> None:
    report = java(driver, "expired", either, scope)
    assert LEASE_MS - 1000 < report.pop("open_ms") < LATE_MS
    assert report == {"status": "ABORTED", "commit": "TxnFailedException"}


@needs_maven
def test_writers_that_note_times_give_readers_a_window(driver: list[str], either: Reachable, scope: str) -> None:
    report = java(driver, "windows", either, scope, rounds=WINDOW_ROUNDS)
    assert report["rounds"] < WINDOW_ROUNDS
    assert report["lower"][0] % 1000 == 0
    assert 1000 <= report["lower"][0] <= 1000 * report["rounds"]


@needs_wheel
def test_the_scope_of_the_controller_is_not_first_and_has_streams(either: Reachable, scope: str) -> None:
    report = python("system", either, scope=scope)
    assert report["scopes"][0] != "_system"
    assert "_system" in report["scopes"]
    assert {"_requeststream", "_commitStream", "_abortStream", "_kvTableStream"} <= set(report["streams"])
    assert {f"_MARK{name}" for name in report["streams"] if not name.startswith("_MARK")} <= set(report["streams"])
    assert report["cut"] == {"0": 0}


@needs_wheel
def test_a_reader_from_the_tail_gets_two_events_together(either: Reachable, scope: str) -> None:
    counts = python("tail_pair", either, scope=scope, rounds=5)["counts"]
    # On a busy machine the second event may come late.
    assert set(counts) <= {1, 2}
    assert counts.count(2) >= (2 if either.is_real else 3)


@needs_wheel
def test_aborting_what_was_not_flushed_seldom_breaks_the_client(either: Reachable, scope: str) -> None:
    # A round takes the real one up to a second on a busy machine; every other round is an abort.
    rounds, panics_max = (60, 15) if either.is_real else (600, 30)
    assert python("unflushed", either, scope=scope, rounds=rounds)["panics"] <= panics_max


@needs_wheel
def test_a_segment_that_is_truncated_does_not_move_the_head_of_its_stream(either: Reachable, scope: str) -> None:
    assert python("truncated_beneath", either, scope=scope) == {"cut": {"0": 0}, "read": []}


@needs_wheel
def test_a_transaction_has_an_end_when_its_stream_is_deleted(either: Reachable, scope: str) -> None:
    assert python("deleted_stream", either, scope=scope) == {"sealed": True, "deleted": True, "open": False}


@needs_wheel
def test_tags_are_a_set(either: Reachable, scope: str) -> None:
    assert python("tags", either, scope=scope) == {"tags": ["a", "b", "t10"]}


@pytest.mark.parametrize("either", ["real"], indirect=True)  # the mock: tests/protocols/pravega_controller
def test_the_controller_answers_as_recorded(either: Reachable, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.interop.controller_calls", either.controller, str(tmp_path / "answers.json")]
    report_of([*either.enter, *words])
    answers, recorded = (json.loads(path.read_text()) for path in (tmp_path / "answers.json", REAL_ANSWERS))
    assert answers.keys() == recorded.keys()
    assert {name for name in answers if answers[name] != recorded[name]} <= VARYING
