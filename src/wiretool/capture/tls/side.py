"""One side of a TLS connection: its records, opened with the keys in use, and its handshake messages."""

from collections.abc import Iterator
from typing import NamedTuple

from wiretool.capture.tls.epochs import Epochs
from wiretool.capture.tls.hello import (
    ALERT,
    CHANGE_CIPHER,
    MESSAGE_BYTES_MAX,
    MESSAGE_HEADER_BYTES,
    RECORD_HEADER_BYTES,
    message_length,
)
from wiretool.capture.tls.protection import Opened
from wiretool.capture.tls.record_buffer import Arrival, RecordBuffer
from wiretool.limits import (
    TLS_HELD_BYTES_MAX,
    TLS_LOST_RECORDS_MAX,
    TLS_SEARCH_BYTES_MAX,
    TLS_SECRET_WAIT_NS_MAX,
    TLS_TRIED_BYTES_MAX,
)

#: Least bytes of an encrypted record: header, type and the shortest tag.
_RECORD_BYTES_MIN = RECORD_HEADER_BYTES + 9
#: To open a record takes as long as this many bytes of it, however short it is.
_TRY_BYTES = 1024
#: Records that TLS 1.3 sends in the clear after the hellos: for middleboxes (RFC 8446 §D.4), and early alerts.
_PLAIN_BYTES = {CHANGE_CIPHER: 1, ALERT: 2}
#: The version in the header of every record that is encrypted.
_VERSION = b"\x03\x03"


class OpenedRecord(NamedTuple):
    """A record of which the content is known, its size in bytes, and when it was complete."""

    opened: Opened
    size: int
    arrival: Arrival


class UnreadBytes(NamedTuple):
    """Bytes that cannot be decrypted."""

    size: int
    arrival: Arrival


class TlsSide:
    """The records of one side; `epochs` are set as soon as it sends encrypted ones."""

    def __init__(self, *, may_wait: bool = False) -> None:
        """`may_wait` is whether the key log may still get the secrets that it lacks."""
        self.may_wait = may_wait
        #: Whether its next record was left for a secret that the key log lacked.
        self.is_waiting = False
        self.buffer = RecordBuffer()
        self.epochs: Epochs | None = None
        #: Those that the next ChangeCipherSpec of TLS 1.2 brings into use.
        self.pending: Epochs | None = None
        #: Why the rest cannot be read; empty if it can.
        self.failure = ""
        #: Whether a record was opened with keys that protect application data.
        self.is_decrypted = False
        #: Bytes missing or skipped since the last record that was opened; -1 unless a record is searched for.
        self._lost_bytes = -1
        self._skipped = 0
        #: Bytes that searches may still try to open; all of them again once a record is found.
        self._trials_left = TLS_TRIED_BYTES_MAX
        self._handshake = bytearray()
        self._skip_bytes = 0

    @property
    def is_searching(self) -> bool:
        """Return whether it looks for the next record after lost bytes."""
        return self._lost_bytes >= 0

    def lose(self, size: int) -> None:
        """Note that bytes are missing here: a record has to be found again."""
        self._lost_bytes = max(self._lost_bytes, 0) + size
        if self.epochs is None:
            self.epochs = self.pending
        self._handshake.clear()
        self._skip_bytes = self._skipped = 0

    def next_record(self) -> OpenedRecord | UnreadBytes | None:
        """Return the next record or unread bytes; None if more bytes are needed. Sets `failure` where reading ends."""
        self.is_waiting = False
        if self.failure:
            return self.drop(len(self.buffer))
        if self.is_searching:
            return self._search()
        header = self.buffer.peek(RECORD_HEADER_BYTES)
        if len(header) < RECORD_HEADER_BYTES:
            return None
        length = self.buffer.record_length()
        if not length:
            self.failure = f"not a TLS record: starts with {header.hex(' ')}"
            return self.drop(len(self.buffer))
        if length > len(self.buffer):
            return None
        opened = self._open(self.buffer.peek(length))
        if opened is None:
            return None if self.is_waiting else self.drop(length)
        return OpenedRecord(opened, length, self.buffer.skip(length))

    def drop(self, size: int) -> UnreadBytes | None:
        """Take bytes off the front that are not read; None if there are none."""
        return UnreadBytes(size, self.buffer.skip(size)) if size else None

    def messages_in(self, content: bytes) -> Iterator[bytes]:
        """Yield the handshake messages that more content completes, very long ones as their header only."""
        self._handshake += content
        while True:
            skipped = min(self._skip_bytes, len(self._handshake))
            del self._handshake[:skipped]
            self._skip_bytes -= skipped
            if len(self._handshake) < MESSAGE_HEADER_BYTES:
                return
            length = message_length(bytes(self._handshake[:MESSAGE_HEADER_BYTES]))
            if length > MESSAGE_BYTES_MAX:
                yield bytes(self._handshake[:MESSAGE_HEADER_BYTES])
                self._skip_bytes = length
            elif len(self._handshake) < length:
                return
            else:
                yield bytes(self._handshake[:length])
                del self._handshake[:length]

    def _open(self, record: bytes) -> Opened | None:
        if self.epochs is None:
            return Opened(record[0], record[RECORD_HEADER_BYTES:])
        opened = self.epochs.open(record)
        if opened is not None:
            self._note_decrypted()
            return opened
        if len(record) - RECORD_HEADER_BYTES == _PLAIN_BYTES.get(record[0]):
            return Opened(record[0], record[RECORD_HEADER_BYTES:])
        if self.lacks_secret():
            return None
        if self.epochs.current.protection is not None and self.epochs.current.name != "EARLY":
            self.fail_to_open()
        return None

    def lacks_secret(self) -> bool:
        """Return whether the key log has no secret with which the rest could be read: then wait for it, or give up."""
        missing = self._missing_secret
        self.is_waiting = bool(missing) and self.may_wait and not self.is_holding_too_much
        if missing and not self.is_waiting:
            self.failure = f"the key log lacks {missing} of this connection"
        return bool(missing)

    @property
    def _missing_secret(self) -> str:
        return "" if self.epochs is None else self.epochs.missing_secret

    @property
    def waits_for_secret(self) -> bool:
        """Return whether its next record waits for a secret that the key log still lacks."""
        return self.is_waiting and bool(self._missing_secret)

    def has_waited_too_long(self, now_ns: int) -> bool:
        """Return whether the secret of the next record should have come by now."""
        return self.is_waiting and now_ns - self.buffer.first_ns >= TLS_SECRET_WAIT_NS_MAX

    def fail_to_open(self) -> None:
        """Give up at a record that the keys in use do not open."""
        has_opened = self.epochs is not None and self.epochs.has_opened
        self.failure = (
            "a record is damaged, or was encrypted with other keys"
            if has_opened
            else "keys do not fit: the first encrypted record cannot be opened"
        )

    def _note_decrypted(self) -> None:
        assert self.epochs is not None, "a record was opened with them"
        self.is_decrypted |= self.epochs.current.name != "HANDSHAKE"

    def _search(self) -> OpenedRecord | UnreadBytes | None:
        """Find the next record that the keys open, with as many numbers as may have been lost."""
        if self.lacks_secret():
            return None if self.is_waiting else self.drop(len(self.buffer))
        at = self.buffer.find(_VERSION, self._skipped + 1) - 1
        while at >= 0 and self.epochs is not None and self._trials_left > 0:
            length = self.buffer.record_length(at)
            if length >= _RECORD_BYTES_MIN:
                if at + length > len(self.buffer):
                    self._skipped = at
                    return self._give_up_search()
                opened = self._try(self.epochs, at, length)
                if opened is not None:
                    return self._found(at, length, opened)
            at = self.buffer.find(_VERSION, at + 2) - 1
        self._skipped = max(len(self.buffer) - RECORD_HEADER_BYTES, 0)
        return self._give_up_search()

    def _try(self, epochs: Epochs, at: int, length: int) -> Opened | None:
        """Return the content of a record at a place, after as many lost ones as the bytes left for trials allow."""
        cost = max(length, _TRY_BYTES) * len(epochs)
        lost = min(self._lost_records(at), self._trials_left // cost)
        self._trials_left -= (lost + 1) * cost
        return epochs.open_later(self.buffer.peek(length, at), lost)

    def _found(self, at: int, length: int, opened: Opened) -> OpenedRecord | UnreadBytes:
        self._skipped, self._lost_bytes, self._trials_left = 0, -1, TLS_TRIED_BYTES_MAX
        self._note_decrypted()
        if not at:
            return OpenedRecord(opened, length, self.buffer.skip(length))
        # The bytes before it come first; then the record is opened again, with its number known.
        assert self.epochs is not None, "records were opened with them"
        self.epochs.step_back()
        unread = self.drop(at)
        assert unread is not None, "there are bytes before the record"
        return unread

    def _lost_records(self, at: int) -> int:
        return min((self._lost_bytes + at) // _RECORD_BYTES_MIN + 1, TLS_LOST_RECORDS_MAX)

    def _give_up_search(self) -> UnreadBytes | None:
        """Wait for more bytes, unless too many were searched."""
        if len(self.buffer) <= TLS_SEARCH_BYTES_MAX and self._trials_left > 0 and self.epochs is not None:
            return None
        self.failure = "no record found after bytes that were not captured"
        return self.drop(len(self.buffer))

    @property
    def is_holding_too_much(self) -> bool:
        """Return whether bytes that wait for the other side, or for a secret, take too much memory."""
        return len(self.buffer) > TLS_HELD_BYTES_MAX
