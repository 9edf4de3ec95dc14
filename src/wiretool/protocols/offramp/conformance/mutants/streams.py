"""Defects in demand, messages and commits."""

from collections.abc import Callable, Mapping
from typing import Any

from wiretool.codec.message import Message
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.errors import ProtocolViolation
from wiretool.protocols.offramp.messages import CancelEvent, CommitEvent, CommitResponseEvent, ErrorEvent, MessageEvent
from wiretool.protocols.offramp.server import consumer, link, roads
from wiretool.protocols.offramp.server.groups import Group

_MAX = 2**63 - 1

Request = Callable[[Any, int], None]
Take = Callable[[Any, Message], None]


def _request(instead: Callable[[Any, int, Request], None]) -> Callable[[Patcher], None]:
    """Return a patch of what a REQUEST does."""
    return lambda patcher: patcher.wrap(
        consumer.Consumer, "_request", lambda request: lambda self, count: instead(self, count, request)
    )


def _zero_is_an_error(self: Any, count: int, request: Request) -> None:
    if not count:
        self._port.say(ErrorEvent(reason="Requested count cannot be zero"))
    request(self, count)


def _negative_is_ignored(self: Any, count: int, request: Request) -> None:
    request(self, max(count, 0))


def _negative_ends(self: Any, count: int, request: Request) -> None:
    if count < 0:
        raise ProtocolViolation("negative", "a negative count", phase="open", side="client", message="REQUEST")
    request(self, count)


def _negative_clears(self: Any, count: int, request: Request) -> None:
    request(self, count)
    if count < 0:
        self._requested = 0


def _error_names_no_sign(self: Any, count: int, request: Request) -> None:
    if count < 0:
        self._port.say(ErrorEvent(reason=f"Requested count cannot be negative value (given {-count})"))
    else:
        request(self, count)


def _replaces_demand(self: Any, count: int, request: Request) -> None:
    if count > 0:
        self._requested = 0
    request(self, count)


def _overflows(self: Any, count: int, request: Request) -> None:
    if count > 0 and self._requested + count > _MAX:
        self._requested = 0
    else:
        request(self, count)


def _one_more(self: Any, count: int, request: Request) -> None:
    request(self, count + 1 if 0 < count < _MAX else count)


def _one_less(self: Any, count: int, request: Request) -> None:
    request(self, count - 1 if count > 1 else count)


def _maximum_is_nothing(self: Any, count: int, request: Request) -> None:
    request(self, 0 if count == _MAX else count)


def _demand_is_not_waited_for(self: Any, count: int, request: Request) -> None:
    request(self, count)
    self._requested = 0


def _event(cls: type[Message], instead: Callable[[Any, Any, Take], None]) -> Callable[[Patcher], None]:
    """Return a patch of what one event of the client does."""

    def apply(patcher: Patcher) -> None:
        patcher.wrap(
            consumer.Consumer,
            "take",
            lambda take: (
                lambda self, event: instead(self, event, take) if isinstance(event, cls) else take(self, event)
            ),
        )

    return apply


def _cancel_is_ignored(self: Any, event: CancelEvent, take: Take) -> None:
    return


def _cancel_is_answered(self: Any, event: CancelEvent, take: Take) -> None:
    take(self, event)
    self._port.say(ErrorEvent(reason="cancelled"))


def _cancel_leaves(self: Any, event: CancelEvent, take: Take) -> None:
    self.leave()


def _cancel_skips(self: Any, event: CancelEvent, take: Take) -> None:
    take(self, event)
    self._positions = {index: position + 1 for index, position in self._positions.items()}


def _cancel_repeats(self: Any, event: CancelEvent, take: Take) -> None:
    take(self, event)
    self._positions = {index: max(position - 1, 0) for index, position in self._positions.items()}


def _cancel_leaves_one(self: Any, event: CancelEvent, take: Take) -> None:
    self._requested = min(self._requested, 1)


def _commit_is_not_answered(self: Any, event: CommitEvent, take: Take) -> None:
    self._commit({int(partition): offset for partition, offset in event.offsets.items()})


def _answered(change: Callable[[Any, CommitResponseEvent], list[CommitResponseEvent]]) -> Callable[[Patcher], None]:
    """Return a patch of the answers to commits."""

    def apply(patcher: Patcher) -> None:
        def replace(say: Callable[..., None]) -> Callable[..., None]:
            def wrong(self: Any, event: Message) -> None:
                events = change(self, event) if isinstance(event, CommitResponseEvent) else [event]
                for each in events:
                    say(self, each)

            return wrong

        patcher.wrap(link.OfframpLink, "say", replace)

    return apply


def _with_id(id: str | None, event: CommitResponseEvent) -> CommitResponseEvent:
    return CommitResponseEvent(correlationId=id, success=event.success)


def _previous_id() -> Callable[[Any, CommitResponseEvent], list[CommitResponseEvent]]:
    seen: dict[int, str | None] = {}

    def change(self: Any, event: CommitResponseEvent) -> list[CommitResponseEvent]:
        previous = seen.get(self._connection, event.correlationId)
        seen[self._connection] = event.correlationId
        return [_with_id(previous, event)]

    return change


def _repeated_id_once() -> Callable[[Any, CommitResponseEvent], list[CommitResponseEvent]]:
    seen: set[tuple[int, str | None]] = set()

    def change(self: Any, event: CommitResponseEvent) -> list[CommitResponseEvent]:
        key = (self._connection, event.correlationId)
        is_first = key not in seen
        seen.add(key)
        return [event] if is_first else []

    return change


def _commit(instead: Callable[[Any, Mapping[int, int], Callable[..., bool]], bool]) -> Callable[[Patcher], None]:
    """Return a patch of what a COMMIT stores."""
    return lambda patcher: patcher.wrap(
        consumer.Consumer, "_commit", lambda commit: lambda self, offsets: instead(self, offsets, commit)
    )


def _commit_moves(self: Any, offsets: Mapping[int, int], commit: Callable[..., bool]) -> bool:
    self._positions.update((index, offset) for index, offset in offsets.items() if index in self._positions)
    return commit(self, offsets)


def _commit_early_ends(self: Any, offsets: Mapping[int, int], commit: Callable[..., bool]) -> bool:
    if self._group is None or any(offset < 0 for offset in offsets.values()):
        raise ProtocolViolation("commit", "it cannot be stored", phase="open", side="client", message="COMMIT")
    return commit(self, offsets)


def _stored(change: Callable[[Group, Mapping[int, int]], Mapping[int, int]]) -> Callable[[Patcher], None]:
    """Return a patch of what is remembered of a commit."""
    return lambda patcher: patcher.wrap(
        Group, "commit", lambda commit: lambda self, offsets: commit(self, change(self, offsets))
    )


def _highest(group: Group, offsets: Mapping[int, int]) -> Mapping[int, int]:
    return {index: max(offset, group.committed.get(index, 0)) for index, offset in offsets.items()}


def _commit_of_nothing_clears(patcher: Patcher) -> None:
    def replace(commit: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Group, offsets: Mapping[int, int]) -> None:
            if not offsets:
                self.committed.clear()
            commit(self, offsets)

        return wrong

    patcher.wrap(Group, "commit", replace)


def _entry(change: Callable[[MessageEvent], Mapping[str, Any]]) -> Callable[[Patcher], None]:
    """Return a patch of the fields of messages."""

    def apply(patcher: Patcher) -> None:
        def replace(made: Any) -> Any:
            def wrong(**fields: Any) -> MessageEvent:
                event: MessageEvent = made(**fields)
                changed: MessageEvent = made(**{**fields, **change(event)})
                return changed

            return wrong

        patcher.wrap(roads, "MessageEvent", replace)

    return apply


def _cut(payload: Any) -> Any:
    if not isinstance(payload, dict):
        return payload
    return {name: value[:16_384] if isinstance(value, str) else value for name, value in payload.items()}


def _as_double(payload: Any) -> Any:
    if isinstance(payload, dict):
        return {name: _as_double(value) for name, value in payload.items()}
    return int(float(payload)) if isinstance(payload, int) and not isinstance(payload, bool) else payload


def _as_object(payload: Any) -> Any:
    return payload if isinstance(payload, dict) else {}


def _skips_every_fourth(patcher: Patcher) -> None:
    def replace(deliver: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, text: bytes) -> None:
            count = self._server.outbox.counts["server", "MESSAGE"]
            if count % 4 == 3:
                self._server.outbox.counts["server", "MESSAGE"] += 1
            else:
                deliver(self, text)

        return wrong

    patcher.wrap(link.OfframpLink, "deliver", replace)


def _demand_outlives(patcher: Patcher) -> None:
    left: dict[str, int] = {}

    def on_leave(leave: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any) -> None:
            left[self._stream] = self._requested
            leave(self)

        return wrong

    def on_init(init: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, port: Any, road: Any, stream: str, **kept: Any) -> None:
            init(self, port, road, stream, **kept)
            if left.get(stream):
                self._request(left.pop(stream))

        return wrong

    patcher.wrap(consumer.Consumer, "leave", on_leave)
    patcher.wrap(consumer.Consumer, "__init__", on_init)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("zero-error", "A request for 0 messages is answered with ERROR.", _request(_zero_is_an_error)),
    Mutant("negative-ignored", "A negative request is not answered.", _request(_negative_is_ignored)),
    Mutant("negative-ends", "A negative request closes the connection.", _request(_negative_ends)),
    Mutant("negative-clears", "A negative request cancels all demand.", _request(_negative_clears)),
    Mutant("error-unsigned", "ERROR names the count without its sign.", _request(_error_names_no_sign)),
    Mutant("demand-replaced", "A request replaces the demand before it.", _request(_replaces_demand)),
    Mutant("demand-overflows", "Demand beyond 2^63-1 counts as 0.", _request(_overflows)),
    Mutant("one-more", "One message more than asked for is sent.", _request(_one_more)),
    Mutant("one-less", "One message less than asked for is sent.", _request(_one_less)),
    Mutant("maximum-nothing", "A request for 2^63-1 messages is one for none.", _request(_maximum_is_nothing)),
    Mutant(
        "demand-not-kept",
        "Demand counts only for messages that are already stored.",
        _request(_demand_is_not_waited_for),
    ),
    Mutant("cancel-ignored", "CANCEL has no effect.", _event(CancelEvent, _cancel_is_ignored)),
    Mutant("cancel-answered", "CANCEL is answered.", _event(CancelEvent, _cancel_is_answered)),
    Mutant("cancel-leaves", "CANCEL ends the membership.", _event(CancelEvent, _cancel_leaves)),
    Mutant("cancel-skips", "CANCEL loses the next message.", _event(CancelEvent, _cancel_skips)),
    Mutant("cancel-repeats", "After CANCEL the last message comes again.", _event(CancelEvent, _cancel_repeats)),
    Mutant("cancel-leaves-one", "CANCEL leaves a demand of one.", _event(CancelEvent, _cancel_leaves_one)),
    Mutant("commit-unanswered", "Commits are not answered.", _event(CommitEvent, _commit_is_not_answered)),
    Mutant("commit-answered-twice", "Each commit is answered twice.", _answered(lambda self, event: [event, event])),
    Mutant("commit-previous-id", "An answer has the id of the commit before.", _answered(_previous_id())),
    Mutant("commit-id-once", "Commits with an id that was used are not answered.", _answered(_repeated_id_once())),
    Mutant(
        "commit-id-empty",
        "A commit without an id is answered with an empty one.",
        _answered(lambda self, event: [_with_id(event.correlationId or "", event)]),
    ),
    Mutant(
        "commit-id-cut",
        "Ids are cut after 64 characters.",
        _answered(lambda self, event: [_with_id((event.correlationId or "")[:64] or None, event)]),
    ),
    Mutant(
        "commit-fails",
        "Commits are stored, and reported as failed.",
        _answered(lambda self, event: [CommitResponseEvent(correlationId=event.correlationId, success=False)]),
    ),
    Mutant("commit-moves", "A commit changes the position of the connection that sends it.", _commit(_commit_moves)),
    Mutant("commit-failure-ends", "A commit that cannot be stored ends the connection.", _commit(_commit_early_ends)),
    Mutant(
        "commit-nothing-fails",
        "An empty commit fails.",
        _commit(lambda self, offsets, commit: bool(offsets) and commit(self, offsets)),
    ),
    Mutant("commit-lost", "Commits are answered and not stored.", _stored(lambda group, offsets: {})),
    Mutant(
        "commit-one-high",
        "The offset after the committed one is stored.",
        _stored(lambda group, offsets: {index: offset + 1 for index, offset in offsets.items()}),
    ),
    Mutant("commit-highest", "The highest commit counts, not the last.", _stored(_highest)),
    Mutant("commit-nothing-clears", "An empty commit discards the previous ones.", _commit_of_nothing_clears),
    Mutant(
        "offset-one-high",
        "Messages have the offset of the next one.",
        _entry(lambda event: {"offset": event.offset + 1}),
    ),
    Mutant("partition-zero", "Messages name partition 0.", _entry(lambda event: {"partition": 0})),
    Mutant("schema-one", "Messages name schema 1.", _entry(lambda event: {"schema": 1})),
    Mutant(
        "time-in-seconds",
        "The time of messages is in seconds.",
        _entry(lambda event: {"timestampMs": (event.timestampMs or 0) // 1_000}),
    ),
    Mutant("payload-cut", "Long texts in payloads are cut.", _entry(lambda event: {"payload": _cut(event.payload)})),
    Mutant(
        "payload-double",
        "Integers in payloads pass through a double.",
        _entry(lambda event: {"payload": _as_double(event.payload)}),
    ),
    Mutant(
        "payload-object",
        "Payloads that are not objects come empty.",
        _entry(lambda event: {"payload": _as_object(event.payload)}),
    ),
    Mutant("messages-lost", "Every fourth message is lost.", _skips_every_fourth),
    Mutant("demand-outlives", "The demand of a connection passes to the next one of its stream.", _demand_outlives),
)
