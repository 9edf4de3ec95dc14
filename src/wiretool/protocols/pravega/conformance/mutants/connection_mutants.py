"""Defects of Hello, KeepAlive, and of what connections share."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.patches import Routes, head_of, rehandle, rereply, reroute
from wiretool.protocols.pravega.messages import AppendBlock, Hello, KeepAlive
from wiretool.protocols.pravega.segments import CreateSegment, GetStreamSegmentInfo
from wiretool.protocols.pravega.server import link
from wiretool.protocols.pravega.server.link import OLDEST_VERSION, StoreLink
from wiretool.protocols.pravega.server.mock import PravegaMock

MUTANTS = Mutants()
_NS_PER_S = 1_000_000_000


def _greet(self: Any, high: int) -> None:
    self.reply(Hello(high_version=high, low_version=OLDEST_VERSION))


@MUTANTS.declare("hello-lowest-too-low", "The server names 4 as its lowest version, and serves it.")
def _lowest(patcher: Patcher) -> None:
    patcher.set(link, "OLDEST_VERSION", OLDEST_VERSION - 1)


@MUTANTS.declare("hello-of-the-client", "The server answers with the client's highest version where that is lower.")
def _of_the_client(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def lower(self: Any, hello: Hello, now_ns: int) -> None:
            _greet(self, min(self._store.wire_version, hello.high_version))

        return lower

    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("hello-never-refused", "Clients of any version are served.")
def _never_refused(patcher: Patcher) -> None:
    rehandle(patcher, (Hello,), lambda handle: lambda self, hello, now_ns: _greet(self, self._store.wire_version))


@MUTANTS.declare("hello-newest-refused", "A client whose lowest version is the server's highest is refused.")
def _newest_refused(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def strict(self: Any, hello: Hello, now_ns: int) -> None:
            _greet(self, self._store.wire_version)
            if hello.low_version >= self._store.wire_version or hello.high_version < OLDEST_VERSION:
                self.close("versions do not fit")

        return strict

    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("hello-oldest-refused", "A client whose highest version is the server's lowest is refused.")
def _oldest_refused(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def strict(self: Any, hello: Hello, now_ns: int) -> None:
            handle(self, hello, now_ns)
            if hello.high_version <= OLDEST_VERSION:
                self.close("versions do not fit")

        return strict

    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("hello-inverted-refused", "A client whose highest version is below its lowest is refused.")
def _inverted_refused(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def strict(self: Any, hello: Hello, now_ns: int) -> None:
            handle(self, hello, now_ns)
            if hello.high_version < hello.low_version:
                self.close("versions do not fit")

        return strict

    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("hello-inverted-served", "A client whose highest version is below its lowest is served in any case.")
def _inverted_served(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def lax(self: Any, hello: Hello, now_ns: int) -> None:
            if hello.high_version < hello.low_version:
                _greet(self, self._store.wire_version)
            else:
                handle(self, hello, now_ns)

        return lax

    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("hello-refused-unanswered", "A client of unsupported versions gets no Hello.")
def _refused_unanswered(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def silent(self: Any, hello: Hello, now_ns: int) -> None:
            if hello.low_version > self._store.wire_version or hello.high_version < OLDEST_VERSION:
                self.close("versions do not fit")
            else:
                handle(self, hello, now_ns)

        return silent

    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("hello-answered-once", "A second Hello has no answer.")
def _answered_once(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def once(self: Any, hello: Hello, now_ns: int) -> None:
            if not getattr(self, "greeted", False):
                self.greeted = True
                handle(self, hello, now_ns)

        return once

    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("hello-first-or-never", "A Hello after another request ends the connection.")
def _first_or_never(patcher: Patcher) -> None:
    def note(handle: Any) -> Any:
        def noting(self: Any, message: Any, now_ns: int) -> None:
            self.was_asked = True
            handle(self, message, now_ns)

        return noting

    def replace(handle: Any) -> Any:
        def first(self: Any, hello: Hello, now_ns: int) -> None:
            if getattr(self, "was_asked", False):
                self.close("Hello came late")
            else:
                handle(self, hello, now_ns)

        return first

    rehandle(patcher, (GetStreamSegmentInfo,), note)
    rehandle(patcher, (Hello,), replace)


@MUTANTS.declare("keep-alive-unasked", "The server sends a KeepAlive 1.5 seconds after a connection was opened.")
def _unasked(patcher: Patcher) -> None:
    def replace(greet: Any) -> Any:
        def speaking(self: Any, connection: int, door: str, now_ns: int) -> Any:
            each = greet(self, connection, door, now_ns)
            if isinstance(each, StoreLink):
                self.timers.at(now_ns + 3 * _NS_PER_S // 2, lambda _: each.reply(KeepAlive()))
            return each

        return speaking

    patcher.wrap(PravegaMock, "greet", replace)


@MUTANTS.declare("keep-alive-unanswered", "KeepAlive has no answer, as before 2021.")
def _unanswered(patcher: Patcher) -> None:
    rehandle(patcher, (KeepAlive,), lambda handle: lambda self, message, now_ns: None)


@MUTANTS.declare("keep-alive-echoes", "KeepAlive is sent back with its payload.")
def _echoes(patcher: Patcher) -> None:
    def change(routes: Routes) -> Routes:
        for phase, (counted, _, _, after) in routes[head_of(KeepAlive)].items():
            routes[head_of(KeepAlive)][phase] = (counted, _frame_of, _send_back, after)
        return routes

    reroute(patcher, change)


def _frame_of(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    return data[at - 8 : end], end


def _send_back(self: Any, frame: bytes, now_ns: int) -> None:
    self.reply_frame("KeepAlive", frame)


@MUTANTS.declare("keep-alive-merged", "Several KeepAlives that arrive together have one answer.")
def _merged(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def once(self: Any, message: Any, now_ns: int) -> None:
            if getattr(self, "alive_turn", -1) != self.turn:
                self.alive_turn = self.turn
                handle(self, message, now_ns)

        return once

    rehandle(patcher, (KeepAlive,), replace)


@MUTANTS.declare("requests-end-blocks", "A request while a block is open drops the block.")
def _end_blocks(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def dropping(self: Any, message: Any, now_ns: int) -> None:
            self._appending.appends.drop_block()
            handle(self, message, now_ns)

        return dropping

    rehandle(patcher, (KeepAlive, GetStreamSegmentInfo), replace)


@MUTANTS.declare("block-owns-connection", "While a block is open, only its end is served.")
def _owns_connection(patcher: Patcher) -> None:
    def change(routes: Routes) -> Routes:
        for cls in (KeepAlive, GetStreamSegmentInfo):
            counted, decode, handle, _ = routes[head_of(cls)]["block"]
            routes[head_of(cls)]["block"] = (counted, decode, handle, None)
        return routes

    reroute(patcher, change)


@MUTANTS.declare("reply-id-of-32-bits", "Replies have the low half of the request id.")
def _id_of_32_bits(patcher: Patcher) -> None:
    rereply(
        patcher,
        lambda message: (
            replaced(message, request_id=message.request_id & 0xFFFFFFFF) if hasattr(message, "request_id") else message
        ),
    )


@MUTANTS.declare("reply-id-zero-is-none", "The request id 0 counts as none, and comes back as -1.")
def _zero_is_none(patcher: Patcher) -> None:
    rereply(
        patcher,
        lambda message: replaced(message, request_id=-1) if getattr(message, "request_id", 1) == 0 else message,
    )


@MUTANTS.declare("requests-one-reply", "Of several requests that arrive together only the first is answered.")
def _one_reply(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        def once(self: Any, message: Any, now_ns: int) -> None:
            if getattr(self, "info_turn", -1) != self.turn:
                self.info_turn = self.turn
                handle(self, message, now_ns)

        return once

    rehandle(patcher, (GetStreamSegmentInfo,), replace)


@MUTANTS.declare("segments-of-a-connection", "Segments are removed when the connection that created them is closed.")
def _of_a_connection(patcher: Patcher) -> None:
    def note(handle: Any) -> Any:
        def noting(self: Any, message: CreateSegment, now_ns: int) -> None:
            self.__dict__.setdefault("created", []).append((message.segment, now_ns))
            handle(self, message, now_ns)

        return noting

    def replace(close: Any) -> Any:
        def removing(self: Any, why: str) -> None:
            for name, now_ns in self.__dict__.pop("created", ()):
                if self._store.segments.exists(name):
                    self._store.segments.delete(name, now_ns)
            close(self, why)

        return removing

    rehandle(patcher, (CreateSegment,), note)
    patcher.wrap(StoreLink, "close", replace)


@MUTANTS.declare("block-stored-at-break", "A block that is open when its connection breaks is stored.")
def _stored_at_break(patcher: Patcher) -> None:
    def replace(lost: Any) -> Any:
        def storing(self: Any, now_ns: int) -> None:
            block: AppendBlock | None = self._appending.appends._block
            if block is not None:
                segment = self._store.segments.find(self._appending.appends.writers[block.writer_id].segment)
                if segment is not None:
                    self._store.segments.append(segment, block.data, now_ns)
            lost(self, now_ns)

        return storing

    patcher.wrap(StoreLink, "lost", replace)


@MUTANTS.declare("writers-end-with-connection", "The event numbers of a writer are lost when its connection breaks.")
def _writers_end(patcher: Patcher) -> None:
    def replace(lost: Any) -> Any:
        def forgetting(self: Any, now_ns: int) -> None:
            for writer_id, writer in self._appending._writers.items():
                segment = self._store.segments.find(writer.segment)
                if segment is not None:
                    segment.attributes.pop(writer_id, None)
            lost(self, now_ns)

        return forgetting

    patcher.wrap(StoreLink, "lost", replace)


@MUTANTS.declare("read-holds-connection", "While a read waits, its connection serves nothing else.")
def _holds_connection(patcher: Patcher) -> None:
    def replace(feed: Any) -> Any:
        def holding(self: Any, data: bytes, now_ns: int) -> None:
            if not self._reads._parked:
                feed(self, data, now_ns)

        return holding

    patcher.wrap(StoreLink, "feed", replace)
