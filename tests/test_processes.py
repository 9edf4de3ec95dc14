"""Stop signals, and child processes that end with the process that started them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import psutil
import pytest

from wiretool.processes import STOP_SIGNALS, exit_words, parent_death_hook, signal_name

WAIT_S = 20.0

#: Asks this process to stop while it starts another one, where Python loses what a handler of signals raises.
STOPPED_AT_FORK = """
import os, signal, sys

os.register_at_fork(after_in_parent=lambda: signal.raise_signal(signal.SIGINT))
waits = [sys.executable, "-c", "import time; time.sleep(60)"]
try:
    {start}
except KeyboardInterrupt:
    print("stopped")
"""
STARTS = [
    "from wiretool.net.programs.child import child_process\n    with child_process(waits): print('missed')",
    "import shlex; from wiretool.net.programs.server_process import ServerProcess\n"
    "    with ServerProcess(shlex.join(waits), []): print('missed')",
]

#: Starts a reading process, which starts another one; both say who they are, then wait for bytes that never come.
NESTED = """
import os
from wiretool.dissect.columns.apart import apart

waiting, silent = os.pipe()

def innermost():
    yield os.getpid()
    yield os.read(waiting, 1)

def between():
    inner = apart(innermost)
    yield os.getpid()
    yield next(inner)
    yield next(inner)

items = apart(between)
print(next(items), next(items), flush=True)
next(items)
"""

#: Starts a process that does nothing but wait.
CHILD = """
import subprocess, sys
from wiretool.net.programs.child import child_process

with child_process([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
    print(child.pid, flush=True)
    child.wait()
"""


@pytest.mark.skipif(
    sys.platform != "linux" and "CI" not in os.environ, reason="only Linux ends children with their parent"
)
@pytest.mark.parametrize(("code", "count"), [(NESTED, 2), (CHILD, 1)], ids=["reading processes", "of a load"])
def test_children_end_with_a_parent_that_is_killed(code: str, count: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    children = [psutil.Process(int(pid)) for pid in process.stdout.readline().split()]
    assert len(children) == count
    process.kill()
    process.communicate(timeout=WAIT_S)
    _, left = psutil.wait_procs(children, timeout=WAIT_S)
    for child in left:
        child.kill()
    assert left == []


def test_a_child_whose_parent_is_gone_already_ends_at_once() -> None:
    hook = parent_death_hook()
    ended = subprocess.run([sys.executable, "-c", ""], preexec_fn=hook, check=False)
    assert ended.returncode == 0, "its parent lives"
    pid = os.fork()
    if pid == 0:  # what it starts has another parent than the one that made the hook
        grandchild = os.fork()
        if grandchild == 0:
            hook()
            os._exit(0)
        _, status = os.waitpid(grandchild, 0)
        os._exit(os.waitstatus_to_exitcode(status))
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGKILL


def test_signals_have_the_names_that_users_know() -> None:
    assert [signal_name(number) for number in STOP_SIGNALS] == ["Ctrl-C", "SIGTERM", "SIGHUP"]


@pytest.mark.parametrize("start", STARTS, ids=["of a load", "a server"])
def test_a_stop_signal_is_not_lost_while_a_child_starts(start: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STOPPED_AT_FORK.format(start=start)], capture_output=True, text=True, timeout=WAIT_S
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("stopped\n", "", 0)


# -- bench -------------------------------------------------------------------------------------------------------------


def descendants_of(process: "subprocess.Popen[bytes]", count: int) -> Sequence[psutil.Process]:
    """The processes under that one, once there are so many."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        found: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
        if len(found) >= count:
            return found
    raise AssertionError(f"fewer than {count} processes")


@pytest.mark.parametrize(
    ("count", "number"),
    [*((1, number) for number in STOP_SIGNALS), (2, signal.SIGKILL)],
)
def test_no_process_outlives_a_bench_that_is_stopped_while_it_starts(count: int, number: int) -> None:
    """The signal comes as soon as its first child, or the second one, is there."""
    command = [sys.executable, "-m", "wiretool", "bench", "--duration", "30", "--appenders", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    children = descendants_of(process, count)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    _, left = psutil.wait_procs(children, timeout=WAIT_S)
    for child in left:
        child.kill()
    assert left == []
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert b"Traceback" not in said
    assert number == signal.SIGKILL or said == f"wiretool: stopped by {signal_name(number)}\n".encode()


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "ended with exit code 0"), (-9, "was ended by SIGKILL"), (-40, "was ended by signal 40")],
)
def test_the_end_of_a_child_is_in_words(status: int, words: str) -> None:
    assert exit_words(status) == words


#: Gives its signals to gevent, whose handlers Python does not see, and holds them afterwards.
HANDED_OVER = """
import os, signal
import gevent
from wiretool.load.run.process import end_with
from wiretool.processes import held_interrupts

heard = []
end_with(lambda: heard.append("stop"))
with held_interrupts():
    pass
os.kill(os.getpid(), signal.SIGTERM)
gevent.sleep(0.1)
print(heard[:1])
"""


def test_signals_that_were_handed_over_are_left_alone() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANDED_OVER], stdin=subprocess.PIPE, capture_output=True, text=True, timeout=WAIT_S
    )
    assert (ended.returncode, ended.stdout) == (0, "['stop']\n"), ended.stderr
