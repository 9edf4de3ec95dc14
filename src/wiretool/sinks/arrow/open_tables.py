"""The tables of one run that are being written, each a file: how much of them waits, and how they end."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from wiretool.errors import UsageError, write_error
from wiretool.sinks.arrow.files import FILES, Press, TableFile, reason

#: Bytes that wait in all tables together; above, the fullest ones are written.
WAITING_BYTES_MAX = 12 * 1024 * 1024
#: Files that are open at once: a process may have 1,024 of all kinds, unless it is told otherwise.
FILES_OPEN_MAX = 512
#: Tables that are named where they could not be written.
NAMED_MAX = 3


class OpenTables:
    """Files of tables in a folder, by their paths without an ending.

    Few enough are open at once: what was written to longest ago is ended, and what comes of it later goes into another
    file, of which the name has a number behind it.
    """

    def __init__(self, folder: Path, form: str) -> None:
        """`form` is parquet or arrow."""
        self._folder = folder
        self._kind = FILES[form]
        self._press = Press()
        #: Those that are open, what was written to last at the end; and those that are over.
        self._open: dict[Path, TableFile] = {}
        self._over: list[TableFile] = []
        self._counts: Counter[Path] = Counter()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._counts)

    @property
    def files(self) -> Sequence[TableFile]:
        """All files."""
        return [*self._over, *self._open.values()]

    def file(self, path: Path, schema: pa.Schema) -> TableFile:
        """The file, opened with that schema if it is new."""
        file = self._open.pop(path, None) or self._opened(path, schema)
        self._open[path] = file
        return file

    def _opened(self, path: Path, schema: pa.Schema) -> TableFile:
        if len(self._open) >= FILES_OPEN_MAX:
            oldest = self._open.pop(next(iter(self._open)))
            oldest.flush()
            self._press.take(oldest.close)
            self._over.append(oldest)
        self._counts[path] += 1
        number = f"-{self._counts[path]}" if self._counts[path] > 1 else ""
        return self._kind(path.with_name(path.name + number + self._kind.suffix), schema, self._press)

    def bound(self) -> None:
        """Write the fullest tables until few enough bytes wait."""
        waiting = sum(file.waiting_bytes for file in self._open.values())
        for file in sorted(self._open.values(), key=lambda file: file.waiting_bytes, reverse=True):
            if waiting <= WAITING_BYTES_MAX:
                break
            waiting -= file.waiting_bytes
            file.flush()

    def close(self) -> bool:
        """Close every file, even where one cannot be; the first failure is raised. Whether all are whole.

        UsageError for the tables that the system did not take, all of them in one.
        """
        files = list(self._open.values())
        steps = [*(file.flush for file in files), self._press.finish, *(file.close for file in files)]
        try:
            _all_of(iter(steps))
        finally:
            self._refuse()
        return not any(file.is_broken for file in self.files)

    def _refuse(self) -> None:
        lost = [file for file in self.files if file.refusal]
        if not lost or (refusal := lost[0].refusal) is None:
            return
        folder, names = self._folder, [str(file.path.relative_to(self._folder)) for file in lost]
        named = ", ".join(names[:NAMED_MAX]) + f" and {len(names) - NAMED_MAX} more" * (len(names) > NAMED_MAX)
        others = ", the others have the records read before" * (len(lost) < len(self.files))
        why = f"{reason(refusal)}; {named} skipped{others}"
        advice = "free some space or use another folder, and run it again"
        raise write_error(f"cannot write all tables in {folder}: {why}: {advice}", refusal)


def _all_of(steps: Iterator[Callable[[], None]]) -> None:
    """Do all of them, whatever fails in some; the first failure is raised."""
    for step in steps:
        is_done = False
        try:
            step()
            is_done = True
        finally:
            for other in () if is_done else steps:
                with suppress(UsageError, pa.ArrowException):  # one failure is told, and most others come of it
                    other()
