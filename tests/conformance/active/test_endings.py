"""Words for the end of a connection."""

import errno
import os

import pytest

from tests.conformance.active.test_case_run import EXPECTED
from wiretool.conformance.active.case_run import CaseRun
from wiretool.conformance.active.endings import end_words
from wiretool.conformance.case import Conformance, Verdict
from wiretool.net.calling.caller import Dial
from wiretool.protocols.pravega import PROTOCOL


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("", "the server closed the connection"),
        (os.strerror(errno.ECONNRESET), "the connection was reset by the server"),
        (os.strerror(errno.EPIPE), "the connection was reset by the server"),
        (os.strerror(errno.ETIMEDOUT), "the connection was lost: Connection timed out"),
    ],
)
def test_how_a_connection_ended(why: str, words: str) -> None:
    assert end_words(why) == words


@pytest.mark.parametrize("is_closed_first", [True, False])
def test_the_first_end_of_a_connection_is_the_reason(is_closed_first: bool) -> None:
    part = Conformance(protocol="pravega", server="pravega", cases=(EXPECTED,))
    run = CaseRun(EXPECTED, part, PROTOCOL, token="t", numbers=iter([1]), patience_ns=10**9)
    assert isinstance(run.start(0)[0], Dial)
    run.opened(1, 0)
    if is_closed_first:
        run.ended(1, "(connection closed)", 0)
    run.lost(1, os.strerror(errno.ECONNRESET), 0)
    assert run.result is not None
    assert run.result.verdict is Verdict.FAIL
    reason = "the server closed the connection" if is_closed_first else "the connection was reset by the server"
    assert run.result.why.startswith(f"{reason}; expected SegmentCreated")
