"""A Spark session that needs nothing set up, says nothing on the terminal and leaves nothing behind."""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from wiretool.errors import Killed, UsageError
from wiretool.pipeline.spark.java import find_java
from wiretool.pipeline.spark.scratch import Scratch, scratch

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

#: Since this version a Python data source may take filters, and mapInArrow knows the size of a batch in bytes.
VERSION_MIN = (4, 1)
#: A Java that has not ended by then is killed; and how long one takes that does not answer because it is ending.
END_WAIT_S, DYING_WAIT_S = 20, 1
#: What Spark's Java prints, in its folder; and how it names an error in front of what it says of it.
LOG = "spark.log"
NAME = re.compile(r'(Exception in thread "[^"]*" )?([\w$]+\.)*\w*(Exception|Error): ')
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
    not fit in memory. UsageError where PySpark or a Java is missing or too old, or Spark does not start.
    """
    check_installed()
    running = active_session()
    if running is not None:
        _check_master(running, master)
        yield running
    elif "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit: its Java is there, and all that was set
        yield from _submitted(name)
    else:
        with scratch(folder) as own:
            own_settings = _settings(master or "local[*]", name, own.path, java_options)
            yield from _started({**own_settings, **(settings or {})}, own)


def check_installed() -> None:
    """UsageError where PySpark is missing or too old."""
    if find_spec("pyspark") is None:
        raise UsageError("Spark is not installed: pip install 'wiretool[spark]' brings it, and a Java for it")
    import pyspark

    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < VERSION_MIN:
        wants = ".".join(map(str, VERSION_MIN))
        raise UsageError(
            f"PySpark {pyspark.__version__} is too old: {wants} or newer is needed, as in 'wiretool[spark]'"
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
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    java = find_java()
    gateway = None
    try:
        with _environment({**_python(settings["spark.master"]), **java.environment()}), _interrupts_kept():
            try:
                gateway = _launched(launch_gateway, conf, own)
                spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
            except (PySparkException, Py4JError) as err:
                raise UsageError(_why_not_started(err, settings["spark.master"], java.origin, own)) from err
        try:
            yield spark
        except (Py4JError, OSError) as err:
            if not isinstance(err, Py4JJavaError):  # that is an answer
                _check_alive(gateway, own, err)
            raise
    finally:
        _end(gateway)


def _launched(launch_gateway: Any, conf: "SparkConf", own: Scratch) -> Any:
    """Spark's Java, which holds the folder as long as it lives; what it prints goes to a file there."""
    with (own.path / LOG).open("ab") as log:
        return launch_gateway(conf, {"stdout": log, "stderr": log, "pass_fds": (own.held,)})


def _check_alive(gateway: Any, own: Scratch, err: Exception) -> None:
    """What is said of an error whose reason is that Spark's Java has ended; nothing where it has not."""
    try:
        code = gateway.proc.wait(DYING_WAIT_S)
    except TimeoutExpired:
        return
    if code < 0:
        raise Killed("Spark's Java", -code, "run it again, with more memory if that ran out") from err
    said = _errors_in((own.path / LOG).read_text(errors="replace"))
    raise UsageError(f"Spark's Java has ended (exit {code}): {(said or ['it has not said why'])[-1].strip()}") from err


def _end(gateway: Any) -> None:
    """Stop the session and its Java; neither need be there any more."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
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
    try:
        gateway.proc.wait(END_WAIT_S)
    except TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


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


def _why_not_started(err: Exception, master: str, origin: str, own: Scratch) -> str:
    """One line: what Spark said, or what its Java printed."""
    from py4j.protocol import Py4JJavaError

    if isinstance(err, Py4JJavaError):
        said = str(err.java_exception.getMessage()).splitlines()[:1]
    else:
        said = _errors_in((own.path / LOG).read_text(errors="replace"))
    return f"Spark does not start on {master} with {origin}: {(said or str(err).splitlines())[-1].strip()}"


def _errors_in(log: str) -> list[str]:
    """The lines that say what went wrong, and not where in the code; all of them where none does."""
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith(("\tat ", "    at "))]
    said = [NAME.sub("", line) for line in lines if NAME.match(line)]
    return said or lines
