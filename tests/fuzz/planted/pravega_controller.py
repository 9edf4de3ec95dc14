"""Planted defects of the mock controller."""

from tests.fuzz.planted.defects import Defects, leak_buffers, run_before, state_of
from wiretool.conformance.mutants import Patcher
from wiretool.servers.pravega.controller.link import ControllerLink

DEFECTS = Defects()


@DEFECTS.declare("frame-buffers-leak", "The buffer of an unfinished frame is kept when its connection is lost.")
def _frame_buffers_leak(patcher: Patcher) -> None:
    leak_buffers(patcher, ControllerLink, lambda link: link._outbox)


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
