"""Calls of plugin code: its exceptions end in a line, and its output stays off stdout, which is for data."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from wiretool.errors import UsageError, WiretoolError
from wiretool.processes import held_interrupts

_FAILURES: dict[str, None] = {}


@contextmanager
def plugin_code(
    failure: str, *, package: str = "its package", passes: tuple[type[BaseException], ...] = ()
) -> Iterator[None]:
    """Run code of a plugin; any exception of it, SystemExit too, becomes a UsageError that begins with `failure`.

    The exceptions in `passes` are raised as they are. A signal waits for the end of the block, as its exception may get
    lost in an import.
    """
    with held_interrupts():
        try:
            with redirect_stdout(sys.stderr):
                yield
        except passes:
            raise
        except BaseException as err:
            raise UsageError(f"{failure}: {exception_text(err)}; update or uninstall {package}") from err


@contextmanager
def tolerated(failure: str) -> Iterator[None]:
    """Run code of a plugin that the command can do without: an exception of it, SystemExit too, ends the block.

    It is kept for `failures`, in a line that begins with `failure`.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as err:  # noqa: BLE001  (a plugin may raise anything)
        _FAILURES[f"{failure}: {exception_text(err)}; update or uninstall its package"] = None


def failures() -> tuple[str, ...]:
    """Return the failures of plugins that were tolerated in this process, each once."""
    return tuple(_FAILURES)


def exception_text(err: BaseException) -> str:
    """Return an exception in one line."""
    text = str(err) if isinstance(err, WiretoolError) else f"{type(err).__name__}: {err}".removesuffix(": ")
    return " ".join(text.split())
