"""Classification of the end of a client: a crash, or an orderly failure.

A program that meets an illegal reply, or loses its connection, may report an error and end with any exit code. It may
also leave the exception of its library uncaught: an error of the network, or a class that a library declares for its
callers. A crash is an error of the program itself: a signal, a panic, an assertion, an index out of range.
"""

import builtins
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from signal import Signals
from typing import NamedTuple

#: The number that a shell adds to that of the signal that ended its child.
SHELL_SIGNAL = 128
#: Signals that end a program for an error of its own; others may come from outside.
_FATAL = ("SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS")
_PYTHON_PLACE = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
#: Files of Python itself: the place of their caller is more specific.
_STANDARD_LIBRARY = re.compile(r"[/\\\\][Ll]ib[/\\\\](?:python[\d.]+[/\\\\])?(?!.*site-packages)|^<")
_PYTHON_ERROR = re.compile(r"^(?:\s*\|\s*)?([A-Za-z_][\w.]*)(?::([^\n]*)|$)", re.MULTILINE)
_PYTHON_TRACE = re.compile(r"Traceback \(most recent call last\)")
_RUST_PANIC = re.compile(r"panicked at (?:'([^\n]*)', )?([^\s:']+:\d+)(?::\d+:?)?(?:\n([^\n]*))?")
_GO_PANIC = re.compile(r"^(?:panic|fatal error): ([^\n]+)", re.MULTILINE)
_ASSERTION = re.compile(r"Assertion [`'\"]?([^\n]{1,80}?)['\"]? failed|terminate called after throwing[^\n]*")
_SANITIZER = re.compile(r"ERROR: \w+Sanitizer: ([\w-]+)|stack smashing detected|double free or corruption")
#: The first line of a Java trace: of a thread that ends by it, or printed by the program.
_JAVA_HEAD = re.compile(r"^(Exception in thread \"[^\"\n]*\" )?(?:[a-z]\w*\.)+[A-Z][\w$]*(?::[^\n]*)?$", re.MULTILINE)
_JAVA_ERROR = re.compile(
    r"^(?:Exception in thread \"[^\"\n]*\" |\s*Caused by: )?(java\.(?:lang|util|nio)\.\w+)(?::([^\n]*))?$", re.MULTILINE
)
_JAVA_PLACE = re.compile(r"^\s+at ([\w.$/<>@-]+)\(([\w$]+\.java:\d+)\)", re.MULTILINE)
#: Frames of Java itself, as `java.base/java.util.Objects.requireNonNull`.
_JAVA_LIBRARY = re.compile(r"(?:[\w.@-]*/)*(?:javax?|jdk|sun|com\.sun)\.")
_JS_ERROR = re.compile(r"^(?:Uncaught )?(TypeError|RangeError|ReferenceError): ", re.MULTILINE)
_JS_PLACE = re.compile(r"^\s+at .*?([^/\\\s(]+:\d+):\d+\)?$", re.MULTILINE)
_DIGITS = re.compile(r"\d+")
#: Errors that programs raise on purpose where a peer or the network fails.
_ON_PURPOSE = frozenset({"SystemExit", "KeyboardInterrupt", "Exception", "RuntimeError"})
_JAVA_BUGS = frozenset(
    f"java.{name}"
    for name in (
        "lang.NullPointerException", "lang.IndexOutOfBoundsException", "lang.ArrayIndexOutOfBoundsException",
        "lang.StringIndexOutOfBoundsException", "lang.ClassCastException", "lang.NegativeArraySizeException",
        "lang.ArithmeticException", "lang.AssertionError", "lang.OutOfMemoryError", "lang.StackOverflowError",
        "lang.ArrayStoreException", "lang.NumberFormatException", "util.NoSuchElementException",
        "util.ConcurrentModificationException", "util.EmptyStackException", "nio.BufferUnderflowException",
        "nio.BufferOverflowException",
    )
)  # fmt: skip


def fatal_signal(exit_code: int) -> str:
    """Return the name of the signal that ended a program for an error of its own; empty for another end."""
    number = -exit_code if exit_code < 0 else exit_code - SHELL_SIGNAL
    try:
        name = Signals(number).name
    except ValueError:
        return ""
    return name if name in _FATAL or (exit_code < 0 and name in ("SIGKILL", "SIGPIPE")) else ""


class Crash(NamedTuple):
    """An error of a program itself."""

    #: The kind of error and its place; the same for crashes of the same cause.
    error: str
    #: Its message, which may differ each time.
    message: str = ""

    def __str__(self) -> str:
        return f"{self.error}: {self.message}" if self.message else self.error


def crash_in(output: str) -> Crash | None:
    """Return the crash that the last output of a program shows; None for an orderly failure."""
    if found := _RUST_PANIC.search(output):
        return Crash(f"panic at {_short(found.group(2))}", (found.group(1) or found.group(3) or "").strip())
    if found := _SANITIZER.search(output):
        return Crash(found.group(1) or found.group(0))
    if found := _ASSERTION.search(output):
        return Crash(found.group(0))
    if _PYTHON_TRACE.search(output):
        return _python_crash(output)
    if (found := _GO_PANIC.search(output)) and "goroutine " in output:
        return Crash(f"panic: {_DIGITS.sub('#', found.group(1))}", found.group(1))
    for error in _JS_ERROR.finditer(output):
        if where := _JS_PLACE.search(output, error.end()):
            return Crash(f"{error.group(1)} at {where.group(1)}")
    return next((crash for trace in _java_traces(output) if (crash := _java_crash(trace)) is not None), None)


def _java_traces(output: str) -> Iterator[str]:
    """Yield the traces of threads that ended by an error, and the last trace: others were logged on the way."""
    heads = list(_JAVA_HEAD.finditer(output))
    for head, (start, end) in zip(heads, pairwise([*(each.start() for each in heads), len(output)]), strict=True):
        if head.group(1) or head is heads[-1]:
            yield output[start:end]


def _java_crash(trace: str) -> Crash | None:
    """Return the first error of a trace, or of its causes, that is one of the program itself."""
    for error in _JAVA_ERROR.finditer(trace):
        if error.group(1) not in _JAVA_BUGS:
            continue
        following = _JAVA_ERROR.search(trace, error.end())
        places = list(_JAVA_PLACE.finditer(trace, error.end(), following.start() if following else len(trace)))
        place = next((each for each in places if not _JAVA_LIBRARY.match(each.group(1))), places[0] if places else None)
        if place is not None:
            return Crash(f"{error.group(1)} at {place.group(2)}", (error.group(2) or "").strip())
    return None


def _python_crash(output: str) -> Crash | None:
    """Return the error of the last traceback; None for one of the network, or of a class that a library declares."""
    trace = output[max(found.start() for found in _PYTHON_TRACE.finditer(output)) :]
    places = list(_PYTHON_PLACE.finditer(trace))
    if not places:
        return None
    error = _PYTHON_ERROR.search(trace, places[-1].end())
    if error is None or not _is_bug(error.group(1)):
        return None
    place = next((each for each in reversed(places) if not _STANDARD_LIBRARY.search(each.group(1))), places[-1])
    where = f"{_short(place.group(1))}:{place.group(2)}"
    return Crash(f"{error.group(1)} at {where}", (error.group(2) or "").strip())


def _is_bug(name: str) -> bool:
    module, _, last = name.rpartition(".")
    if module:
        return module.partition(".")[0] in sys.stdlib_module_names and last not in ("IncompleteReadError", "timeout")
    cls = getattr(builtins, name, None)
    if not isinstance(cls, type) or name in _ON_PURPOSE:
        return False
    return not issubclass(cls, OSError | EOFError | Warning)


def _short(path: str) -> str:
    """Return the last two parts of a path."""
    return "/".join(path.replace("\\", "/").split("/")[-2:])
