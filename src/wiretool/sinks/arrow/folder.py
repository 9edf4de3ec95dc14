"""The folder that tables are written into: one of their own, or that of an earlier run, whose tables they replace."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from wiretool.errors import UsageError
from wiretool.ledger import Ledger
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.arrow.files import is_table_of_ours, refused
from wiretool.sinks.ledger import pieces_of
from wiretool.sinks.output import is_same
from wiretool.sinks.partial import PART, part_of

MESSAGES = "messages"
LEDGER = "ledger.json"
_OWN = re.compile(r"(frames|events)\.(parquet|arrow)|ledger\.json")
_OWN_MESSAGE = re.compile(rf"({'|'.join(map(re.escape, PROTOCOLS))})\.\w+\.(parquet|arrow)", re.ASCII)


#: How each ledger begins: up to the first number.
_LEDGER_HEAD = "".join(pieces_of(Ledger())).partition("0")[0]


class Folder:
    """A folder for tables; what earlier ones it holds stays until the first new one is written."""

    def __init__(self, path: Path, inputs: Sequence[Path] = ()) -> None:
        """UsageError where it cannot be written, or holds what no run of ours has written, or one of the inputs."""
        self.path = path
        if os.path.exists(path) and not os.path.isdir(path):
            raise UsageError(f"cannot write {path}: not a folder; expected a folder for tables")
        self._is_new = not os.path.exists(path)
        with refused(path):
            path.mkdir(exist_ok=True)
            self._earlier = list(self._found(inputs))
        probe = part_of(path / LEDGER)
        with refused(path):
            probe.open("wb").close()
            probe.unlink()

    def _found(self, inputs: Sequence[Path]) -> Iterator[Path]:
        """What is there, if all of it is ours and none of it an input."""
        for entry in sorted(self.path.iterdir()):
            if entry.name == MESSAGES and entry.is_dir() and not entry.is_symlink():
                for inner in sorted(entry.iterdir()):
                    yield self._own(inner, _OWN_MESSAGE, inputs)
            else:
                yield self._own(entry, _OWN, inputs)

    def _own(self, entry: Path, names: re.Pattern[str], inputs: Sequence[Path]) -> Path:
        if any(is_same(given, entry) for given in inputs):
            raise UsageError(f"{entry} is an input; expected another output")
        is_known = names.fullmatch(entry.name.removesuffix(PART)) and entry.is_file() and not entry.is_symlink()
        if not is_known or not (entry.suffix == PART or _is_ours(entry)):
            whose = ", which wiretool has not written" if is_known else ""
            why = "expected a new or empty folder, or tables of an earlier run"
            raise UsageError(f"{self.path} holds {entry.relative_to(self.path)}{whose}: {why}")
        return entry

    def leave(self) -> None:
        """Take the folder away again, if it was made here and nothing is in it."""
        if self._is_new:
            with suppress(OSError):
                self.path.rmdir()

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


def _is_ours(entry: Path) -> bool:
    """Whether a file with one of our names was written by us."""
    if entry.name != LEDGER:
        return is_table_of_ours(entry)
    with refused(entry), entry.open(errors="replace") as file:
        return file.read(len(_LEDGER_HEAD)) == _LEDGER_HEAD
