"""The level up to which a server has confirmed to store each writer: a sound server stores nothing of it again."""

from wiretool import limits


class StoredLevels:
    """The levels of the writers of each segment; only the highest of a writer counts."""

    def __init__(self) -> None:
        #: None: a client has set the level itself, perhaps to a lower one, so it proves nothing any more.
        self._levels: dict[str, dict[str, int | None]] = {}
        self._count = 0

    def has(self, segment: str, writer_id: str, level: int) -> bool:
        """Return whether a level of a writer is stored, as the server has confirmed."""
        known = self._levels.get(segment, {}).get(writer_id)
        return known is not None and level <= known

    def is_doubted(self, segment: str, writer_id: str) -> bool:
        """Return whether a client has set the level of a writer."""
        return self._levels.get(segment, {}).get(writer_id, 0) is None

    def confirm(self, segment: str, writer_id: str, level: int) -> None:
        """The server has confirmed a level."""
        known = self._levels.get(segment, {}).get(writer_id, level)
        if known is not None:
            self._set(segment, writer_id, max(known, level))

    def doubt(self, segment: str, writer_id: str) -> None:
        """A client sets the level of a writer."""
        self._set(segment, writer_id, None)

    def forget(self, segment: str) -> None:
        """The segment is a new one of that name."""
        self._count -= len(self._levels.pop(segment, ()))

    def clear(self) -> None:
        """Forget all levels."""
        self._levels.clear()
        self._count = 0

    def _set(self, segment: str, writer_id: str, level: int | None) -> None:
        """Keep a level; where there are too many writers, all are forgotten."""
        if self._count >= limits.CONSISTENCY_WRITERS_MAX:
            self.clear()
        levels = self._levels.setdefault(segment, {})
        self._count += writer_id not in levels
        levels[writer_id] = level
