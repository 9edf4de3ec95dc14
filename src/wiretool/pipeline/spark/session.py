"""A Spark session that needs nothing set up, says nothing on the terminal and leaves nothing behind."""

import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from types import FrameType
from typing import TYPE_CHECKING, Any

from wiretool.errors import Killed, UsageError, WiretoolError
from wiretool.pipeline.spark.java import find_java
from wiretool.pipeline.spark.master import check_master
from wiretool.pipeline.spark.scratch import Scratch, scratch

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

#: Since this version a Python data source may take filters, and mapInArrow knows the size of a batch in bytes.
VERSION_MIN = (4, 1)
#: A Java that has not ended by then is killed; and how long one takes that does not answer because it is ending.
END_WAIT_S, DYING_WAIT_S = 20, 1
#: How often it is said of a Java that it has ended, until somebody hears it.
AGAIN_S = 0.5
#: What Spark's Java prints, in its folder; and how it names an error in front of what it says of it.
LOG = "spark.log"
NAME = re.compile(r'(Exception in thread "[^"]*" )?([\w$]+\.)*\w*(Exception|Error): ')
#: What it, and the scripts that start it, print although nothing is wrong with Spark.
CHATTER = re.compile(
    r"\S* \S* (WARN|INFO) |\S*spark-class: |.* warning: |(WARNING:|NOTE:|Picked up|Using|Setting|To adjust) "
)
#: What Spark says of a job while its Java is ending.
ENDING = re.compile(r"SparkContext was shut ?down|stopped SparkContext|Shutdown in progress", re.IGNORECASE)
#: Whether or not the session is on this machine.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Otherwise a column of a wrong type fails late, and says nothing of it.
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
}
#: The name of this host may resolve to an address that nothing can connect to, or that everybody can.
LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


@contextmanager
def session(
    master: str | None = None,
    *,
    name: str = "wiretool",
    settings: Mapping[str, str] | None = None,
    java_options: str = "",
    folder: Path | None = None,
) -> Iterator["SparkSession"]:
    """A session on `master`, by default all cores of this machine; it ends with the block.

    Where there is one already (a notebook's, spark-submit's) that is used as it is, and left running. `settings` are
    Spark's, and go before ours; `java_options` are for the Java of this process; `folder` is where may be put what does
    not fit in memory. UsageError where PySpark or a Java is missing or too old, or Spark does not start; PeerError
    where no master answers.
    """
    check_installed()
    running = active_session()
    if running is not None:
        _check_master(running, master)
        yield running
    elif "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit: its Java is there, and all that was set
        yield from _submitted(name)
    else:
        check_master(master)
        with scratch(folder) as own:
            own_settings = _settings(master or "local[*]", name, own.path, java_options)
            yield from _started({**own_settings, **(settings or {})}, own)


def check_installed() -> None:
    """UsageError where PySpark is missing or too old."""
    if find_spec("pyspark") is None:
        raise UsageError(
            "Spark is not installed: pip install '.[spark]' in a clone of wiretool brings it, and a Java for it"
        )
    import pyspark

    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < VERSION_MIN:
        wants = ".".join(map(str, VERSION_MIN))
        raise UsageError(
            f"PySpark {pyspark.__version__} is too old: {wants} or newer is needed; "
            "pip install '.[spark]' in a clone of wiretool brings it"
        )


def active_session() -> "SparkSession | None":
    """The session that runs in this process, if one does."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def is_local(master: str) -> bool:
    """Whether a master is this very machine."""
    return master == "local" or master.startswith("local[")


def _check_master(running: "SparkSession", master: str | None) -> None:
    runs_on = running.sparkContext.master
    if master not in (None, runs_on):
        raise UsageError(f"a Spark session on {runs_on} is active, and not on {master}: stop it, or ask for no master")


def _submitted(name: str) -> Iterator["SparkSession"]:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(name).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _settings(master: str, name: str, folder: Path, java_options: str) -> dict[str, str]:
    places = {
        "spark.app.name": name,
        "spark.master": master,
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -XX:-UsePerfData {java_options}".strip(),
    }
    return {**SETTINGS, **(LOOPBACK if is_local(master) else {}), **places}


# -- beginning and end -------------------------------------------------------------------------------------------------


def _started(settings: Mapping[str, str], own: Scratch) -> Iterator["SparkSession"]:
    """A session in a Java of its own."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    java = find_java()
    gateway = None
    with _quiet():
        try:
            changes = {**_python(settings["spark.master"]), **java.environment()}
            with _environment(changes), _interrupts_kept(), _unwarned():
                try:
                    gateway = _launched(launch_gateway, conf, own)
                    spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
                except (PySparkException, Py4JError, OSError, EOFError) as err:
                    why = _why_not_started(err, gateway, own)
                    raise UsageError(
                        f"Spark does not start on {settings['spark.master']} with {java.origin}: {why}"
                    ) from err
            try:
                with _watched(gateway.proc, own):
                    _hush(spark.sparkContext)
                    yield spark
                    _ask(spark.sparkContext)
            except (PySparkException, Py4JError, OSError, EOFError) as err:
                _check_alive(gateway, own, err)
                raise
        finally:
            _end(gateway)


def _launched(launch_gateway: Any, conf: "SparkConf", own: Scratch) -> Any:
    """Spark's Java, which holds the folder as long as it lives; what it prints goes to a file there."""
    with (own.path / LOG).open("ab") as log:
        return launch_gateway(conf, {"stdout": log, "stderr": log, "pass_fds": (own.held,)})


def _ask(context: "SparkContext") -> None:
    """An error where Java does not answer any more: what was read of it last may have been cut short, unseen."""
    if context._jsc is not None:
        context._jsc.sc().isStopped()


def _end(gateway: Any) -> None:
    """Stop the session and its Java; neither need be there any more, and none is waited for longer than that."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    with _killed_late(gateway), _unwarned():
        if context is not None and gateway is not None and gateway.proc.poll() is not None:
            context._jsc = None  # nobody is there to be told
        with suppress(Py4JError, OSError):
            if context is not None:
                context.stop()
        # Which it does not forget by itself where its Java is gone.
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        if gateway is None:
            return
        with suppress(Py4JError, OSError):
            gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


@contextmanager
def _killed_late(gateway: Any) -> Iterator[None]:
    """A Java that is still there `END_WAIT_S` from now on is killed, so that whoever waits for it goes on."""
    if gateway is None:
        yield
        return
    timer = threading.Timer(END_WAIT_S, gateway.proc.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# -- a Java that is gone -----------------------------------------------------------------------------------------------


@contextmanager
def _watched(process: "Popen[bytes]", own: Scratch) -> Iterator[None]:
    """Killed or UsageError in the block as soon as the process has ended, whatever is done or waited for there.

    Who waits for something else than Spark, as a stream for captures, would never learn of it otherwise. An error that
    is being dealt with goes on; what was not heard for that, or lost by a finalizer, is said again. In the main thread
    only: no other one can be told.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, whose = signal.getsignal(signal.SIGCHLD) or signal.SIG_DFL, os.getpid()

    def look() -> None:
        if os.getpid() == whose and (code := process.poll()) is not None:
            raise _gone(code, own)

    def heed(number: int, frame: FrameType | None) -> None:
        if callable(before):
            before(number, frame)
        if sys.exc_info()[1] is None:
            look()

    def say_again() -> None:
        while not is_over.wait(AGAIN_S):
            if process.poll() is not None:
                signal.pthread_kill(main, signal.SIGCHLD)

    is_over, main = threading.Event(), threading.get_ident()
    signal.signal(signal.SIGCHLD, heed)
    threading.Thread(target=say_again, name="watch over Spark's Java", daemon=True).start()
    try:
        look()  # it may have been before
        yield
    finally:
        is_over.set()
        signal.signal(signal.SIGCHLD, before)


def _check_alive(gateway: Any, own: Scratch, err: Exception) -> None:
    """Killed or UsageError where the reason of an error is a Java that has ended, or is about to; else nothing."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    is_answer = isinstance(err, Py4JJavaError | CapturedException)
    is_ending = is_answer and ENDING.search(_text(err)) is not None
    if is_answer and not is_ending:
        return
    try:
        code = gateway.proc.wait(END_WAIT_S if is_ending else DYING_WAIT_S)
    except TimeoutExpired:
        return
    raise _gone(code, own) from err


def _text(err: Exception) -> str:
    """What an error says, "" where that cannot be asked any more: one of Java's keeps its words there."""
    from py4j.protocol import Py4JError

    try:
        return str(err)
    except (Py4JError, OSError):
        return ""


def _gone(code: int, own: Scratch) -> WiretoolError:
    """What is raised for a Java that has ended with this code; 128 and more is a signal that it has heeded."""
    number = -code if code < 0 else code - 128
    if 0 < number < signal.NSIG:
        return Killed("Spark's Java", number, "run it again, with more memory if that ran out")
    return UsageError(f"Spark's Java has ended (exit {code}): {_last_said(own) or 'it has not said why'}")


def _hush(context: "SparkContext") -> None:
    """The thread that hears accumulators says nothing of a Java that hangs up: that is told once, elsewhere."""
    server = context._accumulatorServer
    tell = server.handle_error

    def tell_others(request: Any, address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            tell(request, address)

    server.handle_error = tell_others


@contextmanager
def _quiet() -> Iterator[None]:
    """Py4J does not print what becomes of a Java that is gone: it raises that, too."""

    def is_news(record: logging.LogRecord) -> bool:
        return record.module != "java_gateway"

    root = logging.getLogger()
    root.addFilter(is_news)
    try:
        yield
    finally:
        root.removeFilter(is_news)


@contextmanager
def _unwarned() -> Iterator[None]:
    """Nor does PySpark, where it stops what has lost its Java."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark JVM process", RuntimeWarning)
        yield


# -- the process that has the session ----------------------------------------------------------------------------------


def _python(master: str) -> dict[str, str | None]:
    """Spark takes the `python3` on PATH unless told otherwise; what it is elsewhere only the user knows."""
    if not is_local(master):
        return {}
    return {name: os.environ.get(name, sys.executable) for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}


@contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """These variables in the environment, or out of it, for as long as the block lasts."""
    before = {name: os.environ.get(name) for name in changes}
    try:
        _put(changes)
        yield
    finally:
        _put(before)


def _put(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Ctrl-C goes where it went before: Spark would take it for itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _why_not_started(err: Exception, gateway: Any, own: Scratch) -> str:
    """One line: what Spark said, or what became of its Java."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(err, Py4JJavaError):
        with suppress(Py4JError, OSError):  # then Java has ended since
            return str(err.java_exception.getMessage()).partition("\n")[0].strip()
    if gateway is not None:
        with suppress(TimeoutExpired):
            return str(_gone(gateway.proc.wait(DYING_WAIT_S), own))
        return (_text(err).splitlines() or [type(err).__name__])[-1].strip()
    if isinstance(err, OSError) and not isinstance(err, ConnectionError):  # of this machine, before there was a Java
        return str(err)
    return _last_said(own) or "its Java ended without a message; it may have been killed"


def _last_said(own: Scratch) -> str:
    """The last line in which Java says what went wrong, and not where in the code; "" where none does."""
    log = (own.path / LOG).read_text(errors="replace")
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith(("\tat ", "    at "))]
    said = [NAME.sub("", line) for line in lines if NAME.match(line)]
    return (said or [line for line in lines if not CHATTER.match(line)] or [""])[-1].strip()
