"""`wiretool` as a process of its own, forked from one that has already loaded what commands are made of.

Starting Python and loading all that takes a second, of which a test that runs a command wants nothing. So each process
of tests has one that stands ready, loads once, and forks for every command: its own memory, signals, files, folder,
environment and exit code, and the way into the program and out of it that `python -m wiretool` has. What a start
itself must be like is held by tests that start it for real: test_main.py, test_cli.py, test_docs.py, and all that goes
by a shell, a terminal or sys.executable.
"""

import atexit
import gc
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Self

#: Parts of the program that commands load, some of them only when they run, and single modules of those parts of which
#: some load Locust (that has processes of its own in any case) or Spark.
PARTS = (
    *("analysis", "capture", "commands", "conformance", "dissect", "faults", "fuzz"),
    *("net", "protocols", "replay", "server", "sinks"),
)
MODULES = ("load.run.whole_run", "load.planning.fitting", "load.planning.validate", "load.report")
#: What libraries load late; PyArrow loads pandas wherever that is installed.
LIBRARIES = ("pyarrow.parquet", "typer._adapters", "uvloop", "pandas")
ORDER_BYTES = 200_000


# -- who asks for processes --------------------------------------------------------------------------------------------


class Forked:
    """A command that runs, with the words of subprocess.Popen."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdout: int | None = None,
    ) -> None:
        self.args = ["wiretool", *map(str, arguments)]
        self.returncode: int | None = None
        stdin, self._given = os.pipe()
        self._stdout, out = os.pipe()
        self._stderr, err = os.pipe()
        # Messages stay apart: a command may have ended before its number is read.
        self._told, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        order = {"argv": self.args, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
        socket.send_fds(ready(), [json.dumps(order).encode()], [stdin, stdout or out, err, told.fileno()])
        for end in (stdin, out, err):
            os.close(end)
        told.close()
        self.pid = int(self._told.recv(20))

    def poll(self) -> int | None:
        """Its exit code, if it has ended; minus the number of the signal that ended it."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = int(self._told.recv(20))
            except (TimeoutError, BlockingIOError) as err:
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from err
            self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate_bytes(self, given: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """What it printed, once it was given that and has ended; killed, and TimeoutExpired, where it takes long."""
        with ThreadPoolExecutor(3) as pool:
            pool.submit(_write, self._given, given)
            out, err = (pool.submit(_read, end) for end in (self._stdout, self._stderr))
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return out.result(), err.result()

    def communicate(self, given: str = "", timeout: float | None = None) -> tuple[str, str]:
        """The same in text."""
        out, err = self.communicate_bytes(given.encode(), timeout)
        return text_of(out), text_of(err)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wait()


def run(
    *arguments: str | Path,
    given: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int | None = None,
    timeout_s: float = 60.0,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end; `env` is all of its environment, if it is not to be ours.

    `stdout` is an open file that it is to write to; else what it says there is given.
    """
    process = Forked(*arguments, cwd=cwd, env=env, stdout=stdout)
    printed, said = process.communicate_bytes(given, timeout_s)
    assert process.returncode is not None
    return subprocess.CompletedProcess(process.args, process.returncode, printed, said)


def run_text(*arguments: str | Path, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """The same, of which the output is text."""
    ended = run(*arguments, timeout_s=timeout_s)
    return subprocess.CompletedProcess(ended.args, ended.returncode, text_of(ended.stdout), text_of(ended.stderr))


def text_of(printed: bytes) -> str:
    """As subprocess reads it."""
    return io.TextIOWrapper(io.BytesIO(printed), "utf-8").read()


def _write(end: int, given: bytes) -> None:
    with suppress(BrokenPipeError), open(end, "wb") as file:
        file.write(given)


def _read(end: int) -> bytes:
    with open(end, "rb") as file:
        return file.read()


@cache
def ready() -> socket.socket:
    """Where this process asks for others: the one that forks them is started once, and ends with us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", __name__, str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True, cwd=ROOT)
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)  # which is done first
    return ours


ROOT = Path(__file__).parents[2]


# -- who forks them ----------------------------------------------------------------------------------------------------


def load() -> None:
    """All that commands are made of, and what they load when they run."""
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "jemalloc"  # as __main__ does
    import_module("wiretool.cli")
    for part in PARTS:
        package = import_module(f"wiretool.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"wiretool.{part}."):
            if ".load" not in module.name:  # users of loads change the standard library
                import_module(module.name)
    for name in (*(f"wiretool.{module}" for module in MODULES), *LIBRARIES):
        with suppress(ImportError):  # then they are loaded when they are needed, or are not there
            import_module(name)
    gc.freeze()


def await_order(orders: socket.socket) -> bool:
    """Fork for each order; True in a process that is to be a command now, False in this one when nobody asks more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch
    while True:
        order, ends, _, _ = socket.recv_fds(orders, ORDER_BYTES, 4)
        if not order:
            return False
        if os.fork() == 0:
            orders.close()
            if watch(socket.socket(fileno=ends.pop())):
                become(json.loads(order), ends)
                return True
        for end in ends:
            os.close(end)


def watch(told: socket.socket) -> bool:
    """Fork once more: True in the command; here, say its number and how it ended, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if (pid := os.fork()) == 0:
        told.close()
        return True
    for end in range(told.fileno()):  # nobody is to wait for us to close what the command was given
        with suppress(OSError):
            os.close(end)
    told.send(b"%d" % pid)
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):
        told.send(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def become(order: dict[str, object], ends: list[int]) -> None:
    """Have the words, files, folder, environment and signals that were ordered, as if started with them."""
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    argv, env = order["argv"], order["env"]
    assert isinstance(argv, list)
    assert isinstance(env, dict)
    os.chdir(str(order["cwd"]))
    os.environ.clear()
    os.environ.update(env)
    sys.argv = argv
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = sys.__stdin__ = text_on(0, "r", "strict")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = text_on(1, "w", "strict")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = text_on(2, "w", "backslashreplace")  # type: ignore[misc]


def text_on(number: int, mode: str, errors: str) -> io.TextIOWrapper:
    """A standard stream as Python makes it where it is no terminal."""
    file = open(number, mode + "b", closefd=False)  # noqa: SIM115
    encoding, _, wanted = os.environ.get("PYTHONIOENCODING", "").partition(":")
    return io.TextIOWrapper(
        file, encoding or "utf-8", wanted or errors, line_buffering=number == 2, write_through=number == 2
    )


def leave(code: object) -> None:
    """End as Python does, but for taking apart all that was loaded, which takes longer than most commands.

    Returns where that has anything more to do: threads to wait for, words to say, or a standard output that cannot be
    written to.
    """
    if threading.active_count() == 1 and isinstance(code, int | None):
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code or 0)


def main() -> None:
    """Stand ready; each command leaves here as its own process."""
    load()
    if await_order(socket.socket(fileno=int(sys.argv[1]))):
        from wiretool.__main__ import main as run_command

        try:
            run_command()
        except SystemExit as end:
            leave(end.code)
            raise


if __name__ == "__main__":
    main()
