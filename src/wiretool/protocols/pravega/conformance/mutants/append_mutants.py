"""Defects of appends: numbers, acknowledgements, conditions, refusals."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.appends import Appends, bodies_of
from wiretool.protocols.pravega.failures import SegmentIsSealed
from wiretool.protocols.pravega.server import appending
from wiretool.protocols.pravega.server.acks import ack
from wiretool.protocols.pravega.server.appending import Appending
from wiretool.protocols.pravega.server.link import StoreLink
from wiretool.protocols.pravega.server.refusals import violation

MUTANTS = Mutants()


def reappend(patcher: Patcher, replace: Any) -> None:
    """Replace the storing of an append.

    `replace` gets the function that stores, the appends of the connection, and the arguments: writer's name, data,
    number of events, event number, expected length, request id, time.
    """

    def wrapped(append: Any) -> Any:
        def changed(self: Any, *arguments: Any) -> None:
            replace(append, self, arguments)

        return changed

    patcher.wrap(Appending, "_append", wrapped)


def _reack(patcher: Patcher, change: Any) -> None:
    """Change acknowledgements: a function of the event number, the one before, the request id and the length."""

    def replace(ack: Any) -> Any:
        return lambda head, *values: ack(head, *change(head, *values))

    patcher.wrap(appending, "ack", replace)


def _loosen(patcher: Patcher, **methods: Any) -> None:
    """Replace methods of the server's decoder of appends."""
    patcher.set(appending, "Appends", type("LooseAppends", (Appends,), methods))


# -- acknowledgements --------------------------------------------------------------------------------------------------


@MUTANTS.declare("ack-previous", "DataAppended names its own number as the previous one.")
def _ack_repeats_number(patcher: Patcher) -> None:
    _reack(patcher, lambda head, number, previous, request_id, length: (number, number, request_id, length))


@MUTANTS.declare("ack-first-id", "All acknowledgements of a writer have the request id of its first append.")
def _ack_first_id(patcher: Patcher) -> None:
    first: dict[bytes, int] = {}
    _reack(
        patcher,
        lambda head, number, previous, request_id, length: (
            number,
            previous,
            first.setdefault(head, request_id),
            length,
        ),
    )


@MUTANTS.declare("ack-length-of-append", "An acknowledgement has the length of the append, not that of the segment.")
def _ack_length(patcher: Patcher) -> None:
    def noting(append: Any, self: Any, arguments: Any) -> None:
        sizes.append(len(arguments[1]))
        append(self, *arguments)

    sizes = [0]
    reappend(patcher, noting)
    _reack(
        patcher,
        lambda head, number, previous, request_id, length: (number, previous, request_id, sizes[-1]),
    )


@MUTANTS.declare("ack-lost", "Of appends that arrive together, none but the first is acknowledged.")
def _ack_lost(patcher: Patcher) -> None:
    def replace(reply_frame: Any) -> Any:
        def once(self: Any, name: str, frame: bytes) -> None:
            if name != "DataAppended" or getattr(self, "ack_turn", -1) != self.turn:
                reply_frame(self, name, frame)
            if name == "DataAppended":
                self.ack_turn = self.turn

        return once

    patcher.wrap(StoreLink, "reply_frame", replace)


@MUTANTS.declare("ack-without-bytes", "An append of no bytes is not acknowledged.")
def _ack_without_bytes(patcher: Patcher) -> None:
    def silent(append: Any, self: Any, arguments: Any) -> None:
        if arguments[1]:
            append(self, *arguments)

    reappend(patcher, silent)


@MUTANTS.declare("append-lost", "Every append is acknowledged, and none of more than 12 bytes is stored.")
def _append_lost(patcher: Patcher) -> None:
    def lost(append: Any, self: Any, arguments: Any) -> None:
        self.keeps = "nothing" if len(arguments[1]) > 12 else ""
        append(self, *arguments)

    reappend(patcher, lost)


@MUTANTS.declare("append-twice", "Every append is stored twice.")
def _append_twice(patcher: Patcher) -> None:
    def twice(append: Any, self: Any, arguments: Any) -> None:
        self.keeps = "twice"
        append(self, *arguments)

    reappend(patcher, twice)


# -- numbers -----------------------------------------------------------------------------------------------------------


@MUTANTS.declare("number-equal-acked", "An append that repeats the last number is acknowledged.")
def _equal_acked(patcher: Patcher) -> None:
    def acking(append: Any, self: Any, arguments: Any) -> None:
        writer_id, number, request_id = arguments[0], arguments[3], arguments[5]
        writer = self._writers.get(writer_id)
        is_repeated = writer is not None and number == writer.acked
        append(self, *arguments)
        if is_repeated:
            segment = self._segments.find(writer.segment)
            length = 0 if segment is None else segment.length
            self._replies.reply_frame("DataAppended", ack(writer.head, number, number, request_id, length))

    reappend(patcher, acking)


@MUTANTS.declare("number-equal-dropped", "An append that repeats the last number is not stored.")
def _equal_dropped(patcher: Patcher) -> None:
    def dropping(append: Any, self: Any, arguments: Any) -> None:
        writer = self._writers.get(arguments[0])
        if writer is None or arguments[3] != writer.last:
            append(self, *arguments)

    reappend(patcher, dropping)


@MUTANTS.declare("number-lower-dropped", "An append with a lower number than the last one is dropped.")
def _lower_dropped(patcher: Patcher) -> None:
    def finish(self: Any, end: Any) -> Any:
        _forget_number(self, end.writer_id, end.last_event_number)
        return Appends.finish(self, end)

    def condition(self: Any, append: Any) -> Any:
        _forget_number(self, append.writer_id, append.event_number)
        return Appends.condition(self, append)

    def dropping(append: Any, self: Any, arguments: Any) -> None:
        writer = self._writers.get(arguments[0])
        if writer is None or arguments[3] >= writer.last:
            append(self, *arguments)

    _loosen(patcher, finish=finish, condition=condition)
    reappend(patcher, dropping)


def _forget_number(appends: Any, writer_id: str, number: int) -> None:
    writer = appends.writers.get(writer_id)
    if writer is not None:
        writer.last = min(writer.last, number)


@MUTANTS.declare("number-negative-taken", "Numbers of a new writer may begin below 0.")
def _negative_taken(patcher: Patcher) -> None:
    def finish(self: Any, end: Any) -> Any:
        if end.last_event_number < 0:
            _forget_number(self, end.writer_id, end.last_event_number)
        return Appends.finish(self, end)

    _loosen(patcher, finish=finish)


@MUTANTS.declare("number-of-32-bits", "Event numbers are kept in 32 bits.")
def _of_32_bits(patcher: Patcher) -> None:
    def narrow(append: Any, self: Any, arguments: Any) -> None:
        append(self, *arguments[:3], arguments[3] & 0x7FFFFFFF, *arguments[4:])

    reappend(patcher, narrow)


@MUTANTS.declare("unknown-writer-ignored", "Appends of writers that are not set up are dropped.")
def _unknown_ignored(patcher: Patcher) -> None:
    def replace(call: Any) -> Any:
        def known(self: Any, message: Any, *rest: Any) -> None:
            if message.writer_id in self.appends.writers:
                call(self, message, *rest)

        return known

    for name in ("begin", "finish", "append_event", "append_raw"):
        patcher.wrap(Appending, name, replace)


# -- what is appended --------------------------------------------------------------------------------------------------


@MUTANTS.declare("events-none-taken", "An append of no events is stored.")
def _none_taken(patcher: Patcher) -> None:
    def finish(self: Any, end: Any) -> Any:
        return Appends.finish(self, replaced(end, num_events=max(end.num_events, 1)))

    _loosen(patcher, finish=finish)


@MUTANTS.declare(
    "events-counted", "An append whose num_events differs from its number of event frames ends the connection."
)
def _counted(patcher: Patcher) -> None:
    def strict(append: Any, self: Any, arguments: Any) -> None:
        if len(bodies_of(arguments[1], 2**31)) != arguments[2]:
            raise violation("bad-event-count", "num_events differs from the event frames", "AppendBlockEnd")
        append(self, *arguments)

    reappend(patcher, strict)


@MUTANTS.declare("lone-size-checked", "A lone append whose size of whole events is wrong ends the connection.")
def _lone_checked(patcher: Patcher) -> None:
    def finish(self: Any, end: Any) -> Any:
        if self._block is None and end.size_of_whole_events != len(end.data):
            raise violation("bad-whole-size", "size_of_whole_events differs from the data", "AppendBlockEnd")
        return Appends.finish(self, end)

    _loosen(patcher, finish=finish)


@MUTANTS.declare("event-header-dropped", "A conditional append is stored without the header of its event.")
def _header_dropped(patcher: Patcher) -> None:
    patcher.set(appending, "event_frame", lambda body: body)


@MUTANTS.declare("read-after-append-late", "An append becomes readable only with the next append to the segment.")
def _kept_late(patcher: Patcher) -> None:
    def late(append: Any, self: Any, arguments: Any) -> None:
        self.keeps = "late"
        append(self, *arguments)

    reappend(patcher, late)


# -- refusals ----------------------------------------------------------------------------------------------------------


@MUTANTS.declare("append-to-sealed", "A sealed segment takes appends.")
def _to_sealed(patcher: Patcher) -> None:
    def anyway(append: Any, self: Any, arguments: Any) -> None:
        writer = self._writers.get(arguments[0])
        segment = None if writer is None else self._segments.find(writer.segment)
        if segment is None or not segment.is_sealed:
            append(self, *arguments)
            return
        segment.is_sealed = False
        append(self, *arguments)
        segment.is_sealed = True

    reappend(patcher, anyway)


def _rerefuse(patcher: Patcher, replace: Any) -> None:
    """Replace the refusal of an append: a function of the one that refuses, the appends and its arguments."""

    def wrapped(refuse: Any) -> Any:
        def changed(self: Any, writer_id: str, number: int, request_id: int, *, is_sealed: bool) -> None:
            replace(refuse, self, writer_id, number, request_id, is_sealed)

        return changed

    patcher.wrap(Appending, "_refuse", wrapped)


@MUTANTS.declare("sealed-offset-is-length", "The refusal of an append has a length, not its number.")
def _offset_is_length(patcher: Patcher) -> None:
    def length(refuse: Any, self: Any, writer_id: str, number: int, request_id: int, is_sealed: bool) -> None:
        segment = self._segments.find(self._writers[writer_id].segment)
        refuse(self, writer_id, number if segment is None else segment.length + 64, request_id, is_sealed=is_sealed)

    _rerefuse(patcher, length)


@MUTANTS.declare("sealed-ends-connection", "The refusal of an append ends the connection.")
def _ends_connection(patcher: Patcher) -> None:
    def closing(refuse: Any, self: Any, writer_id: str, number: int, request_id: int, is_sealed: bool) -> None:
        refuse(self, writer_id, number, request_id, is_sealed=is_sealed)
        self._replies.close("the append was refused")

    _rerefuse(patcher, closing)


@MUTANTS.declare("deleted-is-sealed", "An append to a segment that was deleted is refused as if it were sealed.")
def _deleted_is_sealed(patcher: Patcher) -> None:
    def sealed(refuse: Any, self: Any, writer_id: str, number: int, request_id: int, is_sealed: bool) -> None:
        name = self._writers[writer_id].segment
        self._replies.reply(SegmentIsSealed(request_id=request_id, segment=name, offset=number))

    _rerefuse(patcher, sealed)
