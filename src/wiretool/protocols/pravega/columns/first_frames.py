"""The first frames of connections, or all of them, as columns, without a session for each.

They begin with their greetings; one writer is set up, appends in order, and has its acknowledgements.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from wiretool import limits
from wiretool.codec.columns import NO_INTEGERS, Flags, Integers, begins_of
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.protocols.pravega.appends import spans_of
from wiretool.protocols.pravega.columns.blocks import ACK, BLOCK, CATALOGUE, END
from wiretool.protocols.pravega.columns.kinds import Kind, Kinds
from wiretool.protocols.pravega.columns.open_writers import NewWriters, OpenRequests
from wiretool.protocols.pravega.columns.sent_appends import NO_WAITING, Appends, Half, falls
from wiretool.protocols.pravega.messages import AppendSetup, Hello, SetupAppend

_HELLO, _SET_UP, _IS_SET_UP = (CATALOGUE.codes[cls] for cls in (Hello, SetupAppend, AppendSetup))
#: By code, False at the end for frames that are read one by one.
_IS_READ = np.isin(np.arange(len(CATALOGUE.classes) + 1), (BLOCK, END, ACK, _HELLO, _SET_UP, _IS_SET_UP))
#: A row before all others.
_NEVER = -1


class FirstReading:
    """Settles the frames of whole connections, ordered by connection, as a new session of each would."""

    def __init__(self, found: Kinds, owner: Integers, count: int, segments: dict[str | None, int]) -> None:
        """`owner` is the connection of each frame, out of `count`; `segments` has codes of segments, and grows."""
        self._kinds = found.kinds
        self._owner = owner
        self._count = count
        self._segments = segments
        #: By connection: whether it is read here.
        self.is_plain = np.bincount(owner, minlength=count) <= limits.REQUESTS_OPEN_MAX
        self.is_plain[owner[~_IS_READ[found.codes]]] = False
        #: Whether arrays can hold its state at the end.
        self._may_go_on = np.ones(count, np.bool_)
        self._requests = OpenRequests(*(np.full(count, NO_REPLY) for _ in range(3)))
        self._have_writers = np.ones(count, np.bool_)

    def settle(self) -> tuple[Flags, Flags, NewWriters]:
        """Note what each frame answers, or appends to.

        Return the connections that were read, those of them that may go on, and the writers of all.
        """
        self._greet()
        ids, names = self._set_up()
        return self._settle_appends(ids, names, are_whole=True)

    def _settle_appends(
        self, ids: Integers, names: Sequence[str | None], *, are_whole: bool
    ) -> tuple[Flags, Flags, NewWriters]:
        """Match acknowledgements with the appends of the writers with these ids and segments."""
        sent, acks = self._half(END, "last_event_number"), self._half(ACK, "event_number")
        self._leave(sent.owner[sent.numbers < 0])
        for half in (sent, acks):
            self._leave(half.owner[1:][falls(half.owner, half.numbers)])
        appends = Appends(sent, NO_WAITING, self._count)
        acks.add(appends.answered_by(acks))
        last = np.zeros(self._count, np.int64)
        has_new, numbers = appends.last()
        last[has_new] = numbers
        waiting = appends.waiting(acks)
        writers = NewWriters(ids, last, names, waiting, self._have_writers, self._requests, are_whole=are_whole)
        return self.is_plain, self.is_plain & self._may_go_on, writers

    def settle_middle(self, is_first: Flags) -> tuple[Flags, Flags, NewWriters]:
        """Do so for connections whose beginning was not captured: one writer appends, and has acknowledgements.

        `is_first`: a frame is whole in the first payload of its flow.
        """
        kinds, owner = self._kinds, self._owner
        for code in (_HELLO, _SET_UP, _IS_SET_UP):
            if code in kinds:
                self._leave(owner[kinds[code].rows])
        ids, several = find_writers(kinds, owner, self._count)
        self._leave(several)
        end, ack = kinds.get(END), kinds.get(ACK)
        if ack is not None:
            numbers = ack.numbers("event_number")
            is_odd = (numbers < 0) | (ack.numbers("previous_event_number") >= numbers)
            self._leave(owner[ack.rows[is_odd & is_first[ack.rows]]])
        self._may_go_on[:] = False
        if end is not None:
            self._leave(self._without_lone_append(end))
            self._may_go_on[owner[end.rows]] = True
            end.added[:] = self._segments.setdefault(None, len(self._segments))
        return self._settle_appends(ids, [None] * self._count, are_whole=False)

    def _without_lone_append(self, end: Kind) -> Integers:
        """Return the connections whose first append may miss its block, or does not begin its flow."""
        owner = self._owner
        firsts = begins_of(owner[end.rows])
        spans, rows = end.spans("data"), end.rows[firsts]
        columns = spans.starts[firsts], spans.lengths[firsts], end.numbers("num_events")[firsts]
        whole = end.numbers("size_of_whole_events")[firsts] == columns[1]
        values = zip(*(column.tolist() for column in columns), strict=True)
        data = end.frames.data
        has_events = [len(spans_of(data, at, at + size, count)) == count for at, size, count in values]
        odd = list[Integers]([owner[rows[~(whole & np.array(has_events, np.bool_))]]])
        block = self._kinds.get(BLOCK)
        if block is not None:
            first_row = np.full(self._count, len(owner))
            first_row[owner[rows]] = rows
            odd.append(owner[block.rows[block.rows < first_row[owner[block.rows]]]])
        return np.concatenate(odd)

    def _leave(self, owners: Integers) -> None:
        self.is_plain[owners] = False

    def _half(self, code: int, name: str) -> Half:
        return Half.of(self._kinds.get(code), self._owner, name)

    def _rows_of(self, kind: Kind | None, rows: Integers | None = None) -> Integers:
        """Return the row of the only frame of a kind on each connection; exclude connections that have several."""
        found = np.full(self._count, _NEVER)
        if kind is not None:
            rows = kind.rows if rows is None else rows
            owner = self._owner[rows]
            found[owner] = rows
            self._leave(owner[1:][owner[1:] == owner[:-1]])
        return found

    def _greet(self) -> None:
        """Match the Hello of the server with that of the client."""
        kind = self._kinds.get(_HELLO)
        if kind is None:
            return
        is_server = kind.frames.is_server[kind.rows]
        clients = self._rows_of(kind, kind.rows[~is_server])
        servers = self._rows_of(kind, kind.rows[is_server])
        is_open = servers < clients
        self._requests.hellos[is_open] = kind.frames.numbers[clients[is_open]]
        asked = clients[self._owner[kind.rows]]
        is_answer = is_server & (asked != _NEVER) & (asked < kind.rows)
        kind.added[is_answer] = kind.frames.numbers[asked[is_answer]]

    def _set_up(self) -> tuple[Integers, Sequence[str | None]]:
        """Match each AppendSetup with its SetupAppend; exclude connections with frames of other writers.

        Return the id of each writer, and its segment.
        """
        asking, answering = self._kinds.get(_SET_UP), self._kinds.get(_IS_SET_UP)
        asked = self._rows_of(asking)
        self._have_writers = asked != _NEVER
        is_open = self._have_writers & (self._rows_of(answering) == _NEVER)
        ids, requests = np.zeros((self._count, 2), np.int64), np.zeros(self._count, np.int64)
        codes = np.zeros(self._count, np.int64)
        if asking is not None:
            owner = self._owner[asking.rows]
            ids[owner], requests[owner] = asking.ids(), asking.numbers("request_id")
            codes[owner] = self._codes(asking)
            self._requests.set_ups[is_open] = asking.frames.numbers[asked[is_open]]
            self._requests.set_up_ids[is_open] = requests[is_open]
        for code in (BLOCK, END, ACK, _IS_SET_UP):
            kind = self._kinds.get(code)
            if kind is None:
                continue
            owner, own = self._owner[kind.rows], kind.ids()
            is_known = (asked[owner] != _NEVER) & (asked[owner] < kind.rows)
            self._leave(owner[~is_known | (own[:, 0] != ids[owner, 0]) | (own[:, 1] != ids[owner, 1])])
            if code == END:
                kind.added[:] = codes[owner]
        if answering is not None:
            owner = self._owner[answering.rows]
            self._leave(owner[answering.numbers("request_id") != requests[owner]])
            is_asked = asked[owner] != _NEVER
            answering.added[:] = NO_REPLY
            answering.added[is_asked] = answering.frames.numbers[asked[owner[is_asked]]]
            self._may_go_on[owner[self._codes(answering) != codes[owner]]] = False
        names = list(self._segments) or [""]
        return ids, [names[code] for code in codes.tolist()]

    def _codes(self, kind: Kind) -> Integers:
        """Return the codes of the segments that are named."""
        segments = self._segments
        texts = kind.part(int(kind.rows[0]), int(kind.rows[-1]) + 1).texts("segment")
        return np.array([segments.setdefault(text, len(segments)) for text in texts], np.int64)


def find_writers(kinds: Mapping[int, Kind], owner: Integers, count: int) -> tuple[Integers, Integers]:
    """Return the id of the writer of each connection, out of `count`, and connections that have several writers."""
    ids, several = np.zeros((count, 2), np.int64), [NO_INTEGERS]
    halves = [(owner[kinds[code].rows], kinds[code].ids()) for code in (BLOCK, END, ACK) if code in kinds]
    for owners, own in halves:
        ids[owners[::-1]] = own[::-1]
    for owners, own in halves:
        mine = ids[owners]
        several.append(owners[(mine[:, 0] != own[:, 0]) | (mine[:, 1] != own[:, 1])])
    return ids, np.concatenate(several)
