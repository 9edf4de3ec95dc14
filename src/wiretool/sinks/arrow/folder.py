"""The folder that tables are written into: one of their own, or that of an earlier run, whose tables they replace."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from wiretool.errors import UsageError
from wiretool.protocols.registry import PROTOCOLS
from wiretool.sinks.arrow.files import refused
from wiretool.sinks.output import is_same

MESSAGES = "messages"
LEDGER = "ledger.json"
_OWN = re.compile(r"(frames|events)\.(parquet|arrow)|ledger\.json")
_OWN_MESSAGE = re.compile(rf"({'|'.join(map(re.escape, PROTOCOLS))})\.\w+\.(parquet|arrow)", re.ASCII)


class Folder:
    """A folder for tables; what earlier ones it holds stays until the first new one is written."""

    def __init__(self, path: Path, inputs: Sequence[Path] = ()) -> None:
        """UsageError where it cannot be written, or holds what no run of ours has written, or one of the inputs."""
        self.path = path
        if os.path.exists(path) and not os.path.isdir(path):
            raise UsageError(f"cannot write {path}: it is no folder, and tables are many files")
        with refused(path):
            path.mkdir(exist_ok=True)
            self._earlier = list(self._found())
        for entry in self._earlier:
            if any(is_same(given, entry) for given in inputs):
                raise UsageError(f"{entry} is read, it cannot be replaced by a table at the same time")
        probe = path / LEDGER
        with refused(path):
            is_new = not probe.exists()
            probe.open("ab").close()
            if is_new:
                probe.unlink()

    def _found(self) -> Iterator[Path]:
        """What is there, if all of it is ours."""
        for entry in sorted(self.path.iterdir()):
            if entry.name == MESSAGES and entry.is_dir() and not entry.is_symlink():
                for inner in sorted(entry.iterdir()):
                    yield self._own(inner, is_ours=_OWN_MESSAGE.fullmatch(inner.name) is not None)
            else:
                yield self._own(entry, is_ours=_OWN.fullmatch(entry.name) is not None)

    def _own(self, entry: Path, *, is_ours: bool) -> Path:
        if not is_ours or entry.is_symlink() or not entry.is_file():
            why = "tables go into a new or empty folder, or replace those of an earlier run"
            raise UsageError(f"{self.path} holds {entry.relative_to(self.path)}: {why}")
        return entry

    def clear(self) -> None:
        """Take away the tables of the earlier run."""
        earlier, self._earlier = self._earlier, []
        for entry in earlier:
            with refused(entry):
                entry.unlink(missing_ok=True)
        with suppress(OSError):
            (self.path / MESSAGES).rmdir()

    def message(self, protocol: str, name: str) -> Path:
        """The path, without its ending, of the table of a message."""
        return self.path / MESSAGES / f"{protocol}.{name}"
