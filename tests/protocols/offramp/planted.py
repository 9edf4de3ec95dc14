"""Planted defects of the mock Offramp server."""

from typing import Any

from tests.fuzz.planted.defects import Defects, hang, leak_buffers, run_before, state_of
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.messages import Close
from wiretool.protocols.offramp.server import link
from wiretool.protocols.offramp.server.consumer import Consumer
from wiretool.protocols.offramp.server.groups import Group
from wiretool.protocols.offramp.server.link import OfframpLink, Phase
from wiretool.protocols.offramp.server.websocket import Receiver

DEFECTS = Defects()


@DEFECTS.declare(
    "length-with-sign", "A frame length with its first bit set is negative to the server, which loops over it."
)
def _length_with_sign(patcher: Patcher) -> None:
    def check(self: Receiver, data: bytes, at: int, end: int) -> None:
        header = framing.read_header(data, at, end)
        if header is not None and header.length >= 2**63:
            hang()

    run_before(patcher, Receiver, "extent", check)


@DEFECTS.declare("close-in-message", "A Close between the fragments of a message crashes the server.")
def _close_in_message(patcher: Patcher) -> None:
    def check(self: OfframpLink, message: Any) -> None:
        if isinstance(message, Close) and not self._receiver._joiner.is_between:
            raise AttributeError("'NoneType' object has no attribute 'append'")

    run_before(patcher, OfframpLink, "_take_control", check)


@DEFECTS.declare(
    "fragment-outlives-connection", "The fragment of a message of a lost connection begins the next one's."
)
def _fragment_outlives_connection(patcher: Patcher) -> None:
    def lost(self: OfframpLink, now_ns: int) -> None:
        if not self._receiver._joiner.is_between:
            state_of(self._server, "joiner", list).append(self._receiver._joiner)

    def opened(self: OfframpLink, verdict: Any) -> None:
        vars(self)["planted_opened"] = True

    def take(self: OfframpLink, frame: bytes) -> None:
        left = state_of(self._server, "joiner", list)
        if left and self._phase is Phase.OPEN and self.__dict__.pop("planted_opened", False):
            self._receiver._joiner = left[-1]

    run_before(patcher, OfframpLink, "lost", lost)
    run_before(patcher, OfframpLink, "_open", opened)
    run_before(patcher, OfframpLink, "_take", take)


@DEFECTS.declare("frame-buffers-leak", "The buffer of an unfinished frame is kept when its connection is lost.")
def _frame_buffers_leak(patcher: Patcher) -> None:
    leak_buffers(patcher, OfframpLink, lambda link: link._server)


@DEFECTS.declare("fourth-member", "A fourth consumer that joins a group crashes the server.")
def _fourth_member(patcher: Patcher) -> None:
    def check(self: Group, member: Any) -> None:
        if len(self.members) >= 3:
            raise RuntimeError("dictionary changed size during iteration")

    run_before(patcher, Group, "join", check)


@DEFECTS.declare(
    "commit-as-double", "A committed offset from 2**53 to 2**62, stored as a double, is not a whole number afterwards."
)
def _commit_as_double(patcher: Patcher) -> None:
    def check(self: Group, offsets: Any) -> None:
        if any(2**53 <= offset <= 2**62 for offset in offsets.values()):
            raise ValueError("not a whole number")

    run_before(patcher, Group, "commit", check)


@DEFECTS.declare("demand-after-cancel", "A REQUEST of 2**31 or more after a CANCEL overflows the demand.")
def _demand_after_cancel(patcher: Patcher) -> None:
    def take(self: Consumer, event: Any) -> None:
        if type(event).__name__ == "CancelEvent":
            state_of(self, "cancelled", list).append(event)
        count = getattr(event, "count", 0)
        if count >= 2**31 and state_of(self, "cancelled", list):
            raise OverflowError("signed integer is greater than maximum")

    run_before(patcher, Consumer, "take", take)


@DEFECTS.declare("deep-json", "An event whose JSON is nested 64 levels or more passes the end of the parser's stack.")
def _deep_json(patcher: Patcher) -> None:
    def check(self: OfframpLink, text: bytes) -> None:
        if text.count(b"[") >= 64 or text.count(b"{") >= 64:
            raise RecursionError("maximum recursion depth exceeded")

    run_before(patcher, OfframpLink, "_take_event", check)


@DEFECTS.declare("empty-header", "A header of the upgrade request without a value is read past its end.")
def _empty_header(patcher: Patcher) -> None:
    def wrap(read_handshake: Any) -> Any:
        def check(*arguments: Any) -> Any:
            made = read_handshake(*arguments)
            if any(not value for _, value in made[0].headers):
                raise IndexError("string index out of range")
            return made

        return check

    patcher.wrap(link, "read_handshake", wrap)


@DEFECTS.declare("ping-after-failed-commit", "A Ping that comes after a COMMIT which failed is not answered.")
def _ping_after_failed_commit(patcher: Patcher) -> None:
    def wrap_commit(commit: Any) -> Any:
        def noted(self: Consumer, offsets: Any) -> bool:
            is_done: bool = commit(self, offsets)
            if not is_done:
                state_of(self._port, "failed", list).append(offsets)
            return is_done

        return noted

    def wrap_control(take: Any) -> Any:
        def drop(self: OfframpLink, message: Any) -> None:
            if type(message).__name__ != "Ping" or not state_of(self, "failed", list):
                take(self, message)

        return drop

    patcher.wrap(Consumer, "_commit", wrap_commit)
    patcher.wrap(OfframpLink, "_take_control", wrap_control)


DEFECTS.take("offramp", "pong-empty", "commit-lost", "one-less", "close-not-echoed")


@DEFECTS.declare(
    "message-lost-rebalanced",
    "When a second consumer joins while the first has demand, one message of each partition is passed over.",
)
def _message_lost_rebalanced(patcher: Patcher) -> None:
    def wrap(assign: Any) -> Any:
        def skip(self: Consumer, assignment: Any, positions: Any) -> None:
            had = self._requested and bool(self._assignment)
            assign(self, assignment, positions)
            if had:
                self._positions = {index: at + 1 for index, at in self._positions.items()}

        return skip

    patcher.wrap(Consumer, "assign", wrap)
