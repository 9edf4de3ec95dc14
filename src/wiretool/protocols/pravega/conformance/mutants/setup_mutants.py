"""Defects of writers: their set-up, their numbers, their connections."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.append_mutants import reappend
from wiretool.protocols.pravega.conformance.mutants.patches import rereply
from wiretool.protocols.pravega.messages import AppendSetup
from wiretool.protocols.pravega.server import appending
from wiretool.protocols.pravega.server.appending import Appending
from wiretool.protocols.pravega.server.refusals import violation
from wiretool.protocols.pravega.server.segments import NONE_I64, SegmentSealed

MUTANTS = Mutants()


@MUTANTS.declare("setup-new-writer-at-zero", "AppendSetup has the event number 0 for a new writer.")
def _at_zero(patcher: Patcher) -> None:
    rereply(
        patcher,
        lambda message: (
            replaced(message, last_event_number=0)
            if isinstance(message, AppendSetup) and message.last_event_number == NONE_I64
            else message
        ),
    )


@MUTANTS.declare("setup-forgets", "AppendSetup never names a stored event number.")
def _forgets(patcher: Patcher) -> None:
    rereply(
        patcher,
        lambda message: replaced(message, last_event_number=NONE_I64) if isinstance(message, AppendSetup) else message,
    )


@MUTANTS.declare("setup-sealed-refused", "No writer is set up on a sealed segment.")
def _sealed_refused(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def strict(self: Any, setup: Any, now_ns: int) -> None:
            if self._segments.info(setup.segment).is_sealed:
                raise SegmentSealed(setup.segment)
            set_up(self, setup, now_ns)

        return strict

    patcher.wrap(Appending, "set_up", replace)


@MUTANTS.declare("setup-creates", "The set-up of a writer creates the segment that is missing.")
def _creates(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def creating(self: Any, setup: Any, now_ns: int) -> None:
            if not self._segments.exists(setup.segment):
                self._segments.create_segment(setup.segment, now_ns)
            set_up(self, setup, now_ns)

        return creating

    patcher.wrap(Appending, "set_up", replace)


@MUTANTS.declare(
    "number-check-lost", "A writer continues at the event number that another connection of it has reached."
)
def _check_lost(patcher: Patcher) -> None:
    def synced(append: Any, self: Any, arguments: Any) -> None:
        writer_id = arguments[0]
        writer = self._writers.get(writer_id)
        segment = None if writer is None else self._segments.find(writer.segment)
        if segment is not None:
            writer.last = segment.attributes.get(writer_id, NONE_I64)
        append(self, *arguments)

    reappend(patcher, synced)


@MUTANTS.declare("overtaken-stays-open", "A connection whose writer was overtaken by another connection is not closed.")
def _stays_open(patcher: Patcher) -> None:
    def replace(break_off: Any) -> Any:
        def refusing(self: Any, writer_id: str, number: int, request_id: int) -> None:
            close, self._replies.close = self._replies.close, lambda why: None
            break_off(self, writer_id, number, request_id)
            self._replies.close = close

        return refusing

    patcher.wrap(Appending, "_break", replace)


@MUTANTS.declare("overtaken-unanswered", "The connection of an overtaken writer is closed without InvalidEventNumber.")
def _unanswered(patcher: Patcher) -> None:
    patcher.wrap(
        Appending,
        "_break",
        lambda break_off: lambda self, writer_id, number, request_id: self._replies.close("moved on"),
    )


@MUTANTS.declare("overtaken-number-late", "InvalidEventNumber has the event number -1 in every version.")
def _number_late(patcher: Patcher) -> None:
    patcher.set(appending, "_EVENT_NUMBER_SINCE", 99)


@MUTANTS.declare("overtaken-number-early", "InvalidEventNumber has the event number in every version.")
def _number_early(patcher: Patcher) -> None:
    patcher.set(appending, "_EVENT_NUMBER_SINCE", 1)


@MUTANTS.declare("one-writer-a-connection", "The set-up of a second writer ends the first on its connection.")
def _one_writer(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def alone(self: Any, setup: Any, now_ns: int) -> None:
            self._writers.clear()
            set_up(self, setup, now_ns)

        return alone

    patcher.wrap(Appending, "set_up", replace)


@MUTANTS.declare("numbers-of-a-connection", "All writers of a connection share one sequence of event numbers.")
def _of_a_connection(patcher: Patcher) -> None:
    highest: dict[Any, int] = {}

    def strict(append: Any, self: Any, arguments: Any) -> None:
        number = arguments[3]
        if number < highest.get(self, NONE_I64):
            raise violation("event-number-backwards", f"event {number}", "AppendBlockEnd")
        highest[self] = number
        append(self, *arguments)

    reappend(patcher, strict)


@MUTANTS.declare("rebinding-ignored", "A writer that is set up for another segment stays at the first.")
def _rebinding_ignored(patcher: Patcher) -> None:
    def bind(bind_: Any) -> Any:
        def noting(self: Any, setup: Any) -> None:
            self.bound_before = self._writers.get(setup.writer_id)
            bind_(self, setup)

        return noting

    def set_up(set_up_: Any) -> Any:
        def restoring(self: Any, setup: Any, now_ns: int) -> None:
            set_up_(self, setup, now_ns)
            before = self.bound_before
            if before is not None and before.segment != setup.segment:
                self._writers[setup.writer_id] = before

        return restoring

    patcher.wrap(Appending, "bind", bind)
    patcher.wrap(Appending, "set_up", set_up)


@MUTANTS.declare("failed-setup-keeps", "A set-up that fails leaves the writer at its segment before.")
def _failed_keeps(patcher: Patcher) -> None:
    def replace(bind: Any) -> Any:
        def keeping(self: Any, setup: Any) -> None:
            before = self._writers.get(setup.writer_id)
            bind(self, setup)
            if before is not None:
                self._writers[setup.writer_id] = before

        return keeping

    patcher.wrap(Appending, "bind", replace)


@MUTANTS.declare("setup-needs-no-answer", "An append that arrives together with its SetupAppend is stored.")
def _needs_no_answer(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def ready(self: Any, setup: Any, now_ns: int) -> None:
            set_up(self, setup, now_ns)
            self._writers[setup.writer_id].turn = -1

        return ready

    patcher.wrap(Appending, "set_up", replace)


@MUTANTS.declare("number-of-any-segment", "AppendSetup names the writer's event number from any segment.")
def _of_any_segment(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def wide(self: Any, setup: Any, now_ns: int) -> None:
            segment = self._segments.info(setup.segment)
            every = (each.attributes.get(setup.writer_id) for each in self._segments._segments.values())
            found = next((number for number in every if number is not None), None)
            if found is not None:
                segment.attributes.setdefault(setup.writer_id, found)
            set_up(self, setup, now_ns)

        return wide

    patcher.wrap(Appending, "set_up", replace)


@MUTANTS.declare("writer-names-swapped", "AppendSetup has the two halves of the writer's id in the other order.")
def _names_swapped(patcher: Patcher) -> None:
    def swapped(message: Any) -> Any:
        if not isinstance(message, AppendSetup):
            return message
        digits = message.writer_id.replace("-", "")
        other = digits[16:] + digits[:16]
        name = "-".join((other[:8], other[8:12], other[12:16], other[16:20], other[20:]))
        return replaced(message, writer_id=name)

    rereply(patcher, swapped)
