"""Calls that a rule answers or loses, as grpcio finds them."""

import grpc.aio  # type: ignore[import-untyped]

from tests.helpers.runs import hosted, run
from wiretool.codec.message import Side
from wiretool.faults import Interceptor, parse_rule
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.service import PATH

DEADLINE_S = 20.0
#: So long does a client wait for what never comes.
PATIENCE_S = 0.3
#: As long as a name may be; 300 calls with it are more than a window takes.
SCOPE = "s" * 250
ASKED: tuple[Side, str] = ("client", "createScope")


async def created(rule: str, *timeouts_s: float) -> tuple[list[str], int, list[str]]:
    """How making one scope again and again ended, how often the mock was asked, and what it told the log."""
    interceptor = Interceptor([parse_rule(rule, protocols=["pravega-controller"])], seed=1)
    mock = PravegaMock()
    async with hosted(mock, interceptor=interceptor) as (host, _, told):
        address = await host.listen("controller", Address(LOOPBACK, 0), None)
        async with grpc.aio.insecure_channel(str(address)) as channel:
            return [await create(channel, timeout_s) for timeout_s in timeouts_s], mock.outbox.counts[ASKED], told


async def create(channel: grpc.aio.Channel, timeout_s: float) -> str:
    """The status that making a scope ends with: that of the answer, or that of a call without."""
    call = channel.unary_unary(f"{PATH}createScope", pb.ScopeInfo.SerializeToString, pb.CreateScopeStatus.FromString)
    try:
        answer = await call(pb.ScopeInfo(scope=SCOPE), timeout=timeout_s)
    except grpc.aio.AioRpcError as err:
        code: str = err.code().name
        return code
    return pb.CreateScopeStatus.Status.Name(answer.status)


def test_a_lost_call_waits_for_its_deadline() -> None:
    rule = 'message == "createScope" and side == "client" nth=1: drop'
    seen, asked, told = run(lambda: created(rule, PATIENCE_S, DEADLINE_S))
    assert (seen, asked, told) == (["DEADLINE_EXCEEDED", "SUCCESS"], 1, [])


def test_an_answered_call_never_reaches_the_server() -> None:
    rule = 'message == "createScope" and side == "client" nth=1: answer createScope status="SCOPE_EXISTS"'
    seen, asked, told = run(lambda: created(rule, DEADLINE_S, DEADLINE_S))
    assert (seen, asked, told) == (["SCOPE_EXISTS", "SUCCESS"], 1, [])


def test_answered_calls_do_not_use_up_the_connection() -> None:
    rule = 'message == "createScope" and side == "client": answer createScope status="SCOPE_EXISTS"'
    seen, asked, told = run(lambda: created(rule, *[PATIENCE_S] * 300))
    assert (seen, asked, told) == (["SCOPE_EXISTS"] * 300, 0, [])
