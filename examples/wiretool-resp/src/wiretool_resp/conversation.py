"""One connection of RESP: where its frames are, and which command a reply answers."""

import re
from collections.abc import Iterator
from typing import Any

from wiretool.codec.cursor import Span
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.base.exchanges import Exchanges
from wiretool.protocols.base.ordered_pairs import OrderedPairs
from wiretool.protocols.base.protocol import Wire
from wiretool_resp.messages import MESSAGES, Command, InlineCommand, Push, Reply, decode, encode
from wiretool_resp.values import LINE_BYTES_MAX, FrameWalk, spans_of

_STARTS = {"client": re.compile(rb"\n(?=\*[0-9])"), "server": re.compile(rb"\n(?=[-+:$*_#,(!=%~>|])")}
_PUBLISHED = frozenset(("message", "pmessage", "smessage"))
_SUBSCRIBE = frozenset(f"{how}{kind}subscribe" for how in ("", "p", "s") for kind in ("", "un"))
#: Commands, beside CLIENT REPLY, after which replies do not follow commands one by one.
_UNORDERED = frozenset((b"MONITOR", b"SYNC", b"PSYNC"))
#: Inline commands that show by themselves that a client speaks RESP.
_INLINE = frozenset((b"PING", b"QUIT", b"INFO", b"GET", b"SET", b"HELLO", b"COMMAND", b"ECHO", b"DBSIZE"))


def words_of(command: Message) -> list[bytes]:
    """Return the name of a command, in capitals, and its arguments; nothing where servers ignore it."""
    words = list(command.line.split()) if isinstance(command, InlineCommand) else []
    if isinstance(command, Command):
        words = [*([] if command.name is None else [command.name.encode()]), *command.arguments]
    return [words[0].upper(), *words[1:]] if words else []


class RespConversation(Conversation):
    """Each command has one reply, in order; those of subscriptions have one for each channel, and pushes have none."""

    def __init__(self, from_start: bool) -> None:
        self._walks = {"client": FrameWalk("$"), "server": FrameWalk()}
        #: The commands that are open, as words and the number of confirmations that each has had.
        self.pairs = OrderedPairs[tuple[list[bytes], list[str]]](from_start=from_start)
        #: The channels, with the word that confirmed them.
        self.channels: set[tuple[str, str]] = set()

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        if side == "server" or data[at : at + 1] == b"*":
            return self._walks[side].length(data, at, end)
        stop = data.find(b"\n", at, min(end, at + LINE_BYTES_MAX)) + 1
        if not stop and end - at >= LINE_BYTES_MAX:
            raise OverLimit("too-large", "too big inline request")
        return max(stop - at, 0)

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        try:
            message = decode(side, data, at, end)
        except DecodeError as err:
            return Reading("Unknown", {}, [err], self.pairs.answer() if side == "server" else None)
        if side == "server":
            return Reading(type(message).__name__, message, reply_to=self._answered(message))
        if words := words_of(message):
            self.pairs.add(n, (words[:2], [""] * (len(words) - 1)))
            if words[0] in _UNORDERED or [each.upper() for each in words[:2]] == [b"CLIENT", b"REPLY"]:
                self.pairs.forget()
        return Reading(type(message).__name__, message)

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        yield at
        yield from (found.end() for found in _STARTS[side].finditer(data, at, end))

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        try:
            message = decode(side, data, at, end)
        except DecodeError:
            return 0
        match message:
            case InlineCommand():
                return int(_INLINE.issuperset(words_of(message)[:1] or [b""]))
            case Command(name=str() as name):
                return 4 if name.isalpha() else 1
            case Reply(value=[_, *_]):
                return 4
            case Command() | Reply(value=None | bool() | int()):
                return 1
        return 2 if end - at > 5 else 1

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        if side == "client" and data[at : at + 1] != b"*":
            return [Span(at, end - at, "InlineCommand.line", "bytes string", data[at:end])]
        return list(spans_of("Command" if side == "client" else "Reply", data, at, end))

    def hole(self, side: Side) -> None:
        self.pairs.forget()

    def _answered(self, message: Message) -> int | None:
        """Return the number of the command that a frame of the server answers."""
        value: Any = message.value if isinstance(message, Reply) else None
        elements = list(message.elements) if isinstance(message, Push) else value if isinstance(value, list) else []
        kind = elements[0] if elements and isinstance(elements[0], str) else ""
        words, left = self.pairs.first or ([b""], [])
        is_last = True
        if kind in _SUBSCRIBE and len(elements) == 3 and words[0] == kind.upper().encode():
            base = kind.replace("un", "")
            if not words[1:] and not left:  # all that is subscribed to, or a null where nothing is
                left += [""] * max(sum(each == base for each, _ in self.channels), 1)
            (self.channels.discard if "un" in kind else self.channels.add)((base, str(elements[1])))
            left.pop()
            is_last = not left
        elif isinstance(message, Push) or (kind in _PUBLISHED and self.channels):
            return None
        elif words[0] == b"RESET":
            self.channels.clear()
        return self.pairs.answer(is_last=is_last)


WIRE = Wire(
    open=RespConversation, messages=MESSAGES, encode=encode, exchanges=Exchanges.declared(MESSAGES, (InlineCommand,))
)
