"""The two ways through captures, rows and columns: which is taken, and what comes out of it in batches."""

import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wiretool.commands.options import DecodeFormat, Engine
from wiretool.commands.progress import is_file
from wiretool.errors import DecodeError, UsageError, WiretoolError

if TYPE_CHECKING:
    from wiretool.batches.batch import Batch
    from wiretool.records import Record
    from wiretool.sinks.batch_sink import BatchSink

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
) -> bool:
    """Whether captures are read as columns.

    `only_rows` is the option, if any, with which they cannot be: UsageError where columns are asked for all the same.
    Left to choose, files that are written from files are; what is `is_for_people`, or stops early, is not.
    """
    if engine is Engine.COLUMNS and only_rows:
        raise UsageError(f"--engine columns reads whole captures; {only_rows} goes with rows")
    if engine is not Engine.AUTO:
        return engine is Engine.COLUMNS
    if only_rows or is_for_people or not all(map(is_file, captures or ())):
        return False
    return form.is_tables or (output is not None and (is_file(output) or not output.exists()))


def check_workers(workers: int, *, is_bulk: bool) -> None:
    """UsageError where more than one process is asked for what one alone can read."""
    if workers > 1 and not is_bulk:
        raise UsageError(f"--workers {workers} goes with columns: read files into files or tables, or --engine columns")


# -- batches -------------------------------------------------------------------------------------------------------


def batches_of(records: "Iterable[Record]") -> "Iterator[Batch]":
    """Records that are read one by one in batches; what came before an error comes before it here too."""
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
        yield from records_of(batch)


def strictly(batches: "Iterable[Batch]") -> "Generator[Batch]":
    """Batches up to the first problem, which is raised as `dissect.strictly` does, behind its record."""
    from wiretool import dissect
    from wiretool.batches.rows import batch_of, records_of

    for batch in batches:
        if all(record.kind != "problem" for record in batch.records):
            yield batch
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


def pump_batches(
    batches: "Iterator[Batch]",
    sink: "BatchSink",
    *,
    keep: "Callable[[Batch], Batch] | None" = None,
    count: int | None = None,
    may_wait: bool = False,
) -> None:
    """Write what `keep` leaves of the batches, `count` records at most.

    The sink is ended in any case. Ctrl-C stops between two batches, so that what is written is whole: after the
    one that is being written, or with `may_wait`, where more input is always there, the one that is being read.
    """
    from wiretool.batches.rows import batch_of, records_of

    written = 0
    try:
        sink.begin()
        while True:
            with held_interrupts() if may_wait else nullcontext():
                batch = next(batches, None)
                if batch is None:
                    break
                with held_interrupts():
                    kept = batch if keep is None else keep(batch)
                    if count is not None and written + kept.count >= count:
                        kept = batch_of(records_of(kept)[: count - written])
                    sink.write(kept)
                    written += kept.count
                del batch, kept  # or two would be held while the next one is read
                if written == count:
                    break
    finally:
        with held_interrupts():
            sink.end()


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Ctrl-C once is heeded at the end of the block; a second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # nobody is to be interrupted
        yield
        return
    noted = False

    def note(number: int, frame: Any) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if noted:
        signal.raise_signal(signal.SIGINT)
