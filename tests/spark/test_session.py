"""The session: what it leaves alone, what it says, what it leaves behind."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.spark import needs_pyspark
from wiretool.errors import UsageError
from wiretool.pipeline.spark import session as module
from wiretool.pipeline.spark.session import LOG, _environment, check_installed, is_local, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import Started

#: Asks for a session on a master that there is not, and says what comes of it.
NO_MASTER = """
import sys
from pathlib import Path
from wiretool.errors import UsageError
from wiretool.pipeline.spark.session import session

try:
    with session("nowhere", folder=Path(sys.argv[1])):
        pass
except UsageError as err:
    print(err)
"""


def test_without_pyspark_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    said = r"Spark is not installed: pip install '\.\[spark\]' in a clone of wiretool brings it"
    with pytest.raises(UsageError, match=said), session():
        pass


def test_too_old_a_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("pyspark") is None:
        needs_pyspark()
    monkeypatch.setattr("pyspark.__version__", "3.5.9")
    with pytest.raises(UsageError, match=r"PySpark 3\.5\.9 is too old: 4\.1 or newer is needed"):
        check_installed()
    monkeypatch.setattr("pyspark.__version__", "4.1.0.dev1")
    check_installed()


@pytest.mark.parametrize(("master", "is_here"), [("local", True), ("local[*]", True), ("spark://local:7077", False)])
def test_what_is_this_machine(master: str, is_here: bool) -> None:
    assert is_local(master) is is_here


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/old")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with suppress(KeyError), _environment({"JAVA_HOME": None, "PYSPARK_PYTHON": "/x"}):
        assert (os.environ.get("JAVA_HOME"), os.environ["PYSPARK_PYTHON"]) == (None, "/x")
        raise KeyError
    assert (os.environ["JAVA_HOME"], os.environ.get("PYSPARK_PYTHON")) == ("/old", None)


@pytest.mark.spark
def test_nothing_is_printed_while_it_starts(started: "Started") -> None:
    assert started.printed == ""
    folder = Path(started.spark.conf.get("spark.local.dir") or "")
    assert "incubator" in (folder / LOG).read_text() or (folder / LOG).stat().st_size  # it was, elsewhere


@pytest.mark.spark
def test_what_pyspark_would_have_changed_is_as_before(spark: "SparkSession") -> None:
    import signal

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert spark.range(2).rdd.map(lambda each: sys.executable).distinct().collect() == [sys.executable]


@pytest.mark.spark
def test_one_that_is_there_is_used_and_left_running(spark: "SparkSession") -> None:
    with session() as own:
        assert own is spark
    with session("local[2]") as own:
        assert own is spark
    said = r"a Spark session on local\[2\] is active, and not on local\[1\]: stop it"
    with pytest.raises(UsageError, match=said), session("local[1]"):
        pass
    assert spark.range(3).count() == 3


@pytest.mark.spark
def test_one_that_does_not_start_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    needs_pyspark()
    done = subprocess.run([sys.executable, "-c", NO_MASTER, str(tmp_path)], capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 0)
    said = r"Spark does not start on nowhere with \S.*: Master must either be yarn or start with spark, k8s, or local\n"
    assert re.fullmatch(said, done.stdout)
    assert list(tmp_path.iterdir()) == []
