"""Which recorded MESSAGE a live one is: they come when they come, and partitions take turns as they like."""

from collections.abc import Callable, Hashable, Iterator, Mapping

from wiretool.codec.message import Issued, Position
from wiretool.protocols.offramp.messages import MessageEvent
from wiretool.protocols.offramp.replay.consumer_trace import content_of
from wiretool.records import Record
from wiretool.replay.playing.id_map import Values

IsKnown = Callable[[MessageEvent, int], bool]
#: What is noted of a shift of offsets: that a second message had it as well, or which one a message spoke for instead.
_SURE, _DOUBTED = Issued("offsets are sure"), Issued("offsets may be")


class Matcher:
    """Finds it by partition and offset, and by what it says where an offset or a partition is not as it should be.

    How far the offsets of a partition are shifted shows in the first message that is known by what it says. A
    message that speaks against it is not as recorded; the next one, if the two agree, sets it right.
    """

    def __init__(self, role: Position, within: Hashable, values: Values, is_known: IsKnown) -> None:
        """`is_known`: whether there is such a message at that place of the recorded road."""
        self._role = role
        self._within = within
        self._values = values
        self._is_known = is_known

    def match(self, live: MessageEvent, unheard: Mapping[int, Record]) -> int | None:
        """The number of the recorded one, None where there is none."""
        same = ((number, event) for number, event in _messages(unheard) if event.partition == live.partition)
        if not self._values.knows(self._role, self._within, 0):
            return self._match_first(live, same) or self._elsewhere(live, unheard)
        self._set_right(live)
        return self._match_known(live, same) or self._elsewhere(live, unheard)

    @property
    def _shift(self) -> int:
        return int(self._values.live_of(self._role, self._within, 0))

    def _match_first(self, live: MessageEvent, same: Iterator[tuple[int, MessageEvent]]) -> int | None:
        """By what it says; the same offset is best, and will do alone."""
        said = at_offset = None
        content = content_of(live)
        for number, event in same:
            is_said = content_of(event) == content
            if is_said and event.offset == live.offset:
                return number
            said = number if said is None and is_said else said
            at_offset = number if at_offset is None and event.offset == live.offset else at_offset
        return at_offset if said is None else said

    def _match_known(self, live: MessageEvent, same: Iterator[tuple[int, MessageEvent]]) -> int | None:
        """By its offset, unless the next one says the same and has another offset."""
        first: tuple[int, MessageEvent] | None = None
        for number, event in same:
            first = first or (number, event)
            if event.offset + self._shift == live.offset:
                return self._match_offset(live, number, event, first)
        if first is None or content_of(first[1]) != content_of(live):
            return None
        self._doubt(live.offset - first[1].offset)
        return first[0]

    def _match_offset(
        self, live: MessageEvent, number: int, event: MessageEvent, first: tuple[int, MessageEvent]
    ) -> int | None:
        content = content_of(live)
        if number != first[0] and content_of(event) != content and content_of(first[1]) == content:
            self._doubt(live.offset - first[1].offset)
            return first[0]
        if content_of(event) == content:
            self._values.bind(_SURE.kind, self._within, None, True)
        elif self._is_misled(live):
            self._values.shift(self._role.kind, self._within, 0)
            return None
        return number

    def _is_misled(self, live: MessageEvent) -> bool:
        """Whether nothing is shifted after all: the first message said what another one says, which is this one."""
        is_sure = self._values.knows(_SURE, self._within, None)
        return not is_sure and self._shift != 0 and self._is_known(live, live.offset)

    def _doubt(self, shift: int) -> None:
        if not self._values.knows(_SURE, self._within, None):
            self._values.bind(_DOUBTED.kind, self._within, None, shift)

    def _set_right(self, live: MessageEvent) -> None:
        """What the last message spoke for is believed where this one speaks for it, and not for what was known."""
        shift = self._values.live_of(_DOUBTED, self._within, None)
        if shift is None or self._values.knows(_SURE, self._within, None):
            return
        is_old = self._is_known(live, live.offset - self._shift)
        if not is_old and self._is_known(live, live.offset - shift):
            self._values.shift(self._role.kind, self._within, shift)
        self._values.bind(_SURE.kind, self._within, None, True)

    def _elsewhere(self, live: MessageEvent, unheard: Mapping[int, Record]) -> int | None:
        """The next one of another partition that says the same."""
        if self._is_known(live, live.offset - self._shift):
            return None
        seen: set[int] = set()
        for number, event in _messages(unheard):
            if event.partition not in seen and event.partition != live.partition:
                if event.offset == live.offset and content_of(event) == content_of(live):
                    return number
                seen.add(event.partition)
        return None


def _messages(records: Mapping[int, Record]) -> Iterator[tuple[int, MessageEvent]]:
    for number, record in records.items():
        if isinstance(record.fields, MessageEvent):
            yield number, record.fields
