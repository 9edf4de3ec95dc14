"""One connection of RESP: where its frames are, and which command a reply answers."""

import re
from collections.abc import Iterator
from typing import Any

from wiretool.codec.cursor import Span
from wiretool.codec.json_types import bytes_from
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, OverLimit, ProtocolViolation
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.base.exchanges import Exchanges, Fields, value_in
from wiretool.protocols.base.ordered_pairs import OrderedPairs
from wiretool.protocols.base.protocol import Wire
from wiretool_resp.messages import MESSAGES, Command, InlineCommand, Push, Reply, decode, encode, from_json
from wiretool_resp.values import LINE_BYTES_MAX, FrameWalk, spans_of

_STARTS = {"client": re.compile(rb"\n(?=\*[0-9])"), "server": re.compile(rb"\n(?=[-+:$*_#,(!=%~>|])")}
_PUBLISHED = frozenset(("message", "pmessage", "smessage"))
_SUBSCRIBE = frozenset(f"{how}{kind}subscribe" for how in ("", "p", "s") for kind in ("", "un"))
#: Commands, beside CLIENT REPLY, after which replies do not follow commands one by one.
_UNORDERED = frozenset((b"MONITOR", b"SYNC", b"PSYNC"))
#: Inline commands that show by themselves that a client speaks RESP.
_INLINE = frozenset((b"PING", b"QUIT", b"INFO", b"GET", b"SET", b"HELLO", b"COMMAND", b"ECHO", b"DBSIZE"))


def frame_length(walk: FrameWalk, side: Side, data: bytes, at: int, end: int) -> int:
    """Return the bytes of the frame at `data[at]`, 0 while that is not known. DecodeError: no frame begins there."""
    if side == "server" or data[at : at + 1] == b"*":
        return walk.length(data, at, end)
    stop = data.find(b"\n", at, min(end, at + LINE_BYTES_MAX)) + 1
    if not stop and end - at >= LINE_BYTES_MAX:
        raise OverLimit("too-large", f"an inline command of more than {LINE_BYTES_MAX} bytes", offset=at)
    return max(stop - at, 0)


def words_of(command: Message | None) -> list[bytes]:
    """Return the name of a command, in capitals, and its arguments; nothing where servers ignore it."""
    words = list(command.line.split()) if isinstance(command, InlineCommand) else []
    if isinstance(command, Command):
        words = [*([] if command.name is None else [command.name.encode()]), *command.arguments]
    return [words[0].upper(), *words[1:]] if words else []


class RespConversation(Conversation):
    """Each command has one reply, in order; those of subscriptions have one for each channel, and pushes have none."""

    def __init__(self, *, from_start: bool) -> None:
        self._walks = {"client": FrameWalk("$"), "server": FrameWalk()}
        #: The commands that are open, as words and the number of confirmations that each has had.
        self.pairs = OrderedPairs[tuple[list[bytes], list[str]]](from_start=from_start)
        #: The version of the protocol, 0 where it is not known; and the channels, with the word that confirmed them.
        self.version = 2 if from_start else 0
        self.channels: set[tuple[str, str]] = set()

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        return frame_length(self._walks[side], side, data, at, end)

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        defects: list[DecodeError | ProtocolViolation] = []
        message: Message | None = None
        try:
            message = decode(side, data, at, end)
        except DecodeError as err:
            defects.append(err)
        reply_to = None
        if side == "server":
            defects += self._breaches(data[at : at + 1])
            reply_to = self._answered(message)
        elif words := words_of(message):
            self.pairs.add(n, (words[:2], [""] * (len(words) - 1)))
            if words[0] in _UNORDERED or [each.upper() for each in words[:2]] == [b"CLIENT", b"REPLY"]:
                self.pairs.forget()
        return Reading(type(message).__name__ if message else "Unknown", message or {}, defects, reply_to)

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
            case Command():
                return 4 if (message.name or "").isalpha() else 1
            case Reply(value=[_, *_]):
                return 4
            case Reply(value=None | bool() | int()):
                return 1
        return 2 if end - at > 5 else 1

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        if side == "client" and data[at : at + 1] != b"*":
            return [Span(at, end - at, "InlineCommand.line", "bytes string", data[at:end])]
        return list(spans_of("Command" if side == "client" else "Reply", data, at, end))

    def hole(self, side: Side) -> None:
        self.pairs.forget()
        self.version = 0

    def _answered(self, message: Message | None) -> int | None:
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
        elif words[0] == b"HELLO" and words[1:] and isinstance(value, list | dict):
            self.version = int(words[1]) if words[1] in (b"2", b"3") and "simple" not in value else 0
        elif words[0] == b"RESET":
            self.version, self.channels = 2, set()
        return self.pairs.answer(is_last=is_last)

    def _breaches(self, mark: bytes) -> list[ProtocolViolation]:
        is_hello = self.pairs.first is not None and self.pairs.first[0][0] == b"HELLO"
        if self.version != 2 or is_hello or mark not in b"_#,(!=%~>|":
            return []
        self.version = 0  # reported once
        why = f"{mark.decode()!r} is a kind of RESP 3, and no HELLO 3 was answered"
        return [ProtocolViolation("resp3-before-hello", why, phase="RESP 2", side="server", message="a reply")]


def _failure(name: str, fields: Fields) -> str | None:
    """Return the kind of an error; its text is bytes in a message, and JSON elsewhere."""
    if name != "Error":
        return None
    text = value_in(fields, "text")
    return (text if isinstance(text, bytes) else bytes_from(text)).decode("utf-8", "replace").split(" ")[0]


WIRE = Wire(
    open=lambda from_start: RespConversation(from_start=from_start),
    messages=MESSAGES,
    encode=encode,
    from_json=from_json,
    exchanges=Exchanges(
        asks=frozenset((("Command", "client"),)),
        may_ask=frozenset((("InlineCommand", "client"),)),
        failure=_failure,
        failures=frozenset(("Error",)),
    ),
)
