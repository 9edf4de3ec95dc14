"""The controller's service: the name of a method and the bytes of its request in, the bytes of its answer out."""

from collections.abc import Mapping

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.calls import (
    reader_groups,
    scopes,
    segments,
    streams,
    tables,
    transactions,
)
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code, failure
from wiretool.protocols.pravega_controller.server.context import Call, Context
from wiretool.protocols.pravega_controller.server.refused import Refused
from wiretool.protocols.pravega_controller.server.scopes import SYSTEM_SCOPE

_SERVICE = pb.DESCRIPTOR.services_by_name["ControllerService"]
#: What a method's name stands behind in the path of a call.
PATH = f"/{_SERVICE.full_name}/"
#: The names of all methods.
METHODS = frozenset(_SERVICE.methods_by_name)
CALLS: Mapping[str, Call] = {
    **scopes.CALLS,
    **streams.CALLS,
    **segments.CALLS,
    **transactions.CALLS,
    **reader_groups.CALLS,
    **tables.CALLS,
}
_REQUESTS = {name: GetMessageClass(_SERVICE.methods_by_name[name].input_type) for name in CALLS}


class Service:
    """All methods of the controller over one state."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def call(self, method: str, request: bytes, authorization: str | None, now_ns: int) -> bytes:
        """The answer of a method to a request. CallFailed: there is none.

        `authorization` is the call's metadata of that name.
        """
        call = CALLS.get(method)
        if call is None:
            raise CallFailed(Code.UNIMPLEMENTED, f"Method not found: {method}")
        authority = self._context.authority
        if authority is not None and not authority.admits(authorization):
            raise CallFailed(Code.UNAUTHENTICATED, "Authentication failed")
        try:
            message = _REQUESTS[method].FromString(request)
        except DecodeError as err:
            raise CallFailed(Code.INTERNAL, f"Invalid protobuf byte sequence: {err}") from err
        if SYSTEM_SCOPE.encode() in request:
            self._context.state.make_system_streams(now_ns)
        try:
            return call(self._context, message, now_ns).SerializeToString(deterministic=True)
        except Refused as refused:
            raise failure(refused) from refused
