"""A target that accepts connections and never answers: notes while it is awaited, few connections, the true time."""

import re
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest

from tests.fuzz.helpers import session_of
from tests.helpers.examples import needs_protocol
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.levels import Verdict
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.results import CaseResult, Event
from wiretool.errors import OtherProtocol, PeerError
from wiretool.fuzz.protocol_check import check_protocol
from wiretool.fuzz.targets.first_reply import FirstReply
from wiretool.fuzz.targets.socket import open_target
from wiretool.net.addresses import LOOPBACK, Address

CASE = conformance_of("sbp").cases[0]


@contextmanager
def mute_server() -> Iterator[tuple[Address, list[socket.socket]]]:
    """Yield the address of a server that accepts connections and never answers, and its connections."""
    taken: list[socket.socket] = []
    with socket.create_server((LOOPBACK, 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    taken.append(server.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield Address(LOOPBACK, server.getsockname()[1]), taken
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for each in taken:
                each.close()


def test_a_mute_target_is_noted_at_once_and_ends_soon() -> None:
    """Before, cases of every protocol were run without a note, and the time was that of the last part."""
    notes: list[str] = []
    session, started_s = session_of("sbp"), time.monotonic()
    with mute_server() as (address, taken):
        with open_target(session, {"": address}, patience_s=0.2, jobs=4, on_notice=notes.append) as target:
            cases = [case for case in session.cases if target.has_case(case)]
            with pytest.raises(PeerError, match="answers no message in ") as caught:
                target.run_cases(cases[: target.cases_at_once])
        spent_s = time.monotonic() - started_s
        assert len(taken) < 30
    assert notes[0] == f"{address}: no reply to PING yet; sending conformance cases"
    assert re.fullmatch(rf"{address}: no reply in [0-9.]+ s; sending the greetings of other protocols", notes[1])
    assert len(notes) == 2
    named = re.search(r"in ([0-9.]+) s; it hangs", str(caught.value))
    assert named is not None
    assert spent_s - 1.0 < float(named[1]) <= spent_s + 0.1


@needs_protocol("offramp")
def test_only_protocols_whose_greeting_is_answered_are_tried() -> None:
    tried: list[str] = []

    def run(part: Conformance, cases: Sequence[Case]) -> list[CaseResult]:
        tried.append(part.protocol)
        return [CaseResult(case, Verdict.PASS) for case in cases]

    part = session_of("sbp").part
    with pytest.raises(OtherProtocol, match="server: the target does not use sbp; it seems to use offramp"):
        check_protocol(part, "server", run, greet=lambda other: other.protocol == "offramp")
    assert tried == ["offramp"]
    check_protocol(part, "server", run, greet=lambda other: False)
    assert tried == ["offramp"]


def test_a_reply_to_the_greeting_ends_the_wait() -> None:
    notes: list[str] = []
    first = FirstReply("server", notes.append)
    answer = Event(0, "1", "server", "PING", {"payload": ""})
    first.note_greeting(CaseResult(CASE, Verdict.PASS, events=(answer,)), "PING")
    first.note_others()
    assert first.has_come
    assert notes == []


def test_a_target_that_closes_the_connection_is_not_waited_for() -> None:
    notes: list[str] = []
    first = FirstReply("server", notes.append)
    first.note_greeting(CaseResult(CASE, Verdict.FAIL, difference="the server closed the connection"), "PING")
    first.note_others()
    assert notes == []


def test_a_wait_is_noted_once() -> None:
    notes: list[str] = []
    first = FirstReply("server", notes.append)
    for _ in range(2):
        first.note_greeting(CaseResult(CASE, Verdict.FAIL, difference="no reply came in time"), "")
    assert notes == ["server: no reply to the greeting yet; sending conformance cases"]
