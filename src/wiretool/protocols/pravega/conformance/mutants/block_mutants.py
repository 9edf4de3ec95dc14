"""Defects of append blocks: their tails, their ends, and what must not come between."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.appends import Appends
from wiretool.protocols.pravega.conformance.mutants.patches import Routes, reroute
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega.server import appending
from wiretool.protocols.pravega.server.refusals import violation

MUTANTS = Mutants()
_PARTIAL_EVENT = -2


def _rejoin(patcher: Patcher, join: Any) -> None:
    """Replace how a block and its end become an append: a function of the appends, the block's data and the end."""
    patcher.set(appending, "Appends", type("LooseAppends", (Appends,), {"_join": join}))


def _tail(block: bytes, end: Any) -> tuple[int, bytes]:
    """Return the type and the data of the tail item of a block."""
    at = end.size_of_whole_events
    kind = int.from_bytes(block[at : at + 4], "big", signed=True)
    length = int.from_bytes(block[at + 4 : at + HEADER_BYTES], "big")
    return kind, block[at + HEADER_BYTES : at + HEADER_BYTES + length]


@MUTANTS.declare("block-stored-whole", "The bytes after the whole events of a block are stored unchanged.")
def _stored_whole(patcher: Patcher) -> None:
    _rejoin(patcher, lambda self, block, end: block + end.data)


@MUTANTS.declare("block-cut-event-lost", "An event that a block cuts is not stored.")
def _cut_lost(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> bytes:
        Appends._join(self, block, end)
        return block[: end.size_of_whole_events]

    _rejoin(patcher, join)


@MUTANTS.declare("block-cut-event-swapped", "The parts of an event that a block cuts are stored in the other order.")
def _cut_swapped(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> bytes:
        whole = Appends._join(self, block, end)
        kind, part = _tail(block, end)
        return block[: end.size_of_whole_events] + end.data + part if kind == _PARTIAL_EVENT else whole

    _rejoin(patcher, join)


@MUTANTS.declare("block-cut-in-header-refused", "A block that cuts an event inside its header ends the connection.")
def _cut_in_header(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> bytes:
        kind, part = _tail(block, end)
        if kind == _PARTIAL_EVENT and len(part) < HEADER_BYTES:
            raise violation("bad-tail-item", "a header in two parts", "AppendBlockEnd")
        return Appends._join(self, block, end)

    _rejoin(patcher, join)


@MUTANTS.declare("block-full-takes-more", "The data of the AppendBlockEnd of a full block is stored.")
def _full_takes_more(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> Any:
        if end.size_of_whole_events == len(block):
            return block + end.data
        return Appends._join(self, block, end)

    _rejoin(patcher, join)


@MUTANTS.declare("block-after-tail-refused", "Bytes after the tail item of a block end the connection.")
def _after_tail(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> bytes:
        _, data = _tail(block, end)
        if 0 <= end.size_of_whole_events < len(block) - HEADER_BYTES - len(data):
            raise violation("bad-tail-item", "bytes after the tail item", "AppendBlockEnd")
        return Appends._join(self, block, end)

    _rejoin(patcher, join)


@MUTANTS.declare("block-tail-unchecked", "An invalid tail item counts as padding.")
def _tail_unchecked(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> bytes:
        try:
            return Appends._join(self, block, end)
        except ProtocolViolation as err:
            if err.kind != "bad-tail-item":
                raise
            return block[: end.size_of_whole_events]

    _rejoin(patcher, join)


@MUTANTS.declare("block-size-clamped", "A size of whole events that the block does not have counts as the nearest.")
def _size_clamped(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> bytes:
        size = min(max(end.size_of_whole_events, 0), len(block))
        if size != end.size_of_whole_events:
            return block[:size]
        return Appends._join(self, block, end)

    _rejoin(patcher, join)


@MUTANTS.declare("block-data-after-padding", "Data after padding is dropped.")
def _data_after_padding(patcher: Patcher) -> None:
    def join(self: Any, block: bytes, end: Any) -> bytes:
        kind, _ = _tail(block, end)
        return Appends._join(self, block, end if kind == _PARTIAL_EVENT else replaced(end, data=b""))

    _rejoin(patcher, join)


@MUTANTS.declare("block-end-of-anyone", "The end of another writer ends a block.")
def _end_of_anyone(patcher: Patcher) -> None:
    def finish(self: Any, end: Any) -> Any:
        if self._block is not None:
            end = replaced(end, writer_id=self._block.writer_id)
        return Appends.finish(self, end)

    patcher.set(appending, "Appends", type("LooseAppends", (Appends,), {"finish": finish}))


@MUTANTS.declare("block-replaced", "A command that is not allowed while a block is open discards the block.")
def _replaced(patcher: Patcher) -> None:
    def dropping(handle: Any) -> Any:
        def drop(self: Any, message: Any, now_ns: int) -> None:
            self._appending.appends.drop_block()
            handle(self, message, now_ns)

        return drop

    def change(routes: Routes) -> Routes:
        for phases in routes.values():
            counted, decode, handle, after = phases["block"]
            if after is None:
                phases["block"] = (counted, decode, dropping(handle), phases["idle"][3])
        return routes

    reroute(patcher, change)


@MUTANTS.declare("block-then-blocks-only", "After a block of a writer, its appends without one end the connection.")
def _blocks_only(patcher: Patcher) -> None:
    def finish(self: Any, end: Any) -> Any:
        had_blocks = self.__dict__.setdefault("had_blocks", set())
        if self._block is not None:
            had_blocks.add(end.writer_id)
        elif end.writer_id in had_blocks:
            raise violation("append-without-block", "a block was expected", "AppendBlockEnd")
        return Appends.finish(self, end)

    patcher.set(appending, "Appends", type("LooseAppends", (Appends,), {"finish": finish}))
