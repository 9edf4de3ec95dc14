"""A session whose Java, or whose worker, is gone: one line says so, nobody waits for what never comes."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from tests.helpers.spark import JAVA_OPTIONS, QUICK, needs_pyspark
from wiretool.errors import Killed, UsageError
from wiretool.pipeline.spark import session as module
from wiretool.pipeline.spark.run import handed_over
from wiretool.pipeline.spark.scratch import Scratch
from wiretool.pipeline.spark.session import (
    LOG,
    _ask,
    _check_alive,
    _gone,
    _killed_late,
    _last_said,
    _quiet,
    _unwarned,
    _watched,
    _why_not_started,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if find_spec("pyspark") is None:
    needs_pyspark()

#: No wait of these tests is longer, in seconds; and what a stream that waits for captures does not reach.
PATIENCE_S, FOREVER_S = 60, 3_600
KILLED = "Spark's Java was killed (signal 9); run it again, with more memory if that ran out"
#: Has a session, says which process its Java is, and waits: for no job, or for one that calls a port and waits, too.
WAITS = f"""
import select, socket, sys
from pathlib import Path
from wiretool.errors import WiretoolError
from wiretool.pipeline.spark.session import session

port = int(sys.argv[2])

def wait(batches):
    with socket.create_connection(("127.0.0.1", port)):
        select.select([], [], [], {FOREVER_S})
    yield from batches

try:
    with session("local[1]", settings={QUICK}, java_options="{JAVA_OPTIONS}", folder=Path(sys.argv[1])) as spark:
        print(spark.sparkContext._gateway.proc.pid, flush=True)
        if port:
            spark.range(1).mapInArrow(wait, "id long").collect()
        select.select([], [], [], {FOREVER_S})
except WiretoolError as err:
    print(err)
    sys.exit(err.exit_code)
"""
#: Is given a Java that ends at once when it is connected to.
REFUSED = """
import sys
from pathlib import Path
import pyspark.java_gateway
from wiretool.errors import UsageError
from wiretool.pipeline.spark import session as module
from wiretool.pipeline.spark.java import Java

def launch_gateway(conf, how):
    raise ConnectionRefusedError(111, "Connection refused")

pyspark.java_gateway.launch_gateway = launch_gateway
module.find_java = lambda: Java(None, 17, "some Java")
try:
    with module.session("local[1]", folder=Path(sys.argv[1])):
        pass
except UsageError as err:
    print(err)
"""
#: What Spark prints of a worker that has gone, from runs in which one was killed; shortened.
LOST = {
    "in mid-work": "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: "
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).",
    "its daemon, while that starts": "An error occurred while calling o111.collectToPython.\n: org.apache.spark."
    "SparkException: EOFException occurred while reading the port number from pyspark.daemon's stdout.\n\tat org.",
    "its daemon, after that": "EOFException occurred while reading the port number from pyspark.daemon's stdout and "
    "terminated with code: 137.",
    "while it is asked for": "Lost task 0.0 in stage 0.0 (TID 0) (localhost executor driver): java.io.EOFException\n"
    "\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:398)\n"
    "\tat org.apache.spark.api.python.PythonWorkerFactory.createThroughDaemon(PythonWorkerFactory.scala:1)\n",
    "while it is told what to do": "Lost task: java.net.SocketException: Connection reset\n"
    "\tat java.base/sun.nio.ch.SocketChannelImpl.throwConnectionReset(SocketChannelImpl.java:394)\n"
    "\tat org.apache.spark.api.python.BasePythonRunner$ReaderInputStream.read(PythonRunner.scala:1)\n",
}
#: What is no such thing.
OTHERS = {
    "a file of its own": "java.io.FileNotFoundException: x\n\tat java.base/java.io.File.x(F.java:1)\n"
    "\tat org.apache.spark.sql.X.y(X.scala:1)\n\tat org.apache.spark.api.python.Z.z(Z.scala:1)\n",
    "a Python that cannot": "Error from python worker:\n  No module named pyspark\nPYTHONPATH was:\n  x\n"
    "org.apache.spark.SparkException: EOFException occurred while reading the port number from pyspark.daemon's stdout",
}


@contextmanager
def process(script: str = "read x") -> "Iterator[subprocess.Popen[bytes]]":
    """One that stands for Spark's Java; it ends with its input."""
    with subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE) as started:
        yield started


def scratch_of(folder: Path, log: str = "") -> Scratch:
    (folder / LOG).write_text(log)
    return Scratch(folder, -1)


def answer(text: str) -> Exception:
    """An error as PySpark makes it of one of Java's, which it would have to ask for the text."""
    from pyspark.errors.exceptions.captured import CapturedException

    class Answer(CapturedException):  # type: ignore[misc]
        def __init__(self) -> None:
            Exception.__init__(self)

        def __str__(self) -> str:
            return text

    return Answer()


# -- what is said ------------------------------------------------------------------------------------------------------


def ended(tmp_path: Path, script: str, err: Exception | None = None) -> None:
    """What is said where a process that stands for Spark's Java ends so."""
    log = "WARN x\njava.lang.OutOfMemoryError: Java heap space\n\tat java.base/x.y(Z.java:1)\n"
    with process(script) as java:
        _check_alive(SimpleNamespace(proc=java), scratch_of(tmp_path, log), err or ConnectionError())


@pytest.mark.parametrize(("script", "number"), [("kill -9 $$", 9), ("exit 143", 15)])
def test_a_java_that_was_killed(tmp_path: Path, script: str, number: int) -> None:
    said = rf"^Spark's Java was killed \(signal {number}\); run it again, with more memory"
    with pytest.raises(Killed, match=said) as caught:
        ended(tmp_path, script)
    assert caught.value.exit_code == 128 + number


def test_a_java_that_has_ended(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Spark's Java has ended \(exit 3\): Java heap space"):
        ended(tmp_path, "exit 3")


def test_a_java_that_has_ended_without_a_word(tmp_path: Path) -> None:
    said = "Spark's Java has ended (exit 0): it has not said why"
    assert str(_gone(0, scratch_of(tmp_path, "26/11/23 01:30:40 WARN Utils: Set SPARK_LOCAL_IP\n"))) == said


def test_a_job_that_is_cut_off_by_an_end_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(Killed, match=r"signal 15"):
        ended(tmp_path, "exit 143", answer("Job 0 cancelled because SparkContext was shut down"))


def test_an_answer_is_left_alone(tmp_path: Path) -> None:
    ended(tmp_path, "exit 3", answer("no such column"))


def test_an_error_while_java_is_well_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DYING_WAIT_S", 0)
    with process() as java:
        _check_alive(SimpleNamespace(proc=java), Scratch(tmp_path, -1), ConnectionError())


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("WARNING: Using incubator modules: jdk.incubator.vector\n", ""),
        ('Setting Spark log level to "ERROR".\n', ""),
        ("x/bin/spark-class: line 97: CMD: bad array subscript\n", ""),
        ("Unrecognized VM option 'X'\nError: Could not create the JVM.\n", "Could not create the JVM."),
        ('Exception in thread "main" java.lang.IllegalStateException: why\n\tat a.b(C.java:1)\nNOTE: x\n', "why"),
    ],
)
def test_what_java_has_said_last(tmp_path: Path, log: str, said: str) -> None:
    assert _last_said(scratch_of(tmp_path, log)) == said


def test_a_start_whose_java_is_gone(tmp_path: Path) -> None:
    own = scratch_of(tmp_path)
    with process("kill -9 $$") as java:
        assert _why_not_started(ConnectionError(), SimpleNamespace(proc=java), own) == KILLED
    said = "its Java ended without a message; it may have been killed"
    assert _why_not_started(ConnectionError(), None, own) == said
    assert _why_not_started(FileNotFoundError(2, "No such file", "spark-submit"), None, own).endswith("'spark-submit'")


@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
def test_a_worker_that_is_lost(text: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(UsageError, match="a Python worker of Spark has ended in mid-work"), handed_over():
        raise PySparkException(text)


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_lost_worker(text: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException), handed_over():
        raise PySparkException(text)


# -- while something else is waited for --------------------------------------------------------------------------------


def test_what_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGCHLD)
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE_S)
    with ours, theirs, process() as java:
        threading.Timer(0.05, java.kill).start()
        with (
            pytest.raises(Killed, match=r"Spark's Java was killed \(signal 9\)"),
            _watched(java, scratch_of(tmp_path)),
        ):
            ours.recv(1)
    assert signal.getsignal(signal.SIGCHLD) is before


def test_an_error_on_its_way_is_not_replaced(tmp_path: Path) -> None:
    def stop(java: "subprocess.Popen[bytes]") -> None:
        try:
            raise KeyError("x")
        finally:
            java.kill()
            java.wait()

    with process() as java, pytest.raises(KeyError), _watched(java, scratch_of(tmp_path)):
        stop(java)


class _Swallows:
    """A finalizer, which keeps what is raised in it to itself, during which Java is killed."""

    def __init__(self, java: "subprocess.Popen[bytes]") -> None:
        self._java = java

    def __del__(self) -> None:
        kill(self._java)


def kill(java: "subprocess.Popen[bytes]") -> None:
    java.kill()
    java.wait()


def in_a_finalizer(java: "subprocess.Popen[bytes]") -> None:
    _Swallows(java)


def while_an_error_is_dealt_with(java: "subprocess.Popen[bytes]") -> None:
    try:
        raise KeyError("x")
    except KeyError:
        kill(java)


def where_our_errors_are_passed_over(java: "subprocess.Popen[bytes]") -> None:
    with suppress(Killed):
        kill(java)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("end", [in_a_finalizer, while_an_error_is_dealt_with, where_our_errors_are_passed_over])
def test_what_was_not_heard_is_said_again(
    end: "Callable[[subprocess.Popen[bytes]], None]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN_S", 0.05)
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE_S)

    def wait(java: "subprocess.Popen[bytes]") -> None:
        with _watched(java, scratch_of(tmp_path)):
            end(java)
            ours.recv(1)

    with ours, theirs, process() as java, pytest.raises(Killed, match="signal 9"):
        wait(java)


def test_one_that_was_gone_before(tmp_path: Path) -> None:
    with process("exit 3") as java:
        java.wait()
        with pytest.raises(UsageError, match=r"exit 3"), _watched(java, scratch_of(tmp_path)):
            raise AssertionError("nothing is begun")


def test_other_processes_may_end(tmp_path: Path) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGCHLD, lambda number, frame: heard.append(number))
    try:
        with process() as java, _watched(java, scratch_of(tmp_path)):
            subprocess.run(["/bin/true"], check=True)
            assert heard, "whoever listened before still does"
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_thread_cannot_be_told(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def use() -> None:
        try:
            with process("exit 3") as java, _watched(java, scratch_of(tmp_path)):
                java.wait()
        except BaseException as err:  # noqa: BLE001  (a thread loses what it raises)
            failed.append(err)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join(PATIENCE_S)
    assert not failed


def test_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "END_WAIT_S", 0.05)
    with process() as java, _killed_late(SimpleNamespace(proc=java)):
        assert java.wait(PATIENCE_S) == -signal.SIGKILL


def test_what_py4j_and_pyspark_print_is_not_printed(caplog: pytest.LogCaptureFixture) -> None:
    record = logging.LogRecord("root", logging.ERROR, "py4j/java_gateway.py", 1, "Exception while sending", (), None)
    before = [*logging.getLogger().filters]
    with _quiet(), _unwarned():
        logging.getLogger().handle(record)
        warnings.warn("Unable to cleanly shutdown Spark JVM process. It is", RuntimeWarning, stacklevel=1)
        logging.getLogger().error("something else")
    assert [each.getMessage() for each in caplog.records] == ["something else"]
    assert logging.getLogger().filters == before, "a session of all tests may have one, too"


# -- with Spark --------------------------------------------------------------------------------------------------------


def test_one_that_is_gone_when_it_is_connected_to(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", REFUSED, str(tmp_path)], capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == (
        "Spark does not start on local[1] with some Java: its Java ended without a message; it may have been killed\n"
    )


@pytest.mark.spark
@pytest.mark.parametrize("is_working", [False, True], ids=["idle", "in a job"])
def test_a_java_that_is_killed(tmp_path: Path, is_working: bool) -> None:
    folder = tmp_path / "spark"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE_S)
        port = listening.getsockname()[1] if is_working else 0
        command = [sys.executable, "-c", WAITS, str(folder), str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
            try:
                assert driver.stdout is not None
                java = int(driver.stdout.readline())
                if is_working:
                    listening.accept()[0].close()
                os.kill(java, signal.SIGKILL)
                said, printed = driver.communicate(timeout=PATIENCE_S)
            finally:
                driver.kill()
    assert (said, printed, driver.returncode) == (f"{KILLED}\n", "", 128 + signal.SIGKILL)
    assert list(folder.iterdir()) == []


@pytest.mark.spark
def test_one_that_does_not_answer_is_noticed_at_the_end(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    from py4j.protocol import Py4JNetworkError

    context = spark.sparkContext
    _ask(context)
    monkeypatch.setattr(context, "_jsc", None)
    _ask(context)  # whoever had the session has stopped it
    monkeypatch.setattr(context, "_jsc", SimpleNamespace(sc=Mock(side_effect=Py4JNetworkError("empty"))))
    with pytest.raises(Py4JNetworkError):
        _ask(context)


@pytest.mark.spark
def test_a_worker_that_is_killed(spark: "SparkSession") -> None:
    def die(batches: object) -> Iterator[object]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from ()

    with pytest.raises(UsageError, match="a Python worker of Spark has ended in mid-work"), handed_over():
        spark.range(1).mapInArrow(die, "id long").collect()
    assert spark.range(3).count() == 3
