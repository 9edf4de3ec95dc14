"""What became of every byte: the ledger file, and its totals in one line."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wiretool.codec.json_text import table_pieces
from wiretool.errors import OutputError
from wiretool.ledger import Account, Ledger
from wiretool.sinks.output import open_output
from wiretool.units import counted


@contextmanager
def kept(
    book: Ledger,
    path: Path | None,
    tell: Callable[[str], None] | None,
    *,
    inputs: Sequence[Path] = (),
    prefix: Callable[[], str] = str,
) -> Iterator[None]:
    """Write the ledger to `path`, and its totals after a prefix to `tell`, once reading is over or broke off.

    Where the output could not be written, the totals are not reported.

    UsageError, before anything is read, where the file cannot be written or is one of the `inputs`.
    """
    output = None if path is None else open_output(path, inputs=inputs)
    is_written = True
    try:
        yield
    except OutputError:
        is_written = False
        raise
    finally:
        if is_written and tell is not None and (book.connections or book.packets.tcp):
            tell(prefix() + totals(book))
        if output is not None:
            with output:
                for piece in pieces_of(book):
                    output.write(piece)


def pieces_of(book: Ledger) -> Iterator[str]:
    """The ledger as it is written, `as_json` in pieces of a connection each."""
    return table_pieces(book.head_as_json(), [("connections", book.rows_as_json())])


def totals(book: Ledger) -> str:
    """The totals for a person: what was read, and where each byte of it went."""
    return told(book.total, len(book.connections))


def told(total: Account, connections: int) -> str:
    """The sums over so many connections for a person."""
    parts = [
        _count(total.frames, "frame"),
        _count(total.problems, "problem"),
        _count(total.gaps, "gap"),
    ]
    places = [
        ("frames", total.frame_bytes),
        ("problems", total.problem_bytes),
        ("streams of other protocols", total.other_bytes),
    ]
    shares = ", ".join(f"{size:,} in {name}" for name, size in places if size)
    missing = f"; {counted(total.gap_bytes, 'byte')} missing" if total.gap_bytes else ""
    repeated = f"; {counted(total.duplicate_bytes, 'byte')} captured again" if total.duplicate_bytes else ""
    where = _count(connections, "connection") or "0 connections"
    spread = f": {shares}" if shares else ""
    size = counted(total.payload_bytes, "byte")
    return f"{', '.join(filter(None, parts))} in {where}; {size}{spread}{missing}{repeated}"


def no_connection(number: int, book: Ledger) -> str:
    """Why nothing of a connection with this number was found, where all that was read has none; else nothing."""
    numbers = [each.connection for each in book.connections]
    if number <= max(numbers, default=-1):
        return ""
    there = f"there are 0 to {max(numbers)}" if len(numbers) > 1 else "there is only 0"
    return f"no connection {number}: {there if numbers else 'there is none'}"


def _count(number: int, name: str) -> str:
    if not number:
        return "no frames" if name == "frame" else ""
    return counted(number, name)
