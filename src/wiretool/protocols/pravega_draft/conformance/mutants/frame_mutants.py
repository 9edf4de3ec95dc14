"""Defects of framing, KeepAlive and cut messages."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher
from wiretool.protocols.pravega import framing as header
from wiretool.protocols.pravega_draft.conformance.mutants.patches import rehandle
from wiretool.protocols.pravega_draft.framing import BY_HEAD, PAYLOAD_BYTES_MAX
from wiretool.protocols.pravega_draft.messages import DataAppended, KeepAlive, PartialMessage
from wiretool.protocols.pravega_draft.server import link
from wiretool.protocols.pravega_draft.server.appends import Appends
from wiretool.protocols.pravega_draft.server.link import DraftLink

MUTANTS = Mutants()


def _limit(patcher: Patcher, payload_bytes_max: int) -> None:
    patcher.set(link, "extent", header.extent(payload_bytes_max))


@MUTANTS.declare("frame-limit-over", "A length of 2^24 is allowed.")
def _over(patcher: Patcher) -> None:
    _limit(patcher, PAYLOAD_BYTES_MAX + 1)


@MUTANTS.declare("frame-limit-under", "A length of 2^24 - 1 is too long.")
def _under(patcher: Patcher) -> None:
    _limit(patcher, PAYLOAD_BYTES_MAX - 1)


def _refuse_none(patcher: Patcher, is_dropped: Any) -> None:
    """Drop frames instead of ending the connection."""

    def replace(serve: Any) -> Any:
        return lambda self, frame, now_ns: None if is_dropped(frame) else serve(self, frame, now_ns)

    patcher.wrap(DraftLink, "_frame", replace)


@MUTANTS.declare("unknown-type-ignored", "Messages of unknown types are skipped.")
def _unknown_ignored(patcher: Patcher) -> None:
    _refuse_none(patcher, lambda frame: frame[:4] not in BY_HEAD)


@MUTANTS.declare("replies-from-clients", "Replies that a client sends are skipped.")
def _replies_ignored(patcher: Patcher) -> None:
    head = DataAppended.declaration.type_id.to_bytes(4, "big")
    _refuse_none(patcher, lambda frame: frame[:4] == head)


@MUTANTS.declare("trailing-bytes-ignored", "Bytes after the last field are skipped.")
def _trailing_ignored(patcher: Patcher) -> None:
    def replace(message_of: Any) -> Any:
        def lax(frame: bytes) -> Any:
            found = BY_HEAD.get(frame[:4])
            return message_of(frame) if found is None else found[1](frame, header.HEADER_BYTES, len(frame))[0]

        return lax

    patcher.wrap(link, "message_of", replace)


@MUTANTS.declare("keep-alive-echoes", "KeepAlive is sent back with its payload.")
def _echoes(patcher: Patcher) -> None:
    rehandle(patcher, KeepAlive, lambda handle: lambda self, message, now_ns: self.reply(message))


@MUTANTS.declare("keep-alive-unanswered", "KeepAlive has no answer.")
def _unanswered(patcher: Patcher) -> None:
    rehandle(patcher, KeepAlive, lambda handle: lambda self, message, now_ns: None)


# -- cut messages ------------------------------------------------------------------------------------------------------


def _rejoin(patcher: Patcher, replace: Any) -> None:
    """Replace the joining of parts: a function of the one that joins, the appends, the part and its frame."""

    def wrapped(join: Any) -> Any:
        return lambda self, part, frame: replace(join, self, part, frame)

    patcher.wrap(Appends, "join", wrapped)


@MUTANTS.declare("partial-begins-anew", "A second beginning drops the message before it.")
def _begins_anew(patcher: Patcher) -> None:
    def anew(join: Any, self: Any, part: PartialMessage, frame: bytes) -> Any:
        if part.part == "BEGIN":
            self._partial.drop()
        return join(self, part, frame)

    _rejoin(patcher, anew)


@MUTANTS.declare("partial-stray-dropped", "Parts without a beginning are dropped.")
def _stray_dropped(patcher: Patcher) -> None:
    def drop(join: Any, self: Any, part: PartialMessage, frame: bytes) -> Any:
        if part.part != "BEGIN" and not self._partial.is_open:
            return None
        return join(self, part, frame)

    _rejoin(patcher, drop)


@MUTANTS.declare("partial-never-served", "A message that was cut is not served when it is whole.")
def _never_served(patcher: Patcher) -> None:
    def unserved(join: Any, self: Any, part: PartialMessage, frame: bytes) -> Any:
        join(self, part, frame)

    _rejoin(patcher, unserved)


@MUTANTS.declare("partial-middles-lost", "The middles of a cut message are dropped.")
def _middles_lost(patcher: Patcher) -> None:
    def lost(join: Any, self: Any, part: PartialMessage, frame: bytes) -> Any:
        return None if part.part == "MIDDLE" and self._partial.is_open else join(self, part, frame)

    _rejoin(patcher, lost)


@MUTANTS.declare("partial-interrupted", "Another message between the parts of one drops those that were there.")
def _interrupted(patcher: Patcher) -> None:
    def replace(enter: Any) -> Any:
        def dropping(self: Any, message: Any, frame: bytes, *, is_put_together: bool = False) -> None:
            self._partial.drop()
            enter(self, message, frame, is_put_together=is_put_together)

        return dropping

    patcher.wrap(Appends, "enter", replace)


@MUTANTS.declare("partial-length-unchecked", "The length of the parts is not compared with that of their frame.")
def _length_unchecked(patcher: Patcher) -> None:
    def replace(put_together: Any) -> Any:
        def lax(self: Any, whole: bytes) -> Any:
            length = len(whole) - header.HEADER_BYTES
            return put_together(self, whole[:4] + length.to_bytes(4, "big") + whole[8:])

        return lax

    patcher.wrap(Appends, "_put_together", replace)


@MUTANTS.declare("partial-nested", "A part inside the parts of a message is served as nothing.")
def _nested(patcher: Patcher) -> None:
    def replace(put_together: Any) -> Any:
        def lax(self: Any, whole: bytes) -> Any:
            is_part = whole[:4] == PartialMessage.declaration.type_id.to_bytes(4, "big", signed=True)
            return KeepAlive(data=b"") if is_part else put_together(self, whole)

        return lax

    patcher.wrap(Appends, "_put_together", replace)


@MUTANTS.declare("partial-undecodable-ignored", "Parts that cannot be decoded are skipped.")
def _undecodable(patcher: Patcher) -> None:
    head = PartialMessage.declaration.type_id.to_bytes(4, "big", signed=True)
    _refuse_none(patcher, lambda frame: frame[:4] == head and (len(frame) == header.HEADER_BYTES or frame[8] > 2))
