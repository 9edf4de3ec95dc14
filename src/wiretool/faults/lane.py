"""What one side sent, on its way to the other: in order, and nothing before its time."""

from collections import deque
from typing import Literal, NamedTuple

from wiretool.faults.actions import How

Ending = Literal["finish", "cut", "reset"]


class Kept(NamedTuple):
    """What goes on behind this is to be kept so by who gets it."""

    how: How


#: What an entry takes beside its bytes.
_ENTRY_BYTES = 128


class _Entry:
    """Bytes, an ending or word, or with none of them a stop: `due_ns` is None until the rule that set it is removed."""

    __slots__ = ("due_ns", "ending", "parts", "rule")

    def __init__(
        self, due_ns: int | None, part: bytes = b"", ending: Ending | Kept | None = None, rule: int = 0
    ) -> None:
        self.due_ns = due_ns
        self.parts = [part] if part else []
        self.ending = ending
        self.rule = rule


class _HeldBack(NamedTuple):
    """Bytes that the next frame may overtake."""

    data: bytes
    until_ns: int
    delay_ns: int


class Lane:
    """One direction of one connection. Before and after something is put in, `take` is called for what may go."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._held_back: _HeldBack | None = None
        #: Bytes that wait, and what it takes to remember them.
        self.held = 0
        #: Nothing goes in any more.
        self.is_closed = False

    @property
    def is_free(self) -> bool:
        """Whether what is put in can be taken at once."""
        return not self._entries and self._held_back is None and not self.is_closed

    @property
    def is_holding_back(self) -> bool:
        """Whether bytes wait to be overtaken."""
        return self._held_back is not None

    @property
    def wake_ns(self) -> int | None:
        """When `take` should be called next, as far as that hangs on time."""
        times = [self._entries[0].due_ns] if self._entries else []
        if self._held_back is not None:
            times.append(self._held_back.until_ns)
        return min((time for time in times if time is not None), default=None)

    def put(self, data: bytes, now_ns: int, delay_ns: int = 0) -> None:
        """Bytes that go on after `delay_ns`, and behind all that is in front of them."""
        if self.is_closed or not data:
            return
        due_ns = now_ns + delay_ns
        last = self._entries[-1] if self._entries else None
        if last is not None and last.parts and last.due_ns is not None and due_ns <= max(last.due_ns, now_ns):
            last.parts.append(data)  # both go as soon as what is in front of them has gone
            self.held += len(data)
        else:
            self._add(_Entry(due_ns, data))

    def tell(self, word: Kept, now_ns: int, delay_ns: int = 0) -> None:
        """A word for who gets the bytes behind it, which are put in next and with the same delay."""
        if not self.is_closed:
            self._add(_Entry(now_ns + delay_ns, ending=word))

    def end(self, ending: Ending, now_ns: int, delay_ns: int = 0) -> None:
        """The end, behind all that is in front of it; what is put in later is lost."""
        if not self.is_closed:
            self._add(_Entry(now_ns + delay_ns, ending=ending))
            self.is_closed = True

    def stop(self, until_ns: int | None, rule: int) -> None:
        """What is put in from now on waits until then, or until the rule is removed."""
        if not self.is_closed:
            self._add(_Entry(until_ns, rule=rule))

    def lift(self, rule: int) -> None:
        """Nothing waits for this rule any more."""
        for entry in self._entries:
            if entry.rule == rule and entry.due_ns is None:
                entry.due_ns = 0

    def hold_back(self, data: bytes, now_ns: int, within_ns: int, delay_ns: int) -> None:
        """Bytes that wait for `let_go`, though no longer than `within_ns`."""
        if self.is_closed:
            return
        assert self._held_back is None
        self._held_back = _HeldBack(data, now_ns + within_ns, delay_ns)
        self.held += len(data) + _ENTRY_BYTES

    def let_go(self, now_ns: int) -> None:
        """What was held back goes in, behind all that has gone in since."""
        held, self._held_back = self._held_back, None
        if held is not None:
            self.held -= len(held.data) + _ENTRY_BYTES
            self.put(held.data, now_ns, held.delay_ns)

    def take(self, now_ns: int) -> list[bytes | Ending | Kept]:
        """What may go now, in order."""
        if self._held_back is not None and self._held_back.until_ns <= now_ns:
            self.let_go(now_ns)
        out: list[bytes | Ending | Kept] = []
        while self._entries and (due_ns := self._entries[0].due_ns) is not None and due_ns <= now_ns:
            entry = self._entries.popleft()
            data = entry.parts[0] if len(entry.parts) == 1 else b"".join(entry.parts)
            self.held -= len(data) + _ENTRY_BYTES
            if data:
                out.append(data)
            if entry.ending is not None:
                out.append(entry.ending)
        return out

    def _add(self, entry: _Entry) -> None:
        self._entries.append(entry)
        self.held += sum(map(len, entry.parts)) + _ENTRY_BYTES
