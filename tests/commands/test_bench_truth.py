"""What a load must not hide: a server that stood still, and a generator that could not measure."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.benches import report
from tests.helpers.servers import started, wiretool

ANY = "127.0.0.1:0"
SERVE = ("serve", "pravega", "--listen", ANY, "--controller", ANY)
END_S = 90.0


def test_a_server_that_stood_still_shows_in_the_times_from_when_appends_were_due(tmp_path: Path) -> None:
    """Two seconds of twenty, open loop: a tenth of all appends was due meanwhile, a few were on the way."""
    path, log = tmp_path / "report.json", tmp_path / "log"
    with started(tmp_path, *SERVE) as server:
        target = "{}:{}".format(*server.doors["store"])
        options = ["--target", target, "--appenders", "8", "--rate", "500", "--duration", "20", "--warmup", "1"]
        process = subprocess.Popen(
            [sys.executable, "-m", "wiretool", "bench", *options, "--json", str(path), "--hdr-log", str(log)],
            stdout=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + END_S
        while not (log.exists() and log.stat().st_size):  # the first measured second is over
            assert time.monotonic() < deadline
            time.sleep(0.02)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(2.0)
        server.process.send_signal(signal.SIGCONT)
        stdout, _ = process.communicate(timeout=END_S)
        assert server.stop() == 0
    append = report(path)["operations"]["append"]
    assert append["count"] + append["unfinished"] > 9_000
    assert append["response_us"]["p99"] > 1_500_000
    assert append["service_us"]["p99"] < 500_000
    assert append["service_us"]["max"] > 1_500_000
    assert "the service time alone does not show" in stdout


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """So many other processes that take all they get of a processor."""
    # Linux shares processors between sessions first: in one of their own each of them counts.
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_starved_generator_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with hogs(6):
        ended = wiretool("bench", "--appenders", "64", "--duration", "2", "--warmup", "0.5", "--json", str(path))
    assert ended.returncode == 1, ended.stderr
    found = report(path)
    assert not found["valid"]
    assert "waited for a processor" in " ".join(found["reasons"])
    assert "INVALID: do not quote these figures" in ended.stdout
