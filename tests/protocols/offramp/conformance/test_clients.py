"""Requirements on clients: each is kept by a plain consumer, and each finds a consumer that breaks it."""

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from wiretool.capture.files.reading import read_packets
from wiretool.conformance.clients.run import ClientOptions, run_client_cases
from wiretool.conformance.levels import Verdict
from wiretool.protocols.offramp.conformance import CONFORMANCE
from wiretool.replay.recording import recording_of

CLIENT = Path(__file__).parents[3] / "conformance" / "clients" / "offramp_client.py"
TIMEOUT_S = 60.0
#: Only for the client that never ends.
SHORT_S = 12.0
#: A misbehaviour of the client, and the cases that must find it.
BREAKS: Mapping[str, tuple[str, ...]] = {
    "short-key": ("handshake/1",),
    "bad-offset": ("handshake/2",),
    "early": ("handshake/3",),
    "unmasked": ("frame/1",),
    "one-mask": ("frame/2",),
    "bad-utf8": ("frame/3",),
    "long-commit": ("frame/4",),
    "single-quotes": ("event/1",),
    "server-event": ("event/2",),
    "type-last": ("event/3",),
    "request-zero": ("request/1",),
    "one-id": ("commit/1",),
    "commit-ahead": ("commit/2",),
    "commit-back": ("commit/3",),
    "close-code": ("close/1",),
    "after-close": ("close/2",),
    "no-close": ("close/3",),
    "exit-code": ("end/1", "late-messages/1", "late-rebalance/1"),
    "other-pong": ("ping/1",),
    "no-duplicates": ("doubled-message/1",),
    "no-retry": (
        "reset/1",
        "reset/2",
        "cut/1",
        "cut/2",
        "server-stops/1",
        "server-stops/2",
        "server-fails/1",
        "server-fails/2",
    ),
    "no-close-reply": ("server-stops/3", "server-fails/3"),
    "talks-after-close": ("server-stops/4", "server-fails/4"),
    "waits-for-ever": ("closed-at-once/1",),
    "storm": ("no-upgrade/1", "unknown-road/2"),
    "hides-refusal": ("unknown-road/1",),
    "error-ends": ("error-event/1",),
    "hides-failed-commits": ("failed-commits/1",),
}


def verdicts(misbehaviour: str, names: tuple[str, ...] = ()) -> dict[str, tuple[Verdict, str]]:
    """Run the client in the scenarios of some cases, all where none are named."""
    ids = {f"offramp/client/{name}" for name in names}
    cases = [case for case in CONFORMANCE.client_cases if not ids or case.id in ids]
    assert not ids or len(cases) == len(ids)
    options = ClientOptions(
        [sys.executable, str(CLIENT), "{address}", misbehaviour],
        timeout_s=SHORT_S if misbehaviour == "waits-for-ever" else TIMEOUT_S,
        read=lambda path: recording_of(read_packets([path])),
    )
    results = run_client_cases(CONFORMANCE, cases, options).results
    return {result.case.id.removeprefix("offramp/client/"): (result.verdict, result.why) for result in results}


@cache
def of_the_good_client() -> Mapping[str, tuple[Verdict, str]]:
    return verdicts("")


def test_the_good_client_keeps_every_requirement() -> None:
    others = {name: verdict for name, (verdict, _) in of_the_good_client().items() if verdict is not Verdict.PASS}
    assert others == {"unknown-road/2": Verdict.NOT_EXERCISED}  # it gives up, so it repeats no handshake


def test_there_are_enough_and_each_has_a_client_that_breaks_it() -> None:
    assert len(CONFORMANCE.client_cases) >= 20
    broken = {f"offramp/client/{name}" for names in BREAKS.values() for name in names}
    assert {case.id for case in CONFORMANCE.client_cases} == broken


@pytest.mark.parametrize("misbehaviour", BREAKS)
def test_a_client_that_breaks_a_requirement_is_found(misbehaviour: str) -> None:
    found = verdicts(misbehaviour, BREAKS[misbehaviour])
    assert {name: why for name, (verdict, why) in found.items() if verdict is not Verdict.FAIL} == {}
