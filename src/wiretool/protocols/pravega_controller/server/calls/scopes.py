"""Calls about scopes, and about the cluster."""

from collections.abc import Mapping

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.context import Call, Context, told
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scopes import SYSTEM_SCOPE


def create_scope(context: Context, request: pb.ScopeInfo, now_ns: int) -> pb.CreateScopeStatus:
    """Make a scope."""
    return told(pb.CreateScopeStatus, lambda: context.state.scopes.create(request.scope))


def list_scopes(context: Context, request: pb.ScopesRequest, now_ns: int) -> pb.ScopesResponse:
    """Name scopes."""
    page = context.state.scopes.all.page(request.continuationToken.token)
    return pb.ScopesResponse(scopes=page.names, continuationToken=pb.ContinuationToken(token=page.token))


def check_scope_exists(context: Context, request: pb.ScopeInfo, now_ns: int) -> pb.ExistsResponse:
    """Tell whether a scope is there."""
    return pb.ExistsResponse(exists=request.scope in context.state.scopes.all)


def delete_scope(context: Context, request: pb.ScopeInfo, now_ns: int) -> pb.DeleteScopeStatus:
    """Remove a scope that is empty."""

    def delete() -> None:
        _refuse_system(request.scope)
        context.state.scopes.delete(request.scope)

    return told(pb.DeleteScopeStatus, delete)


def delete_scope_recursive(context: Context, request: pb.ScopeInfo, now_ns: int) -> pb.DeleteScopeStatus:
    """Remove a scope with all that is in it; one that is not there counts as removed."""

    def delete() -> None:
        _refuse_system(request.scope)
        if request.scope in context.state.scopes.all:
            context.state.delete_scope_recursively(request.scope, now_ns)

    return told(pb.DeleteScopeStatus, delete)


def _refuse_system(scope: str) -> None:
    if scope == SYSTEM_SCOPE:
        raise Refused(Why.SCOPE_NOT_EMPTY, scope)


def get_controller_server_list(context: Context, request: pb.ServerRequest, now_ns: int) -> pb.ServerResponse:
    """Tell where controllers are: one."""
    host, port = context.controller
    return pb.ServerResponse(nodeURI=[pb.NodeUri(endpoint=host, port=port)])


def get_controller_to_bucket_mapping(
    context: Context, request: pb.ControllerToBucketMappingRequest, now_ns: int
) -> pb.ControllerToBucketMappingResponse:
    """Tell which controller does which part of a background service: the one has the one bucket."""
    host, port = context.controller
    return pb.ControllerToBucketMappingResponse(mapping={f"{host}:{port}": pb.BucketIds(id=[0])})


CALLS: Mapping[str, Call] = {
    "createScope": create_scope,
    "listScopes": list_scopes,
    "checkScopeExists": check_scope_exists,
    "deleteScope": delete_scope,
    "deleteScopeRecursive": delete_scope_recursive,
    "getControllerServerList": get_controller_server_list,
    "getControllerToBucketMapping": get_controller_to_bucket_mapping,
}
