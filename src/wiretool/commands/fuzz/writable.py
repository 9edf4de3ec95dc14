"""A check, before a run, that its folders and files can be written: at the end of a long run that would be too late."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.errors import system_reason, write_error

#: Bytes that a probe writes: a disk that is full takes none of them.
PROBE_BYTES = 4096


def check_writable(options: FuzzOptions) -> None:
    """Write a probe in each folder that the run may write to; make that of the corpus.

    UsageError where that fails, OutputError where the disk is full; both name the option.
    """
    with option_named(f"--output {options.output}"):
        probe_folder(options.output)
    if options.corpus is not None:
        with option_named(f"--corpus {options.corpus}"):
            options.corpus.mkdir(parents=True, exist_ok=True)
            probe_folder(options.corpus)
    for option, path in options.reports.files():
        with option_named(f"{option} {path}"):
            probe_file(path)


@contextmanager
def option_named(name: str) -> Iterator[None]:
    """Name an option in the error where the system refuses to write."""
    try:
        yield
    except OSError as err:
        raise write_error(f"{name}: cannot be written: {system_reason(err)}", err) from err


def probe_folder(folder: Path) -> None:
    """Write a file in a folder and remove it, with the folders that were made for it. OSError where that fails."""
    with ExitStack() as undo:
        for parent in [each for each in (*reversed(folder.parents), folder) if not each.exists()]:
            parent.mkdir(exist_ok=True)
            undo.callback(remove_empty, parent)
        with NamedTemporaryFile(prefix=".", dir=folder) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()


def remove_empty(folder: Path) -> None:
    """Remove a folder, unless another run has begun to use it."""
    with suppress(OSError):
        folder.rmdir()


def probe_file(path: Path) -> None:
    """Open a file for writing; probe the folder of one that does not exist. OSError where that fails.

    Pipes and devices are left alone: the reader of a pipe would take its closing for the end.
    """
    if path.is_file():
        path.open("ab").close()
    elif not path.exists():
        probe_folder(path.parent)
