"""The two ways through captures, rows and columns: which is taken, and what comes out of it in batches."""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.commands.interrupts import for_each
from wiretool.commands.options import DecodeFormat, Engine, is_stdout
from wiretool.commands.progress import is_file
from wiretool.errors import DecodeError, UsageError, WiretoolError
from wiretool.processes import held_interrupts

if TYPE_CHECKING:
    from wiretool.batches.batch import Batch
    from wiretool.records import Record
    from wiretool.sinks.batch_sink import BatchSink
    from wiretool.sinks.pump import Written

#: Bytes of captures that are read by rows sooner than NumPy, which columns are made of, is loaded.
SMALL_BYTES = 128 * 1024
#: Records that make up a batch where they are read one by one.
BATCH_RECORDS = 8_192


def takes_columns(
    engine: Engine,
    form: DecodeFormat,
    *,
    captures: Sequence[Path] | None,
    output: Path | None,
    only_rows: str = "",
    is_for_people: bool = False,
    workers: int = 1,
) -> bool:
    """Whether captures are read as columns.

    `only_rows` is the option, if any, with which they cannot be: UsageError where columns are asked for all the same.
    Left to choose, files are, for tables, for lines of programs that do not go to a terminal, and for text in a file.
    What is `is_for_people`, which is also all that stops early, is not.
    """
    if engine is Engine.COLUMNS and only_rows:
        raise UsageError(f"--engine columns: not allowed with {only_rows}; expected --engine rows")
    if engine is not Engine.AUTO:
        return engine is Engine.COLUMNS
    if only_rows or is_for_people or not all(map(is_file, captures or ())):
        return False
    is_read_later = _is_in_a_file(output) if form is DecodeFormat.TEXT else not is_on_terminal(output)
    return is_read_later and (workers > 1 or suits_columns(captures or ()))


def suits_columns(captures: Sequence[Path]) -> bool:
    """Return whether captures are not small: then columns are read faster, with nearly all traffic.

    tests/bench/columns measures it. What cannot be read has its reader to say so.
    """
    return not all(map(is_file, captures)) or sum(map(os.path.getsize, captures)) > SMALL_BYTES


def _is_in_a_file(output: Path | None) -> bool:
    return output is not None and not is_stdout(output) and (is_file(output) or not os.path.exists(output))


def is_on_terminal(output: Path | None) -> bool:
    """Return whether output is shown on a terminal as it is written."""
    return is_stdout(output) and sys.stdout is not None and sys.stdout.isatty()


def check_workers(workers: int, *, is_bulk: bool) -> None:
    """UsageError where more than one process is asked for what one alone can read."""
    if workers > 1 and not is_bulk:
        raise UsageError(
            f"--workers {workers}: only the column engine uses several processes; expected files as input, and as "
            "output tables, a file or a pipe; or add --engine columns"
        )


# -- batches -------------------------------------------------------------------------------------------------------


def batches_of(records: "Iterable[Record]") -> "Iterator[Batch]":
    """Records that are read one by one in batches; what came before an error or Ctrl-C comes before it here too."""
    from wiretool.batches.rows import batch_of

    chunk: list[Record] = []
    failure: BaseException | None = None
    try:
        for record in records:
            chunk.append(record)
            if len(chunk) >= BATCH_RECORDS:
                full, chunk = chunk, []
                yield batch_of(full)
    except (WiretoolError, KeyboardInterrupt) as err:
        failure = err
    if chunk:
        yield batch_of(chunk)
    if failure is not None:
        raise failure


def begun(batches: "Iterator[Batch]") -> "Iterator[Batch]":
    """The batches, the first of which is read now: other processes that read begin before this one has threads."""
    first = next(batches, None)
    return batches if first is None else _again([first], batches)


def _again(front: "list[Batch]", behind: "Iterator[Batch]") -> "Iterator[Batch]":
    """The one batch in front, which is not held any longer than the others, and those behind it."""
    yield front.pop()
    yield from behind


def records_in(batches: "Iterable[Batch]") -> "Iterator[Record]":
    """The records of batches, one by one."""
    from wiretool.batches.rows import records_of

    for batch in batches:
        records = records_of(batch)
        del batch  # or two would be held while the next one is read
        yield from records
        del records


def strictly(batches: "Iterable[Batch]") -> "Generator[Batch]":
    """Batches up to the first problem, which is raised as `dissector.strictly` does, behind its record."""
    from wiretool.batches.rows import batch_of, records_of
    from wiretool.dissect import dissector as dissect

    for batch in batches:
        if all(record.kind != "problem" for record in batch.records):
            yield batch
            del batch  # or two would be held while the next one is read
            continue
        kept: list[Record] = []
        try:
            for record in dissect.strictly(iter(records_of(batch))):
                kept.append(record)  # noqa: PERF402  (what is in it when the error comes is wanted)
        except DecodeError:
            yield batch_of(kept)
            raise


def followed(batches: "Iterable[Batch]", done: Callable[[], None]) -> "Iterator[Batch]":
    """The batches; `done` is called once all of them have been told, and no error."""
    yield from batches
    done()


# -- writing -------------------------------------------------------------------------------------------------------


def pump_batches(batches: "Iterator[Batch]", sink: "BatchSink", *, written: "Written", may_wait: bool = False) -> None:
    """Write batches, and note in `written` how many records that was; Ctrl-C stops as in `for_each`.

    What has been written is whole, whatever stops it: the sink is ended in any case.
    """

    def write(batch: "Batch") -> None:
        sink.write(batch)
        written.records += batch.count

    try:
        sink.begin()
        for_each(batches, write, may_wait=may_wait)
    finally:
        with held_interrupts():
            sink.end()
