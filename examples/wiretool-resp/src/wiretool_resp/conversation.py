"""One connection of RESP: where its frames are, and which command a reply answers."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from wiretool import limits
from wiretool.codec.cursor import Span
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, OverLimit, ProtocolViolation
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool_resp.messages import Command, Error, InlineCommand, Push, Reply, decode
from wiretool_resp.values import LINE_BYTES_MAX, FrameWalk, spans_of

#: Frames in strict turns of client and server after which, behind a gap, no other command is taken to be open.
TURNS_SURE = 32
_STARTS = {"client": re.compile(rb"\n(?=\*[0-9])"), "server": re.compile(rb"\n(?=[-+:$*_#,(!=%~>|])")}
_PUBLISHED = frozenset(("message", "pmessage", "smessage"))
_SUBSCRIBE = frozenset(f"{how}{kind}subscribe" for how in ("", "p", "s") for kind in ("", "un"))
#: Commands after which replies do not follow commands one by one.
_UNORDERED = frozenset(("monitor", "sync", "psync"))
#: Inline commands that show by themselves that a client speaks RESP.
_INLINE = frozenset((b"PING", b"QUIT", b"INFO", b"GET", b"SET", b"HELLO", b"COMMAND", b"MONITOR", b"ECHO", b"DBSIZE"))


def frame_length(walk: FrameWalk, side: Side, data: bytes, at: int, end: int) -> int:
    """Return the bytes of the frame at `data[at]`, 0 while that is not known. DecodeError: no frame begins there."""
    if side == "server" or data[at : at + 1] == b"*":
        return walk.length(data, at, end)
    stop = data.find(b"\n", at, at + LINE_BYTES_MAX) + 1
    if (not stop or stop > end) and end - at >= LINE_BYTES_MAX:
        raise OverLimit("too-large", f"an inline command of more than {LINE_BYTES_MAX} bytes", offset=at)
    return stop - at if 0 < stop <= end else 0


def words_of(command: Message | None) -> list[bytes]:
    """Return the name of a command, in capitals, and its arguments; nothing where servers ignore it."""
    words = list(command.line.split()) if isinstance(command, InlineCommand) else []
    if isinstance(command, Command):
        words = [*([] if command.name is None else [command.name.encode()]), *command.arguments]
    return [words[0].upper(), *words[1:]] if words else []


class RespConversation(Conversation):
    """Each command has one reply, in order; those of subscriptions have one for each channel, and pushes have none.

    After a gap it is not known which commands are open: nothing is paired until client and server take turns.
    """

    def __init__(self, *, from_start: bool) -> None:
        self._walks = {"client": FrameWalk("$"), "server": FrameWalk()}
        #: The commands that are open: number, words, and how many replies are to come; 0 for one of each channel.
        self.open: deque[tuple[int, list[bytes], int]] = deque()
        self.is_sure = from_start
        #: The version of the protocol, 0 where it is not known.
        self.version = 2 if from_start else 0
        #: What is subscribed to, with the word that confirmed it.
        self.channels: set[tuple[str, str]] = set()
        self._turns, self._last = 0, ""

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
        if side == "client":
            self._asked(n, words_of(message))
        else:
            defects += self._breaches(data[at : at + 1])
            reply_to = self._answered(message)
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
        self.open.clear()
        self.is_sure, self.version, self._turns = False, 0, 0

    # -- what answers what ---------------------------------------------------------------------------------------------

    def _asked(self, n: int, words: list[bytes]) -> None:
        self._turn("client")
        if self.is_sure and words:
            name = words[0].decode("latin-1").lower()
            self.open.append((n, words[:2], len(words) - 1 if name in _SUBSCRIBE else 1))
            if len(self.open) > limits.REQUESTS_OPEN_MAX or name in _UNORDERED or words[:2] == [b"CLIENT", b"REPLY"]:
                self.hole("client")

    def _answered(self, message: Message | None) -> int | None:
        """Return the number of the command that a frame of the server answers."""
        value: Any = message.value if isinstance(message, Reply) else None
        elements = list(message.elements) if isinstance(message, Push) else value if isinstance(value, list) else []
        kind = elements[0] if elements and isinstance(elements[0], str) else ""
        is_confirmed = kind in _SUBSCRIBE and len(elements) == 3 and self._is_open(kind.upper().encode())
        if not is_confirmed and (isinstance(message, Push) or (kind in _PUBLISHED and self.channels)):
            return None
        self._turn("server")
        if not self.open:
            return None
        n, words, replies = self.open.popleft()
        if is_confirmed:
            left = (replies or max(sum(each == kind.replace("un", "") for each, _ in self.channels), 1)) - 1
            change = self.channels.discard if "un" in kind else self.channels.add
            change((kind.replace("un", ""), str(elements[1])))
            if left:
                self.open.appendleft((n, words, left))
        elif not isinstance(message, Error) and words[0] == b"HELLO" and words[1:]:
            self.version = int(words[1]) if isinstance(value, list | dict) and words[1] in (b"2", b"3") else 0
        elif words[0] == b"RESET":
            self.version = 2
            self.channels.clear()
        return n

    def _is_open(self, name: bytes) -> bool:
        return bool(self.open) and self.open[0][1][0] == name

    def _breaches(self, mark: bytes) -> list[ProtocolViolation]:
        if self.version != 2 or self._is_open(b"HELLO") or mark not in b"_#,(!=%~>|":
            return []
        self.version = 0  # reported once
        why = f"{mark.decode()!r} is a kind of RESP 3, and no HELLO 3 was answered"
        return [ProtocolViolation("resp3-before-hello", why, phase="RESP 2", side="server", message="a reply")]

    def _turn(self, side: Side) -> None:
        """Count strict turns; after enough of them, no other command is open."""
        self._turns = self._turns + 1 if side != self._last else 0
        self._last = side
        self.is_sure |= side == "client" and self._turns >= TURNS_SURE
