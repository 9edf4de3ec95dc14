"""The first moments of the program: a signal that comes then is told in a line too."""

import signal
import subprocess
import sys

import pyarrow as pa
import pytest

import wiretool
from wiretool.processes import signal_name

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def started(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("module", ["typer", "wiretool.cli", "numpy"])
def test_a_signal_while_a_library_is_loaded_ends_it_in_a_line(module: str, number: signal.Signals) -> None:
    code = f"""
import signal, sys
class Pressing:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            try: signal.raise_signal({number.value})
            except BaseException: print("caught")
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Pressing())
sys.argv = ["wiretool", "stats", "no.pcap", "--engine", "columns"] if {module!r} != "numpy" else [
    "wiretool", "stats", {__file__!r}, "--engine", "columns"]
from wiretool.__main__ import main
main()
"""
    ended = started(code)
    told = f"wiretool: stopped by {signal_name(number)}\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + number, "", told)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_is_ignored_stays_so(number: signal.Signals) -> None:
    code = f"""
import signal, sys
signal.signal({number.value}, signal.SIG_IGN)
class Pressing:
    def find_spec(self, name, path, target=None):
        if name == "typer": signal.raise_signal({number.value})
sys.meta_path.insert(0, Pressing())
sys.argv = ["wiretool", "--version"]
from wiretool.__main__ import main
main()
"""
    ended = started(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"wiretool {wiretool.__version__}\n", "")


def test_little_is_loaded_before_signals_are_heeded() -> None:
    ended = started(
        "import sys; before = set(sys.modules); import wiretool.__main__; print(*set(sys.modules) - before)"
    )
    assert {"typing", "typer", "re", "wiretool.cli"}.isdisjoint(ended.stdout.split())


@pytest.mark.parametrize("chosen", ["", "system"])
def test_arrow_gives_memory_back_unless_somebody_chose_otherwise(chosen: str) -> None:
    """Elsewhere than on Linux it is not known what Arrow is built with, and it is left to itself."""
    backend = chosen or ("jemalloc" if sys.platform == "linux" else pa.default_memory_pool().backend_name)
    ended = started(f"""
import os, sys
os.environ.pop("ARROW_DEFAULT_MEMORY_POOL", None)
if {chosen!r}: os.environ["ARROW_DEFAULT_MEMORY_POOL"] = {chosen!r}
sys.argv = ["wiretool", "--version"]
from wiretool.__main__ import main
try: main()
except SystemExit: pass
import pyarrow
print(pyarrow.default_memory_pool().backend_name)
""")
    assert ended.stdout.splitlines()[-1] == backend
    assert ended.stderr == ""
