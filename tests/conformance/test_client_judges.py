"""What judges of client runs take as evidence."""

from collections.abc import Callable
from typing import Any

import pytest

from wiretool.codec.message import Side
from wiretool.conformance.clients.case import PLAIN, ClientRun, ends_well, reports_failure
from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.protocols.sbp.conformance.client_judges import answers_pings
from wiretool.protocols.sbp.messages import RESPONSE, RESPONSE_END


def _run(*messages: Observed, exit_code: int | None = 0) -> ClientRun:
    connection = ObservedConnection(1, "client", "server", "sbp", is_whole=True, has_server=True, opened_ns=0)
    connection.items.extend(messages)
    return ClientRun(PLAIN, [connection], exit_code, 1.0, "")


def _problems(judge: Callable[[ClientRun], Any], run: ClientRun) -> list[str]:
    return [observation.problem for observation in judge(run)]


def _ping(n: int, side: Side) -> Observed:
    flags = 0 if side == "server" else RESPONSE | RESPONSE_END
    fields = {"stream_id": 7, "header": "", "payload": "", "flags": flags}
    return Observed(n, n, side, "PING", fields, (), None, b"")


@pytest.mark.parametrize(("exit_code", "is_report"), [(1, True), (0, False), (-9, False), (None, False)])
def test_only_an_exit_code_above_0_reports_a_failure(exit_code: int | None, is_report: bool) -> None:
    (problem,) = _problems(reports_failure, _run(exit_code=exit_code))
    assert (problem == "") is is_report


def test_a_signal_that_ended_the_client_is_named() -> None:
    assert _problems(ends_well, _run(exit_code=-9)) == ["the client was ended by SIGKILL: no output"]


def test_each_ping_has_an_answer_of_its_own() -> None:
    both = _run(_ping(1, "server"), _ping(2, "client"), _ping(3, "server"), _ping(4, "client"))
    assert _problems(answers_pings, both) == ["", ""]
    one = _run(_ping(1, "server"), _ping(2, "server"), _ping(3, "client"))
    assert _problems(answers_pings, one) == ["", "the client does not answer this PING"]


def test_what_comes_before_a_ping_does_not_answer_it() -> None:
    early = _run(_ping(1, "client"), _ping(2, "server"))
    assert _problems(answers_pings, early) == ["the client does not answer this PING"]
