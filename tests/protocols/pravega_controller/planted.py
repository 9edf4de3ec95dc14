"""Planted defects of the mock controller."""

from collections.abc import Callable
from typing import Any

from h2.events import Event, RequestReceived, StreamEnded, StreamReset

from tests.fuzz.planted.defects import BUFFER_BYTES, Defects, hang, leak_buffers, run_before, state_of
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.pravega_controller.server import link
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.grpc_messages import failure_headers
from wiretool.protocols.pravega_controller.server.lifecycle import Streams
from wiretool.protocols.pravega_controller.server.link import ControllerLink
from wiretool.protocols.pravega_controller.server.transactions import Transactions

DEFECTS = Defects()
_PRIORITY, _GOAWAY = 2, 7


def _wrap_event(patcher: Patcher, kind: type[Event], wrap: Callable[[Any], Any]) -> None:
    """Replace the handler of an event of h2 by what `wrap` makes of it."""
    patcher.set(link, "_HANDLERS", {**link._HANDLERS, kind: wrap(link._HANDLERS[kind])})


def _run_before_event(patcher: Patcher, kind: type[Event], check: Callable[[Any, Any], None]) -> None:
    """Call `check` with a link and an event of h2 before the event is handled."""

    def wrap(handle: Any) -> Any:
        def checked(self: ControllerLink, event: Any, now_ns: int) -> None:
            check(self, event)
            handle(self, event, now_ns)

        return checked

    _wrap_event(patcher, kind, wrap)


@DEFECTS.declare("frame-buffers-leak", "The buffer of an unfinished frame is kept when its connection is lost.")
def _frame_buffers_leak(patcher: Patcher) -> None:
    leak_buffers(patcher, ControllerLink, lambda each: each._outbox)


@DEFECTS.declare("frame-of-nothing", "A frame of no bytes of an unknown type crashes the server.")
def _frame_of_nothing(patcher: Patcher) -> None:
    def check(self: ControllerLink, data: bytes, at: int, available: int) -> None:
        if self._is_greeted and available - at >= 9 and data[at + 3] > 9 and not any(data[at : at + 3]):
            raise IndexError("index out of range")

    run_before(patcher, ControllerLink, "_extent", check)


@DEFECTS.declare("lost-with-calls", "A connection that is lost with a call under way makes the next one fail.")
def _lost_with_calls(patcher: Patcher) -> None:
    def lost(self: ControllerLink, now_ns: int) -> None:
        if self._requests:
            state_of(self._outbox, "open", list).append(self._number)

    def feed(self: ControllerLink, data: bytes, now_ns: int) -> None:
        if state_of(self._outbox, "open", list) and not self._is_greeted:
            raise KeyError(self._number)

    run_before(patcher, ControllerLink, "lost", lost)
    run_before(patcher, ControllerLink, "feed", feed)


DEFECTS.take("pravega-controller", "ping-unanswered", "txn-forgotten", "scope-lost")


@DEFECTS.declare("depends-on-itself", "A stream whose PRIORITY names itself is searched for its own parent for ever.")
def _depends_on_itself(patcher: Patcher) -> None:
    def check(self: ControllerLink, data: bytes, at: int, available: int) -> None:
        is_priority = self._is_greeted and available - at >= 14 and data[at + 3] == _PRIORITY
        if is_priority and data[at + 5 : at + 9] == data[at + 9 : at + 13] != bytes(4):
            hang()

    run_before(patcher, ControllerLink, "_extent", check)


@DEFECTS.declare("reset-call-kept", "The bytes of a call that its client resets are kept.")
def _reset_call_kept(patcher: Patcher) -> None:
    def keep(self: ControllerLink, event: StreamReset) -> None:
        if event.stream_id in self._requests:
            state_of(self._outbox, "calls", list).append(bytearray(BUFFER_BYTES))

    _run_before_event(patcher, StreamReset, keep)


@DEFECTS.declare(
    "compressed-for-all", "After two compressed messages on a connection, all later calls are refused as compressed."
)
def _compressed_for_all(patcher: Patcher) -> None:
    def note(self: ControllerLink, event: StreamEnded) -> None:
        request = self._requests.get(event.stream_id)
        if request is not None and request.body[:1] == b"\1":
            state_of(self, "compressed", list).append(event.stream_id)
            if len(state_of(self, "compressed", list)) > 1:
                state_of(self._outbox, "compressed", list).append(self._number)

    def wrap(receive: Any) -> Any:
        def received(self: ControllerLink, event: RequestReceived, now_ns: int) -> None:
            if state_of(self._outbox, "compressed", list):
                self._refuse(event, failure_headers(CallFailed(Code.UNIMPLEMENTED, "compressed")))
            else:
                receive(self, event, now_ns)

        return received

    _run_before_event(patcher, StreamEnded, note)
    _wrap_event(patcher, RequestReceived, wrap)


@DEFECTS.declare("goaway-of-another", "A GOAWAY while a call of another connection is under way ends in that call.")
def _goaway_of_another(patcher: Patcher) -> None:
    def check(self: ControllerLink, data: bytes, at: int, available: int) -> None:
        calls = state_of(self._outbox, "calls", dict)
        calls[self._number] = bool(self._requests) and not self._is_closed
        if self._is_greeted and available - at >= 9 and data[at + 3] == _GOAWAY:
            for number, is_open in calls.items():
                if is_open and number != self._number:
                    raise KeyError(number)

    def lost(self: ControllerLink, now_ns: int) -> None:
        state_of(self._outbox, "calls", dict).pop(self._number, None)

    run_before(patcher, ControllerLink, "_extent", check)
    run_before(patcher, ControllerLink, "lost", lost)


@DEFECTS.declare("no-segments", "A stream of fewer than no segments is divided until it has that many, for ever.")
def _no_segments(patcher: Patcher) -> None:
    def check(self: Streams, config: Any, now_ns: int) -> None:
        if config.scalingPolicy.minNumSegments < 0:
            hang()

    run_before(patcher, Streams, "create", check)


@DEFECTS.declare(
    "pinged-and-scaled", "A stream is scaled while it has a transaction whose lease was renewed: its timer is gone."
)
def _pinged_and_scaled(patcher: Patcher) -> None:
    def note(self: Transactions, scope: str, stream: str, *_: Any) -> None:
        if self._scopes.has_stream(scope, stream) and self._scopes.stream(scope, stream).open_transactions:
            state_of(self._scopes.stream(scope, stream), "pinged", list).append(stream)

    def check(self: Streams, scope: str, stream: str, *_: Any) -> None:
        if self._scopes.has_stream(scope, stream):
            found = self._scopes.stream(scope, stream)
            if found.open_transactions and state_of(found, "pinged", list):
                raise AttributeError("'NoneType' object has no attribute 'cancel'")

    run_before(patcher, Transactions, "ping", note)
    run_before(patcher, Streams, "scale", check)


@DEFECTS.declare("sealed-with-two", "A stream that is sealed with two open transactions stops after the first.")
def _sealed_with_two(patcher: Patcher) -> None:
    def check(self: Streams, scope: str, stream: str, now_ns: int) -> None:
        if self._scopes.has_stream(scope, stream) and len(self._scopes.stream(scope, stream).open_transactions) > 1:
            raise RuntimeError("OrderedDict mutated during iteration")

    run_before(patcher, Streams, "seal", check)
