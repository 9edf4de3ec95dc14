"""Classification of the end of a client: a crash, or an orderly failure.

A program that meets an illegal reply, or loses its connection, may report an error and end with any exit code. It may
also leave the exception of its library uncaught: an error of the network, or a class that a library declares for its
callers. A crash is an error of the program itself: a signal, a panic, an assertion, an index out of range.
"""

import builtins
import re
import sys
from signal import Signals

#: The number that a shell adds to that of the signal that ended its child.
SHELL_SIGNAL = 128
#: Signals that end a program for an error of its own; others may come from outside.
_FATAL = ("SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS")
_PYTHON_PLACE = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
#: Files of Python itself: the place of their caller is more specific.
_STANDARD_LIBRARY = re.compile(r"[/\\\\][Ll]ib[/\\\\](?:python[\d.]+[/\\\\])?(?!.*site-packages)|^<")
_PYTHON_ERROR = re.compile(r"^(?:\s*\|\s*)?([A-Za-z_][\w.]*)(?::|$)", re.MULTILINE)
_PYTHON_TRACE = re.compile(r"Traceback \(most recent call last\)|Exception in thread ")
_RUST_PANIC = re.compile(r"panicked at (?:'[^\n]*', )?([^\s:']+:\d+)")
_GO_PANIC = re.compile(r"^(?:panic|fatal error): ([^\n]+)", re.MULTILINE)
_ASSERTION = re.compile(r"Assertion [`'\"]?([^\n]{1,80}?)['\"]? failed|terminate called after throwing[^\n]*")
_SANITIZER = re.compile(r"ERROR: \w+Sanitizer: ([\w-]+)|stack smashing detected|double free or corruption")
_JAVA_ERROR = re.compile(r"^(?:Exception in thread \"[^\"]*\" |Caused by: )?(java\.lang\.\w+)", re.MULTILINE)
_JAVA_PLACE = re.compile(r"^\s+at [\w.$/<>]+\(([\w$]+\.java:\d+)\)", re.MULTILINE)
_JS_ERROR = re.compile(r"^(?:Uncaught )?(TypeError|RangeError|ReferenceError): ", re.MULTILINE)
_JS_PLACE = re.compile(r"^\s+at .*?([^/\\\s(]+:\d+):\d+\)?$", re.MULTILINE)
#: Errors that programs raise on purpose where a peer or the network fails.
_ON_PURPOSE = frozenset({"SystemExit", "KeyboardInterrupt", "Exception", "RuntimeError"})
_JAVA_BUGS = frozenset(
    f"java.lang.{name}"
    for name in (
        "NullPointerException", "IndexOutOfBoundsException", "ArrayIndexOutOfBoundsException",
        "StringIndexOutOfBoundsException", "ClassCastException", "NegativeArraySizeException", "ArithmeticException",
        "AssertionError", "OutOfMemoryError", "StackOverflowError", "ArrayStoreException",
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


def crash_in(output: str) -> str:
    """Return the error of a program that crashed, with its place, from its last output; empty where it shows none."""
    if found := _RUST_PANIC.search(output):
        return f"panic at {_short(found.group(1))}"
    if found := _SANITIZER.search(output):
        return found.group(1) or found.group(0)
    if found := _ASSERTION.search(output):
        return found.group(0)
    if _PYTHON_TRACE.search(output):
        return _python_crash(output)
    if (found := _GO_PANIC.search(output)) and "goroutine " in output:
        return f"panic: {found.group(1)}"
    for pattern, place, names in ((_JAVA_ERROR, _JAVA_PLACE, _JAVA_BUGS), (_JS_ERROR, _JS_PLACE, None)):
        for error in pattern.finditer(output):
            where = place.search(output, error.end())
            if where is not None and (names is None or error.group(1) in names):
                return f"{error.group(1)} at {where.group(1)}"
    return ""


def _python_crash(output: str) -> str:
    """Return the error of the last traceback; empty for one of the network, or of a class that a library declares."""
    trace = output[max(found.start() for found in _PYTHON_TRACE.finditer(output)) :]
    places = list(_PYTHON_PLACE.finditer(trace))
    if not places:
        return ""
    error = _PYTHON_ERROR.search(trace, places[-1].end())
    if error is None or not _is_bug(error.group(1)):
        return ""
    place = next((each for each in reversed(places) if not _STANDARD_LIBRARY.search(each.group(1))), places[-1])
    return f"{error.group(1)} at {_short(place.group(1))}:{place.group(2)}"


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
