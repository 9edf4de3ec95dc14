"""What `wiretool decode` is asked for: what to read, how, and what to write; and which of that makes no sense."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.options import DecodeFormat, Engine, SideName, is_stdout
from wiretool.commands.progress import is_file
from wiretool.errors import UsageError


@dataclass(frozen=True, slots=True)
class Given:
    """Where the bytes are from: captures, pasted hex, or an interface."""

    captures: Sequence[Path] = ()
    hex_: str = ""
    side: SideName | None = None
    interface: str = ""
    bpf: str = ""
    duration_s: float | None = None

    @property
    def paths(self) -> Sequence[Path]:
        """The files that are read, which must not be written."""
        return [Path(self.hex_)] if self.hex_ else self.captures

    @property
    def only_rows(self) -> str:
        """The option, if any, with which records can only be read one by one."""
        if self.interface:
            return "--live"
        return "--hex" if self.hex_ else ""

    @property
    def is_of_files(self) -> bool:
        """Return whether all of it is on disk; a live source, a pipe or a terminal may still get more."""
        return bool(self.captures) and all(map(is_file, self.captures))


@dataclass(frozen=True, slots=True)
class How:
    """What reading takes, wherever the bytes are from."""

    protocol: str
    ports: Mapping[int, str]
    strict: bool = False
    engine: Engine = Engine.AUTO
    workers: int = 1
    #: The file of TLS secrets, and what is in it.
    keylog: Path | None = None
    keys: KeyLog = field(default_factory=KeyLog)

    @property
    def options(self) -> Mapping[str, Any]:
        """What all readers of packets are told."""
        return {"protocol": self.protocol, "ports": self.ports, "keys": self.keys}


@dataclass(frozen=True, slots=True)
class What:
    """Which of the records are written, and as what."""

    form: DecodeFormat
    tree: bool = False
    dump: bool = False
    where: str = ""
    fields: str = ""
    connection: int | None = None
    count: int | None = None
    events: bool = False

    @property
    def is_choosy(self) -> bool:
        """Whether some records are left out."""
        return bool(self.where) or self.connection is not None

    @property
    def is_annotated(self) -> bool:
        """Whether the fields of each record, or its bytes, are shown one by one."""
        return self.tree or self.dump

    @property
    def is_for_people(self) -> bool:
        """Whether each line is made by itself."""
        return self.form is DecodeFormat.TEXT or self.is_annotated

    @property
    def has_totals(self) -> bool:
        """Whether the totals are told at the end: not beside lines for programs."""
        return self.form is DecodeFormat.TEXT or self.form.is_tables


def check_input(given: Given, protocol: str) -> None:
    """UsageError unless there is one kind of input at most, and no option of another."""
    if sum(map(bool, (given.captures, given.hex_, given.interface))) > 1:
        raise UsageError("captures, --hex and --live: mutually exclusive; expected one of them")
    if (given.bpf or given.duration_s) and not given.interface:
        raise UsageError("--filter and --duration: require --live")
    if given.hex_ and (given.side is None or protocol == "auto"):
        raise UsageError("--hex: requires --protocol and --side")
    if given.side is not None and not given.hex_:
        raise UsageError("--side: requires --hex")


def check_files(output: Path | None, ledger: Path | None) -> None:
    """UsageError where the records and the ledger would be written into one file, there already or not."""
    if output is None or ledger is None or str(ledger) == "-":
        return
    is_linked = os.path.exists(output) and os.path.exists(ledger) and os.path.samefile(output, ledger)
    if is_linked or os.path.realpath(output) == os.path.realpath(ledger):
        raise UsageError(f"-o and --ledger name the same file, {ledger}")


def check_tables(what: What, output: Path | None, ledger: Path | None) -> None:
    """UsageError for an option that tables do not go with, or that goes with tables only."""
    if not what.form.is_tables:
        if what.events:
            raise UsageError("--events: requires --format parquet or arrow")
        return
    if is_stdout(output):
        raise UsageError(f"--format {what.form}: missing folder; expected -o FOLDER")
    if ledger is not None and output is not None and is_inside(ledger, output):
        raise UsageError(f"--ledger {ledger} lies in {output}, where tables have their own: ledger.json")
    if what.fields:
        raise UsageError(f"--fields: not allowed with --format {what.form}, which has a column for every field")
    if what.is_annotated:
        raise UsageError(f"-v and -x: not allowed with --format {what.form}, which has every field")


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, there already or not, lies in a folder or in one within."""
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents
