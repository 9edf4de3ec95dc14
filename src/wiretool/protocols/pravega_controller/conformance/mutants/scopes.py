"""Defects in scopes and streams."""

from collections.abc import Callable
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server import context, lifecycle, reader_groups, tables
from wiretool.protocols.pravega_controller.server import scopes as scopes_module
from wiretool.protocols.pravega_controller.server.calls import streams as calls
from wiretool.protocols.pravega_controller.server.lifecycle import Streams
from wiretool.protocols.pravega_controller.server.names import MARK
from wiretool.protocols.pravega_controller.server.paging import Catalogue, Page
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scopes import Scope, Scopes
from wiretool.protocols.pravega_controller.server.state import ControllerState


def _fine_where(why: Why, owner: Any, name: str) -> Callable[[Patcher], None]:
    """Return a patch by which an operation that is refused for a reason counts as done."""

    def apply(patcher: Patcher) -> None:
        def replace(do: Callable[..., Any]) -> Callable[..., Any]:
            def wrong(*given: Any, **kept: Any) -> Any:
                try:
                    return do(*given, **kept)
                except Refused as refused:
                    if refused.why is not why:
                        raise
                    return None

            return wrong

        patcher.wrap(owner, name, replace)

    return apply


def _nothing(owner: Any, name: str) -> Callable[[Patcher], None]:
    """Return a patch by which an operation does nothing."""
    return lambda patcher: patcher.set(owner, name, lambda *given, **kept: None)


def _names_unchecked(patcher: Patcher) -> None:
    for module in (scopes_module, lifecycle):
        patcher.set(module, "is_name", lambda name: True)
    for module in (reader_groups, tables):
        patcher.set(module, "is_user_name", lambda name: True)


def _names_with_underscore(patcher: Patcher) -> None:
    patcher.set(scopes_module, "is_name", lambda name: " " not in name and "/" not in name)


def _full_scope_deleted(patcher: Patcher) -> None:
    patcher.set(Scope, "is_empty", True)


def _only_scope_deleted(patcher: Patcher) -> None:
    """The scope is removed; what was in it comes back with a scope of that name."""
    kept: dict[str, Scope] = {}

    def delete(self: ControllerState, name: str, now_ns: int) -> None:
        kept[name] = self.scopes.find(name)
        self.scopes.all.remove(name)

    def replace(create: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Scopes, name: str) -> None:
            create(self, name)
            if name in kept:
                self.all.remove(name)
                self.all.add(name, kept.pop(name))

        return wrong

    patcher.set(ControllerState, "delete_scope_recursively", delete)
    patcher.wrap(Scopes, "create", replace)


def _failures_without_word(patcher: Patcher) -> None:
    patcher.wrap(
        context,
        "said",
        lambda said: lambda kind, refused, field="status": said(kind, Refused(Why.FAILURE, refused.what), field),
    )
    for module in (calls,):
        patcher.set(module, "said", context.said)


def _page(change: Callable[[Page], Page]) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.wrap(
        Catalogue, "page", lambda page: lambda *given, **kept: change(page(*given, **kept))
    )


def _tokens_ignored(patcher: Patcher) -> None:
    patcher.wrap(Catalogue, "page", lambda page: lambda self, token, *given: page(self, "", *given))


def _missing_is_empty(patcher: Patcher) -> None:
    def replace(list_streams: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*given: Any) -> Any:
            answer = list_streams(*given)
            if answer.status == pb.StreamsInScopeResponse.SCOPE_NOT_FOUND:
                return pb.StreamsInScopeResponse()
            return answer

        return wrong

    _call("listStreamsInScope", replace)(patcher)
    _call("listStreamsInScopeForTag", replace)(patcher)


def _call(method: str, replace: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[Patcher], None]:
    """Return a patch of what one method of the service does."""

    def apply(patcher: Patcher) -> None:
        from wiretool.protocols.pravega_controller.server import service

        patcher.set(service, "CALLS", {**service.CALLS, method: replace(service.CALLS[method])})

    return apply


def _answers(method: str, change: Callable[[Any], Any]) -> Callable[[Patcher], None]:
    """Return a patch that changes the answers of one method in place."""

    def replace(do: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*given: Any) -> Any:
            answer = do(*given)
            change(answer)
            return answer

        return wrong

    return _call(method, replace)


def _any_scope(patcher: Patcher) -> None:
    patcher.set(
        Scopes,
        "has_stream",
        lambda self, scope, stream: scope in self.all and any(stream in each.streams for each in self.all),
    )


def _created_again(patcher: Patcher) -> None:
    def replace(create: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, config: pb.StreamConfig, now_ns: int) -> None:
            info = config.streamInfo
            if self._scopes.has_stream(info.scope, info.stream):
                self.remove(self._scopes.stream(info.scope, info.stream), now_ns)
            create(self, config, now_ns)

        return wrong

    patcher.wrap(Streams, "create", replace)


def _forgets(*fields: str) -> Callable[[Patcher], None]:
    """Return a patch by which fields of configurations are not kept."""

    def apply(patcher: Patcher) -> None:
        def replace(kept: Callable[..., Any]) -> Callable[..., Any]:
            def wrong(config: pb.StreamConfig) -> pb.StreamConfig:
                made: pb.StreamConfig = kept(config)
                for field in fields:
                    made.ClearField(field)
                return made

            return wrong

        patcher.wrap(lifecycle, "_kept", replace)

    return apply


def _one_segment(patcher: Patcher) -> None:
    patcher.wrap(lifecycle, "even_ranges", lambda even: lambda count: even(min(count, 1)))


def _sealed_served(patcher: Patcher) -> None:
    patcher.set(Streams, "_unsealed", lambda self, scope, stream: self._scopes.stream(scope, stream))


def _seal_twice_refused(patcher: Patcher) -> None:
    def replace(seal: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, scope: str, stream: str, now_ns: int) -> None:
            if self._scopes.stream(scope, stream).is_sealed:
                raise Refused(Why.STREAM_SEALED, stream)
            seal(self, scope, stream, now_ns)

        return wrong

    patcher.wrap(Streams, "seal", replace)


def _unsealed_deleted(patcher: Patcher) -> None:
    patcher.set(
        Streams,
        "delete",
        lambda self, scope, stream, now_ns: self.remove(self._scopes.stream(scope, stream), now_ns),
    )


def _marks_stay(patcher: Patcher) -> None:
    def replace(remove: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, stream: Any, now_ns: int) -> None:
            streams = self._scopes.find(stream.scope).streams
            mark = streams.get(MARK + stream.name)
            remove(self, stream, now_ns)
            if mark is not None:
                streams.add(mark.name, mark)

        return wrong

    patcher.wrap(Streams, "remove", replace)


def _marks_not_listed(patcher: Patcher) -> None:
    _page(lambda page: page._replace(names=[name for name in page.names if not name.startswith(MARK)]))(patcher)


def _tags(holds: Callable[[str, Any], bool]) -> Callable[[Patcher], None]:
    def list_with_tag(where: Any, request: Any, now_ns: int) -> pb.StreamsInScopeResponse:
        try:
            streams = where.state.scopes.find(request.scope.scope).streams
        except Refused as refused:
            return context.said(pb.StreamsInScopeResponse, refused)
        page = streams.page(request.continuationToken.token, lambda stream: holds(request.tag, stream))
        return calls._streams(request.scope.scope, page)

    return _call("listStreamsInScopeForTag", lambda do: list_with_tag)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("scope-lost", "A scope is reported as created, and does not exist.", _nothing(Scopes, "create")),
    Mutant(
        "scope-again-fine",
        "Creating an existing scope succeeds.",
        _fine_where(Why.SCOPE_EXISTS, Scopes, "create"),
    ),
    Mutant("names-unchecked", "Names are not checked.", _names_unchecked),
    Mutant("scope-underscore", "The name of a scope may have an underscore anywhere.", _names_with_underscore),
    Mutant("scope-stays", "A scope that is deleted stays.", _nothing(Scopes, "delete")),
    Mutant(
        "scope-missing-deleted",
        "A scope that is missing counts as deleted.",
        _fine_where(Why.SCOPE_NOT_FOUND, Scopes, "delete"),
    ),
    Mutant("scope-full-deleted", "A scope is deleted though there are streams in it.", _full_scope_deleted),
    Mutant("scope-contents-stay", "The contents of a scope outlive it.", _only_scope_deleted),
    Mutant("failures-without-word", "Every refusal is a plain FAILURE.", _failures_without_word),
    Mutant("page-tokens-ignored", "Every page is the first.", _tokens_ignored),
    Mutant(
        "system-not-listed",
        "The scope of the controller is not listed.",
        _answers("listScopes", lambda answer: answer.scopes.remove("_system")),
    ),
    Mutant("scope-missing-empty", "A scope that is missing has an empty list of streams.", _missing_is_empty),
    Mutant("streams-of-any-scope", "A stream is found in every scope.", _any_scope),
    Mutant("stream-made-anew", "Creating an existing stream replaces the old one.", _created_again),
    Mutant("retention-lost", "The retention policy is not kept.", _forgets("retentionPolicy")),
    Mutant("tags-lost", "Tags are not kept.", _forgets("tags")),
    Mutant(
        "rollover-lost",
        "Rollover size and aggregation time-out are not kept.",
        _forgets("rolloverSizeBytes", "timestampAggregationTimeout"),
    ),
    Mutant("one-segment", "Every stream has one segment.", _one_segment),
    Mutant("update-lost", "An update is reported as done, and is not.", _nothing(Streams, "update")),
    Mutant("sealed-served", "A sealed stream is updated, truncated and scaled.", _sealed_served),
    Mutant("seal-twice-refused", "A stream is not sealed again.", _seal_twice_refused),
    Mutant("unsealed-deleted", "A stream is deleted without being sealed.", _unsealed_deleted),
    Mutant("marks-stay", "The stream of the watermarks outlives its stream.", _marks_stay),
    Mutant("marks-not-listed", "Streams of watermarks are not listed.", _marks_not_listed),
    Mutant(
        "tags-by-part",
        "A part of a tag finds a stream.",
        _tags(lambda tag, stream: any(tag in each for each in stream.config.tags.tag)),
    ),
    Mutant(
        "tags-first",
        "Only the first tag of a stream finds it.",
        _tags(lambda tag, stream: list(stream.config.tags.tag)[:1] == [tag]),
    ),
    Mutant(
        "stream-exists-always",
        "Every stream is reported to exist.",
        _answers("checkStreamExists", lambda answer: setattr(answer, "exists", True)),
    ),
)
