"""Controllers that are asked directly, that have a past, and that say one thing otherwise than they should."""

from collections.abc import Callable
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.service import Service

_METHODS = pb.DESCRIPTOR.services_by_name["ControllerService"].methods_by_name
#: Changes an answer.
Change = Callable[[Any], object]


def ask(mock: PravegaMock, method: str, request: Any, now_ns: int = 0) -> Any:
    """The answer of a mock's controller."""
    answer = mock.service.call(method, request.SerializeToString(), None, now_ns)
    return GetMessageClass(_METHODS[method].output_type).FromString(answer)


def with_a_past(**options: Any) -> PravegaMock:
    """A mock on which the stream sc/st was before, and on which there were transactions."""
    mock = PravegaMock(**options)
    info = pb.StreamInfo(scope="sc", stream="st")
    config = pb.StreamConfig(streamInfo=info, scalingPolicy=pb.ScalingPolicy(minNumSegments=5))
    ask(mock, "createScope", pb.ScopeInfo(scope="sc"))
    ask(mock, "createStream", config)
    for _ in range(7):
        ask(mock, "createTransaction", pb.CreateTxnRequest(streamInfo=info, lease=20_000))
    ask(mock, "sealStream", info)
    ask(mock, "deleteStream", info)
    ask(mock, "deleteScope", pb.ScopeInfo(scope="sc"))
    return mock


class _LyingService(Service):
    def __init__(self, honest: Service, liar: "LyingController") -> None:
        self._honest = honest
        self._liar = liar

    def call(self, method: str, request: bytes, authorization: str | None, now_ns: int) -> bytes:
        answer = self._honest.call(method, request, authorization, now_ns)
        return self._liar.told(method, answer)


class LyingController(PravegaMock):
    """Lies once: in the answer to the call of `method` that comes after `skip` others; None: it fails."""

    def __init__(self, method: str, change: Change | None, *, skip: int = 0, **options: Any) -> None:
        self._method = method
        self._change = change
        self._skip = skip
        self.has_lied = False
        super().__init__(**options)

    def _new_service(self) -> Service:
        return _LyingService(super()._new_service(), self)

    def told(self, method: str, answer: bytes) -> bytes:
        """What is said in place of an answer."""
        if method != self._method or self.has_lied:
            return answer
        self._skip -= 1
        if self._skip >= 0:
            return answer
        self.has_lied = True
        if self._change is None:
            raise CallFailed(Code.INTERNAL, "a lie")
        message = GetMessageClass(_METHODS[method].output_type).FromString(answer)
        self._change(message)
        return message.SerializeToString()
