"""The way of `wiretool slice`: captures are read once for the records, and once more for their packets."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.engines import batches_of, suits_columns
from wiretool.commands.interrupts import for_each, stoppable, told_when_stopped
from wiretool.commands.options import (
    Engine,
    check_any_read,
    is_stdout,
    protocols_like,
    report_keys,
    report_unread,
    tell,
)
from wiretool.commands.progress import counted, is_watched, shown
from wiretool.errors import CaptureError, UsageError
from wiretool.ledger import Ledger
from wiretool.sinks.ledger import no_connection
from wiretool.storage.url_path import UrlPath

if TYPE_CHECKING:
    from wiretool.batches.batch import Batch
    from wiretool.sinks.packets import Packets
    from wiretool.sinks.slice import Chosen

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slicing:
    """What is cut out of which captures."""

    captures: Sequence[Path]
    protocol: str
    ports: Mapping[int, str]
    engine: Engine
    where: str
    connection: int | None
    whole_connections: bool
    keylog: Path | None = None
    keys: KeyLog = field(default_factory=lambda: KeyLog(keeps_new=True))
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of a reader of records."""
        names = {"protocol": self.protocol, "ports": self.ports}
        return {**names, "ledger": self.ledger, "notes": tell, "keys": self.keys}


def slice_into(path: Path, wanted: Slicing) -> int:
    """Write the packets of the matching records to a file, or stdout for `-`, and report how many; return the records.

    Where the captures are damaged (CaptureError) or Ctrl-C stops it, the file is a whole capture of what was read so
    far, or as it was before.
    """
    from wiretool.filter import History, names_for
    from wiretool.sinks.arrow.filter import BatchFilter
    from wiretool.sinks.output import open_output
    from wiretool.sinks.packets import Packets
    from wiretool.sinks.slice import Chosen

    names = names_for(protocols_like(wanted.protocol))
    keep = BatchFilter(names, History(), expression=wanted.where, connection=wanted.connection).keep
    with (
        stoppable("wiretool.dissect.columns.read"),
        no_empty_file(path),
        open_output(path, inputs=wanted.captures) as out,
    ):
        packets, chosen = Packets(out, wanted.keys.take_new), Chosen(whole_connections=wanted.whole_connections)
        with told_when_stopped(lambda: so_far(path, packets)):
            damage = find(wanted, keep, chosen)
            if damage is None:
                check_any_read(wanted.ledger, wanted.captures)
                check_connection(wanted)
            add_whole_tls(wanted, chosen)
            damage = cut_out(wanted, chosen, packets) or damage
        tell_incomparable(wanted.captures)
        if packets.has_begun:
            tell_found(wanted, chosen.records, packets.count)
        if damage is not None:
            raise damage
        report_unread(wanted.ledger, wanted.captures)
        report_keys(wanted.keylog, wanted.ledger)
    return chosen.records


def add_whole_tls(wanted: Slicing, chosen: "Chosen") -> None:
    """Choose all packets of decrypted connections, and report it: a part of them cannot be read."""
    rows = [row for row in wanted.ledger.connections if row.is_decrypted]
    if not wanted.whole_connections and (count := chosen.add_whole(rows)):
        plural = "s" * (count != 1)
        tell(f"TLS: all packets of {count:,} connection{plural} written, as a part of them cannot be decrypted")


def check_connection(wanted: Slicing) -> None:
    """UsageError where the captures, which have been read once, have no connection of this number."""
    if wanted.connection is not None and (nothing := no_connection(wanted.connection, wanted.ledger)):
        raise UsageError(nothing)


@contextmanager
def no_empty_file(path: Path) -> Iterator[None]:
    """A file that is not there before the block, and empty behind it, is not there either: it is no capture."""
    may_go = not is_stdout(path) and not os.path.exists(path)
    try:
        yield
    finally:
        if may_go and os.path.isfile(path) and not path.stat().st_size:
            path.unlink()


def find(wanted: Slicing, keep: "Callable[[Batch], Batch]", chosen: "Chosen") -> CaptureError | None:
    """Choose the packets of the records that are kept; gives the damage at which the captures end early."""
    return up_to_damage(wanted.captures, "finding", lambda files: map(keep, batches_from(files, wanted)), chosen.add)


def cut_out(wanted: Slicing, chosen: "Chosen", packets: "Packets") -> CaptureError | None:
    """Write the chosen packets; gives the damage at which the captures end early."""
    from wiretool.protocols.base.registry import server_ports
    from wiretool.sinks.slice import cut

    ports = server_ports() | wanted.ports.keys()
    return up_to_damage(wanted.captures, "cutting", lambda files: cut(files, chosen, packets, ports), lambda _: None)


def up_to_damage(
    captures: "Sequence[Path | BinaryIO]",
    name: str,
    read: "Callable[[Sequence[Path | BinaryIO]], Iterator[T]]",
    take: Callable[[T], None],
) -> CaptureError | None:
    """Take each step of reading, with a bar of this name where somebody sees it; gives the damage that ends it."""
    with counted(captures) as (opened, files), closing(stepping(read(opened))) as reading:
        steps = shown(reading, files, name) if files and is_watched() else reading
        with closing(steps):
            try:
                for_each(steps, take, may_wait=True)
            except CaptureError as err:
                return err
    return None


def stepping(steps: Iterator[T]) -> Generator[T]:
    """The steps as something that can be closed, and they with it."""
    yield from steps


def batches_from(files: "Sequence[Path | BinaryIO]", wanted: Slicing) -> "Iterator[Batch]":
    """The records of the captures in batches."""
    from wiretool.dissect.columns.read import read_batches
    from wiretool.dissect.dissector import read

    if wanted.engine is Engine.ROWS or (wanted.engine is Engine.AUTO and not suits_columns(wanted.captures)):
        return batches_of(read(files, **wanted.options))
    return read_batches(files, **wanted.options)


def so_far(path: Path, packets: "Packets") -> str:
    """What was written, for who has stopped it."""
    if not packets.has_begun:
        return "nothing written"
    count = f"{packets.count:,} packet{'s' * (packets.count != 1)} so far"
    return count if is_stdout(path) else f"{path} is whole, {count}"


def tell_incomparable(captures: Sequence[Path]) -> None:
    """Report captures of which wiretool cannot tell whether they changed between the two times they were read."""
    for path in captures:
        if isinstance(path, UrlPath) and path.first_opened and not path.is_comparable:
            tell(f"{path}: the server states neither size nor version; a change between both reads is not detected")


def tell_found(wanted: Slicing, records: int, packets: int) -> None:
    """What became of it, for who waits for it."""
    if records:
        tell(f"{records:,} matching record{'s' * (records != 1)}, {packets:,} packet{'s' * (packets != 1)} written")
    else:
        tell("nothing matches; wrote a capture without packets")
