"""How a call can fail in gRPC's own terms, beside the refusals that answers carry."""

from enum import IntEnum

from wiretool.protocols.pravega_controller.server.refused import Refused, Why


class Code(IntEnum):
    """The status of a call, by gRPC's numbers."""

    OK = 0
    UNKNOWN = 2
    NOT_FOUND = 5
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAUTHENTICATED = 16


class CallFailed(Exception):
    """A call ends without an answer."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text


def failure(refused: Refused) -> CallFailed:
    """How a call fails that is refused for something its answer has no word for."""
    if refused.why.endswith("_NOT_FOUND"):
        return CallFailed(Code.NOT_FOUND, refused.text)
    if refused.why is Why.STREAM_SEALED:
        return CallFailed(Code.INTERNAL, refused.text)
    return CallFailed(Code.UNKNOWN, refused.text)
