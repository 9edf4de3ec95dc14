"""The state of many watches as arrays, while each side of their connections goes on with whole frames in order."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from wiretool.batches.batch import Ends
from wiretool.capture.columns.steady_flows import flows_of
from wiretool.capture.tcp.stream_events import Connection
from wiretool.codec.columns import Flags, Integers
from wiretool.dissect.columns.frame_groups import FrameGroups
from wiretool.dissect.columns.held_bytes import NO_MARKS, HeldBytes, Marks
from wiretool.dissect.columns.lent_watch import Unfinished
from wiretool.dissect.columns.placing import PlacedFrames
from wiretool.dissect.columns.watch import BulkWatch, EndedBulkWatch
from wiretool.ledger import ConnectionAccount
from wiretool.protocols.base.columns import NewFrames, OpeningReader, ProtocolColumns, SteadyReader
from wiretool.protocols.base.conversation import Conversation

#: Of a connection: the index of its reader, the latest packet in which a frame began, and what is not in its account.
_COUNTS = ("payload_bytes", "frames", "frame_bytes")
_WATCH = np.dtype([(name, np.int64) for name in ("reader", "latest", *_COUNTS)])
#: Of a flow: the offset and extent of its unfinished frame, how much of it is held, and whether the next byte that is
#: held, or comes, is the first of a frame.
_FLOW = np.dtype([("offset", np.int64), ("need", np.int64), ("held", np.int64), ("is_in_step", np.bool_)])
_ABSENT = -1
#: Makes the watch of a connection with an account and a conversation.
WatchFor = Callable[[Connection, ConnectionAccount, Conversation], BulkWatch]


class SteadyWatches:
    """Watches by the slot of their connection; flow `2 * slot` is the client's, the next one the server's.

    From `take_over` or `open` until `release` the arrays own what whole frames in order change. The watches are out of
    date, or are not made yet.
    """

    def __init__(self, watch_for: WatchFor | None = None) -> None:
        """`watch_for` returns a new watch of a connection that `open` took, which was read up to now."""
        self._watch_for = watch_for
        self._watches: dict[int, BulkWatch] = {}
        self._connections: dict[int, Connection] = {}
        self._accounts: dict[int, ConnectionAccount] = {}
        self._slot_of: dict[Connection, int] = {}
        self._free: list[int] = []
        self._ends: dict[int, Ends] = {}
        self._readers: list[SteadyReader] = []
        self._of_slot = np.zeros(0, _WATCH)
        self._of_flow = np.zeros(0, _FLOW)
        self._held = HeldBytes()
        self._groups = FrameGroups()

    @property
    def cost(self) -> int:
        """Return the memory that unfinished frames take, in bytes."""
        return int(self._of_flow["held"].sum()) + self._held.marks_cost

    def has(self, connection: Connection) -> bool:
        """Return whether the state of the watch over a connection is here."""
        return connection in self._slot_of

    def account(self, connection: Connection) -> ConnectionAccount | None:
        """Return the account of a connection, None if it is not here; what is counted here is not in it yet."""
        return self._accounts[self._slot_of[connection]] if self.has(connection) else None

    def slots_of(self, connections: Iterable[Connection]) -> Integers:
        """Return the slots of connections, -1 of those that are not here."""
        slots, absent = self._slot_of, _ABSENT
        return np.array([slots.get(each, absent) for each in connections], np.int64)

    def latest(self, slots: Integers) -> Integers:
        """Return by slot the latest packet in which a frame began."""
        latest: Integers = self._of_slot["latest"][slots]
        return latest

    def readers(self, slots: Integers) -> tuple[Integers, Sequence[SteadyReader]]:
        """Return the index of the reader of each connection, -1 of one that is not here, and all readers."""
        indices, is_here = np.full(len(slots), _ABSENT), slots != _ABSENT
        indices[is_here] = self._of_slot["reader"][slots[is_here]]
        return indices, self._readers

    def ends(self, slots: Integers) -> list[Ends]:
        """Return the numbers and ends of connections."""
        return [self._ends[slot] for slot in slots.tolist()]

    def protocol(self, slot: int) -> str:
        """Return the name of the protocol of a connection."""
        return self._accounts[slot].protocol

    def may_go_on(self, flows: Integers, sizes: Integers) -> Flags:
        """Return whether so many bytes of each flow can be read here.

        Not where they do not complete a frame: to join what is held each time would be slow.
        """
        state = self._of_flow[flows]
        may_go_on: Flags = state["is_in_step"] & (sizes >= state["need"] - state["held"])
        return may_go_on

    # -- owners ----------------------------------------------------------------------------------------------------

    def take_over(self, watches: Sequence[BulkWatch], columns: Sequence[ProtocolColumns]) -> Integers:
        """Own the state of these watches from now on, read by these columns; return their slots."""
        places = self._reserve(len(watches))
        rests: dict[int, bytes] = {}
        marks: list[tuple[int, int, int, int]] = []
        by_slot: list[tuple[int, ...]] = []
        by_flow: list[tuple[int, int, int, bool]] = []
        for slot, watch, each in zip(places.tolist(), watches, columns, strict=True):
            latest, sides = watch.lend()
            reader = self._reader(each)
            self._readers[reader].take_over(slot, watch.conversation)
            by_slot.append((reader, latest, 0, 0, 0))
            for flow, (offset, need, rest, early, is_in_step) in enumerate(sides, 2 * slot):
                by_flow.append((offset, need, len(rest), is_in_step))
                if rest:
                    rests[flow] = rest
                    marks += [(flow, *mark) for mark in early]
            self._watches[slot] = watch
            self._note(slot, watch.connection, watch.account)
        self._of_slot[places] = by_slot
        self._of_flow[flows_of(places)] = by_flow
        if rests:
            self._held.add(rests, Marks(*np.array(marks, np.int64).reshape(-1, 4).T))
        return places

    def open(
        self,
        connections: Sequence[Connection],
        accounts: Sequence[ConnectionAccount],
        columns: ProtocolColumns,
        frames: NewFrames,
        indices: Integers,
    ) -> Integers:
        """Own connections whose first frames were read without watches; return their slots.

        They have these indices in the frames.
        """
        slots = self._reserve(len(connections))
        index = self._reader(columns)
        reader = self._readers[index]
        assert isinstance(reader, OpeningReader), "other protocols have no connections that may go on"
        reader.open(slots, frames, indices)
        self._of_slot[slots] = np.array((index, 0, 0, 0, 0), _WATCH)
        self._of_flow[flows_of(slots)] = np.array((0, 0, 0, True), _FLOW)
        for each in zip(slots.tolist(), connections, accounts, strict=True):
            self._note(*each)
        return slots

    def _note(self, slot: int, connection: Connection, account: ConnectionAccount) -> None:
        self._connections[slot], self._accounts[slot] = connection, account
        self._slot_of[connection] = slot
        self._ends[slot] = Ends(connection.id, connection.client, connection.server)

    def _watch(self, slot: int, conversation: Conversation) -> BulkWatch:
        """Return the watch in a slot, which is made if there is none."""
        watch = self._watches.pop(slot, None)
        if watch is None:
            assert self._watch_for is not None, "connections were opened here"
            watch = self._watch_for(self._connections[slot], self._accounts[slot], conversation)
        return watch

    def release(self, connections: Iterable[Connection] | None = None) -> None:
        """Bring the watches over connections up to date, if they are here; they own their state from now on.

        Without connections, those over all.
        """
        slots = np.unique(self.slots_of(list(self._slot_of) if connections is None else connections))
        slots = slots[slots != _ABSENT]
        if not len(slots):
            return
        self.update_accounts()
        groups = self._groups.take(slots, len(self._of_slot))
        conversations: dict[int, Conversation] = {}
        for index, reader in enumerate(self._readers):
            mine = slots[self._of_slot["reader"][slots] == index]
            conversations.update(zip(mine.tolist(), reader.release(mine), strict=True))
        flows = flows_of(slots)
        held = self._held.take(flows, len(self._of_flow))
        states = zip(flows.tolist(), self._of_flow[flows].tolist(), strict=True)
        sides = [
            Unfinished(offset, need, *held.get(flow, (b"", [])), is_in_step)
            for flow, (offset, need, _, is_in_step) in states
        ]
        rows = zip(slots.tolist(), self._of_slot[slots].tolist(), strict=True)
        for at, (slot, (_, latest, *_)) in enumerate(rows):
            watch = self._watch(slot, conversations[slot])
            watch.take_back(latest, sides[2 * at : 2 * at + 2])
            watch.note_groups(*groups.get(slot, ((), ())))
            del self._slot_of[self._connections.pop(slot)], self._ends[slot], self._accounts[slot]
        self._free += slots.tolist()
        self._of_flow["held"][flows] = 0

    def close(self, connections: Sequence[Connection], next_n: Callable[[], int]) -> Flags:
        """End those of these connections that have no watch and no unfinished frame; return which these are."""
        slots = self.slots_of(connections)
        is_closed: Flags = slots != _ABSENT
        is_closed &= np.array([slot not in self._watches for slot in slots.tolist()], np.bool_)
        slots = slots[is_closed]
        is_whole = ~self._of_flow["held"][flows_of(slots)].reshape(-1, 2).any(1)
        is_closed[is_closed] = is_whole
        slots = slots[is_whole]
        if not len(slots):
            return is_closed
        reader_of, _ = self.readers(slots)
        self._count(slots)
        self._groups.drop(slots, len(self._of_slot))
        for index, reader in enumerate(self._readers):
            reader.forget(slots[reader_of == index])
        for slot in slots.tolist():
            connection = self._connections.pop(slot)
            connection.reader = EndedBulkWatch(self._accounts.pop(slot), next_n)
            del self._slot_of[connection], self._ends[slot]
        self._free += slots.tolist()
        return is_closed

    def _reader(self, columns: ProtocolColumns) -> int:
        for index, each in enumerate(self._readers):
            if each.columns is columns:
                return index
        self._readers.append(columns.open())
        return len(self._readers) - 1

    def _reserve(self, count: int) -> Integers:
        """Return free slots."""
        size = len(self._of_slot)
        more = max(count - len(self._free), size) if count > len(self._free) else 0
        if more:
            self._of_slot = np.append(self._of_slot, np.zeros(more, _WATCH))
            self._of_flow = np.append(self._of_flow, np.zeros(2 * more, _FLOW))
            self._free += range(size + more - 1, size - 1, -1)
        slots, self._free = self._free[len(self._free) - count :], self._free[: len(self._free) - count]
        return np.array(slots, np.int64)

    # -- bytes -----------------------------------------------------------------------------------------------------

    def held(self, flows: Integers) -> tuple[Integers, Marks]:
        """Return the number of bytes held of each flow, and when they came; there the flows are places in `flows`."""
        sizes = self._of_flow["held"][flows]
        return sizes, self._held.marks(flows, len(self._of_flow)) if sizes.any() else NO_MARKS

    def rest(self, flow: int) -> bytes:
        """Return the bytes held of a flow with some."""
        return self._held.rest(flow)

    def offsets(self, flows: Integers) -> Integers:
        """Return the offset of the first byte of each flow that is held, or comes."""
        offsets: Integers = self._of_flow["offset"][flows]
        return offsets

    def pass_bytes(
        self,
        flows: Integers,
        sizes: Integers,
        offsets: Integers,
        needs: Integers,
        rests: Mapping[int, bytes],
        marks: Marks,
    ) -> None:
        """Count the new bytes of flows, of which all frames before an offset were read.

        `rests` waits there, by flow; the extent of its frame is in `needs`.
        """
        self._of_slot["payload_bytes"] += np.bincount(flows >> 1, sizes, len(self._of_slot)).astype(np.int64)
        state = self._of_flow
        state["offset"][flows], state["need"][flows] = offsets, needs
        held = flows[state["held"][flows] > 0]
        if len(held):
            self._held.take(held, len(self._of_flow))
            state["held"][held] = 0
        if rests:
            state["held"][list(rests)] = [len(rest) for rest in rests.values()]
            self._held.add(rests, marks)

    # -- frames ----------------------------------------------------------------------------------------------------

    def note_frames(self, slots: Integers, placed: PlacedFrames, is_read: Flags) -> None:
        """Count the frames of connections that were read, and note when they were emitted; both by their owners."""
        is_mine = is_read[placed.owner]
        sizes, count = placed.frames.ends - placed.frames.starts, len(slots)
        mine = slots[is_read]
        self._of_slot["frames"][mine] += np.bincount(placed.owner, minlength=count)[is_read]
        self._of_slot["frame_bytes"][mine] += np.bincount(placed.owner, sizes, count).astype(np.int64)[is_read]
        np.maximum.at(self._of_slot["latest"], slots[placed.owner[is_mine]], placed.first[is_mine])
        firsts = placed.stretches[is_mine[placed.stretches]]
        columns = slots[placed.owner[firsts]], placed.frames.numbers[firsts], placed.first[firsts]
        self._groups.add(*columns, len(self._of_slot))

    def update_accounts(self) -> None:
        """Add to the accounts of connections what was counted here."""
        state = self._of_slot
        self._count(np.flatnonzero(state["payload_bytes"] | state["frames"]))

    def _count(self, slots: Integers) -> None:
        """Do so for the connections in these slots."""
        state = self._of_slot
        columns = (state[name][slots].tolist() for name in _COUNTS)
        for slot, payload_bytes, frames, frame_bytes in zip(slots.tolist(), *columns, strict=True):
            account = self._accounts[slot].account
            account.payload_bytes += payload_bytes
            account.frames += frames
            account.frame_bytes += frame_bytes
        for name in _COUNTS:
            state[name][slots] = 0
