"""The end of a client: crashes of several languages, and orderly failures that are none."""

import pytest

from wiretool.fuzz.client.crash_kinds import crash_in, fatal_signal

PYTHON = """Traceback (most recent call last):
  File "/app/client.py", line 7, in <module>
    main()
  File "{path}", line 12, in read
    return data[4]
           ~~~~^^^
{error}
"""
JAVA = """io.wire.WireException: the reply does not fit
\tat io.wire.Reader.read(Reader.java:40)
\tat io.wire.Main.main(Main.java:7)
"""
JAVA_BUG = "java.lang.NullPointerException\n\tat io.wire.Reader.take(Reader.java:9)\n"


@pytest.mark.parametrize(
    ("output", "error", "message"),
    [
        (PYTHON.format(path="/a/b/wire.py", error="IndexError: list index out of range"),
         "IndexError at b/wire.py:12", "list index out of range"),
        (PYTHON.format(path="/usr/lib/python3.11/json/x.py", error="json.decoder.JSONDecodeError: Expecting value"),
         "json.decoder.JSONDecodeError at app/client.py:7", "Expecting value"),
        (PYTHON.format(path="/usr/lib/python3.11/site-packages/wire/read.py", error="AssertionError"),
         "AssertionError at wire/read.py:12", ""),
        (PYTHON.format(path="C:\\wire\\read.py", error="struct.error: unpack requires 4 bytes"),
         "struct.error at wire/read.py:12", "unpack requires 4 bytes"),
        ("thread 'main' panicked at src/event/reader.rs:1148:9:\nassertion `left == right` failed\n  left: 1",
         "panic at event/reader.rs:1148", "assertion `left == right` failed"),
        ("thread '<unnamed>' panicked at 'get new version', src/sync.rs:880:14\nnote: run with RUST_BACKTRACE=1",
         "panic at src/sync.rs:880", "get new version"),
        ("panic: runtime error: index out of range [9] with length 4\n\ngoroutine 1 [running]:\nmain.main()",
         "panic: runtime error: index out of range [#] with length #",
         "runtime error: index out of range [9] with length 4"),
        ("Exception in thread \"main\" java.lang.NullPointerException: x\n\tat io.wire.Reader.read(Reader.java:40)",
         "java.lang.NullPointerException at Reader.java:40", "x"),
        (JAVA + "Caused by: java.lang.NullPointerException\n"
         "\tat java.base/java.util.Objects.requireNonNull(Objects.java:221)\n\tat io.wire.Reader.take(Reader.java:9)\n"
         "\t... 2 more\n", "java.lang.NullPointerException at Reader.java:9", ""),
        ("java.nio.BufferUnderflowException\n\tat java.base/java.nio.Buffer.nextGetIndex(Buffer.java:707)\n"
         "\tat app//io.wire.Reader.take(Reader.java:9)\n", "java.nio.BufferUnderflowException at Reader.java:9", ""),
        ("java.util.NoSuchElementException: none\n\tat java.base/java.util.Optional.get(Optional.java:143)\n",
         "java.util.NoSuchElementException at Optional.java:143", "none"),
        ('Exception in thread "reads-1" java.lang.StackOverflowError\n\tat io.wire.Reader.take(Reader.java:9)\n' + JAVA,
         "java.lang.StackOverflowError at Reader.java:9", ""),
        ("client: wire.c:12: main: Assertion `size > 0' failed.\nAborted", "Assertion `size > 0' failed", ""),
        ("==1==ERROR: AddressSanitizer: heap-buffer-overflow on address", "heap-buffer-overflow", ""),
        ("/app/wire.js:10\nTypeError: Cannot read properties of undefined\n    at read (/app/wire.js:10:5)",
         "TypeError at wire.js:10", ""),
    ],
)  # fmt: skip
def test_crashes(output: str, error: str, message: str) -> None:
    found = crash_in(output)
    assert found is not None
    assert found == (error, message)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "error: the server sent an unknown message",
        PYTHON.format(path="/a/wire.py", error="ConnectionResetError: [Errno 104] Connection reset by peer"),
        PYTHON.format(path="/a/wire.py", error="TimeoutError"),
        PYTHON.format(path="/a/wire.py", error="EOFError"),
        PYTHON.format(path="/a/wire.py", error="asyncio.exceptions.IncompleteReadError: 0 bytes read"),
        PYTHON.format(path="/a/wire.py", error="websockets.exceptions.ConnectionClosedError: no close frame"),
        PYTHON.format(path="/a/wire.py", error="Refused: not this version"),
        PYTHON.format(path="/a/wire.py", error="RuntimeError: the server is of another version"),
        'Exception in thread "main" java.io.EOFException\n\tat io.wire.Reader.read(Reader.java:40)',
        JAVA,
        JAVA + "Caused by: java.lang.IllegalStateException: closed\n\tat io.wire.Reader.take(Reader.java:9)\n",
        "WARNING: a callback failed\n" + JAVA_BUG + JAVA,
    ],
)
def test_orderly_failures(output: str) -> None:
    assert crash_in(output) is None


def test_the_last_traceback_counts() -> None:
    first = PYTHON.format(path="/a/wire.py", error="IndexError: list index out of range")
    last = PYTHON.format(path="/a/wire.py", error="ConnectionResetError: lost")
    text = "\nDuring handling of the above exception, another exception occurred:\n\n"
    assert crash_in(first + text + last) is None
    assert crash_in(last + text + first) is not None
    assert crash_in(JAVA_BUG + JAVA) is None
    assert crash_in(JAVA + JAVA_BUG) is not None


@pytest.mark.parametrize(
    ("exit_code", "name"),
    [(-11, "SIGSEGV"), (-6, "SIGABRT"), (134, "SIGABRT"), (139, "SIGSEGV"), (-9, "SIGKILL"), (137, ""), (0, ""),
     (1, ""), (-15, ""), (255, "")],
)  # fmt: skip
def test_fatal_signals(exit_code: int, name: str) -> None:
    assert fatal_signal(exit_code) == name
