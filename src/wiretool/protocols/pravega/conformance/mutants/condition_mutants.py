"""Defects of conditional appends."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher
from wiretool.protocols.pravega.conformance.mutants.append_mutants import reappend
from wiretool.protocols.pravega.messages import ConditionalCheckFailed
from wiretool.protocols.pravega.server.appending import Appending
from wiretool.protocols.pravega.server.link import StoreLink
from wiretool.protocols.pravega.server.segments import NONE_I64

MUTANTS = Mutants()
_ANY_OFFSET = -1


@MUTANTS.declare("condition-ignored", "Conditional appends are stored wherever the segment ends.")
def _condition_ignored(patcher: Patcher) -> None:
    def anyway(append: Any, self: Any, arguments: Any) -> None:
        append(self, *arguments[:4], _ANY_OFFSET, *arguments[5:])

    reappend(patcher, anyway)


@MUTANTS.declare("condition-at-most", "A conditional append before the end is stored at the end.")
def _at_most(patcher: Patcher) -> None:
    def lax(append: Any, self: Any, arguments: Any) -> None:
        writer = self._writers.get(arguments[0])
        segment = None if writer is None else self._segments.find(writer.segment)
        expected = arguments[4]
        if segment is not None and 0 <= expected < segment.length:
            expected = segment.length
        append(self, *arguments[:4], expected, *arguments[5:])

    reappend(patcher, lax)


@MUTANTS.declare("condition-on-the-rest", "A conditional append counts from the start of a truncated segment.")
def _on_the_rest(patcher: Patcher) -> None:
    def shifted(append: Any, self: Any, arguments: Any) -> None:
        writer = self._writers.get(arguments[0])
        segment = None if writer is None else self._segments.find(writer.segment)
        start = 0 if segment is None or arguments[4] < 0 else segment.start
        append(self, *arguments[:4], arguments[4] + start, *arguments[5:])

    reappend(patcher, shifted)


@MUTANTS.declare("condition-none-lost", "The offset -1 is a condition that no segment meets.")
def _none_lost(patcher: Patcher) -> None:
    def strict(append: Any, self: Any, arguments: Any) -> None:
        is_conditional = arguments[5] == self.conditional_id
        expected = 2**62 if is_conditional and arguments[4] == _ANY_OFFSET else arguments[4]
        append(self, *arguments[:4], expected, *arguments[5:])

    def replace(call: Any) -> Any:
        def noting(self: Any, message: Any, now_ns: int) -> None:
            self.conditional_id = message.request_id
            call(self, message, now_ns)
            self.conditional_id = None

        return noting

    patcher.set(Appending, "__init__", _with_conditional_id(Appending.__init__))
    reappend(patcher, strict)
    patcher.wrap(Appending, "append_event", replace)


def _with_conditional_id(init: Any) -> Any:
    def initialise(self: Any, *arguments: Any) -> None:
        init(self, *arguments)
        self.conditional_id = None

    return initialise


@MUTANTS.declare("condition-failed-moves-number", "A failed conditional append advances the writer's event number.")
def _failed_moves(patcher: Patcher) -> None:
    def moving(append: Any, self: Any, arguments: Any) -> None:
        writer = self._writers.get(arguments[0])
        segment = None if writer is None else self._segments.find(writer.segment)
        append(self, *arguments)
        if segment is not None and segment.attributes.get(arguments[0], NONE_I64) != arguments[3]:
            writer.last = arguments[3]

    reappend(patcher, moving)


@MUTANTS.declare("condition-failed-closes", "A conditional append that failed ends the connection.")
def _failed_closes(patcher: Patcher) -> None:
    def replace(reply: Any) -> Any:
        def closing(self: Any, message: Any) -> None:
            reply(self, message)
            if isinstance(message, ConditionalCheckFailed):
                self.close("the condition does not hold")

        return closing

    patcher.wrap(StoreLink, "reply", replace)


@MUTANTS.declare("condition-before-number", "The offset of a conditional append is checked before its writer's number.")
def _before_number(patcher: Patcher) -> None:
    def offset_first(append: Any, self: Any, arguments: Any) -> None:
        writer = self._writers.get(arguments[0])
        segment = None if writer is None else self._segments.find(writer.segment)
        if segment is not None and arguments[4] not in (_ANY_OFFSET, segment.length) and not segment.is_sealed:
            self._replies.reply(
                ConditionalCheckFailed(writer_id=arguments[0], event_number=arguments[3], request_id=arguments[5])
            )
            return
        append(self, *arguments)

    reappend(patcher, offset_first)
