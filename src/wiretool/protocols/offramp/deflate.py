"""Compressed messages (permessage-deflate, RFC 7692), also where their context is not known.

An inflater that starts without context can only go back to what it made itself: zlib refuses a distance beyond that.
So where a message inflates to its end it is exact, and it is a context for the next one; where it does not, the
context it needs was lost.
"""

import zlib
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

from wiretool import limits
from wiretool.errors import DecodeError, OverLimit

#: The end of a deflated message, which is not sent (§7.2.1): an empty stored block.
TAIL = b"\x00\x00\xff\xff"
#: A final empty block: an inflater that is between two blocks ends with it, one inside a block does not.
_PROBE = b"\x01\x00\x00\xff\xff"
#: Any window size may be read with the largest.
_BITS = -15
_WINDOW_BYTES = 32_768
#: Bytes of a window at which what is older goes, so that it is not moved for every message.
_WINDOW_BYTES_KEPT = 2 * _WINDOW_BYTES
_ANY_WINDOW = bytes(_WINDOW_BYTES)
#: How far a message is inflated that is only looked at.
_LOOK_BYTES = 16 * 1024


#: A message, nothing, or why it is none.
Outcome = bytes | DecodeError | None


def outcome_of(inflate: Callable[[bytes], bytes | None], data: bytes) -> Outcome:
    """Return what a method of an inflater returns or raises."""
    try:
        return inflate(data)
    except DecodeError as err:
        return err


class Inflater:
    """The messages of one side. `resets`: that side keeps no context from one message to the next."""

    def __init__(self, *, resets: bool = False, is_sure: bool = True) -> None:
        self.resets = resets
        self._is_sure = is_sure
        self._running: Any = None
        self._window = bytearray()
        self._known: deque[Outcome] = deque()

    def split(self) -> tuple[bool, bool, bool, bytes, list[Outcome]]:
        """Return all of it as values: after a message the inflater is at the start of a byte, and knows its window."""
        window, known = bytes(self._window[-_WINDOW_BYTES:]), list(self._known)
        return self.resets, self._is_sure, self._running is not None, window, known

    def restore(self, resets: bool, is_sure: bool, is_running: bool, window: bytes, known: list[Outcome]) -> None:
        """Take over the values of another one."""
        self.resets, self._is_sure, self._known = resets, is_sure, deque(known)
        self._window = bytearray(window)
        self._running = zlib.decompressobj(_BITS, zdict=self._window) if is_running else None

    def know(self, outcome: Outcome) -> None:
        """Have `inflate` return or raise an earlier outcome again for the next message, which is the same."""
        self._known.appendleft(outcome)

    def measure(self) -> Callable[[bytes], int]:
        """Return what inflates messages before their turn, from the next one on, and returns the size of each.

        `inflate` will be called with the same messages; they may be measured again before.
        """
        places = count()

        def size_of(data: bytes) -> int:
            place = next(places)
            if place == len(self._known):
                self._known.append(outcome_of(self._inflate_next, data))
            outcome = self._known[place]
            return len(outcome) if isinstance(outcome, bytes) else 0

        return size_of

    def forget(self) -> None:
        """Messages may have been lost here."""
        self._running = None
        self._window = bytearray()
        self._is_sure = self.resets

    def inflate(self, data: bytes) -> bytes | None:
        """The message; None where its context is lost. DecodeError: it is none, or it is too big."""
        return self._take_known() if self._known else self._inflate_next(data)

    def _inflate_next(self, data: bytes) -> bytes | None:
        if self.resets or self._running is None:
            return self._attempt(zlib.decompressobj(_BITS), bytearray(), data)
        if self._is_sure:
            return self._attempt(self._running, self._window, data)
        message = self._attempt(self._running.copy(), self._window, data)
        return self._attempt(zlib.decompressobj(_BITS), bytearray(), data) if message is None else message

    def _take_known(self) -> bytes | None:
        outcome = self._known.popleft()
        if isinstance(outcome, DecodeError):
            raise outcome
        return outcome

    def peek(self, data: bytes) -> bytes | None:
        """The message, if the context for it is known; nothing changes."""
        running = self._running.copy() if self._running is not None and not self.resets else zlib.decompressobj(_BITS)
        try:
            message, _ = _run(running, self._window, data, _LOOK_BYTES)
        except (zlib.error, DecodeError):
            return None
        return message

    def _attempt(self, running: Any, window: bytearray, data: bytes) -> bytes | None:
        was_sure = self._is_sure
        try:
            message, self._running = _run(running, window, data, limits.WEBSOCKET_MESSAGE_BYTES_MAX)
        except OverLimit:
            self.forget()
            raise
        except (zlib.error, DecodeError) as err:
            self.forget()
            if was_sure:
                raise DecodeError("bad_deflate", f"does not inflate: {err}") from err
            return None
        window += message
        if len(window) > _WINDOW_BYTES_KEPT:
            del window[:-_WINDOW_BYTES]
        self._window = window
        return message


def _run(running: Any, window: bytes | bytearray, data: bytes, most: int) -> tuple[bytes, Any]:
    """The message, and the inflater as it is behind it; zlib.error or DecodeError where `data` is none.

    OverLimit where it has more than `most` bytes.
    """
    parts: list[bytes] = []
    left = most
    rest = data + TAIL
    for _ in range(limits.DEFLATE_FINAL_BLOCKS_MAX):
        part = running.decompress(rest, left + 1)
        left -= len(part)
        if left < 0:
            del part, parts  # a traceback would keep them for as long as it is looked at
            raise OverLimit("message_too_big", f"inflates to more than {most} bytes")
        parts.append(part)
        if not running.eof:
            break
        # A final block (§7.2.3.4): the sender began anew behind it, but may go back to what was in front of it.
        window = (window + part)[-_WINDOW_BYTES:]
        rest = running.unused_data
        running = zlib.decompressobj(_BITS, zdict=window)
    else:
        raise DecodeError("bad_deflate", f"has more than {limits.DEFLATE_FINAL_BLOCKS_MAX} final blocks")
    probe = running.copy()
    behind = probe.decompress(_PROBE)
    if behind or not probe.eof:
        raise DecodeError("bad_deflate", "ends inside a block")
    return b"".join(parts), running


def looks_deflated(data: bytes, *, is_whole: bool) -> bool:
    """Whether `data` has the form of a message, or of the beginning of one, whatever its context is."""
    running = zlib.decompressobj(_BITS, zdict=_ANY_WINDOW)
    try:
        if is_whole:
            _run(running, _ANY_WINDOW, data, _LOOK_BYTES)
        else:
            running.decompress(data, _WINDOW_BYTES)
    except OverLimit:
        return True
    except (zlib.error, DecodeError):
        return False
    return True
