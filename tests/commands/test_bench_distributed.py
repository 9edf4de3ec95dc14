"""A load of several processes: what the master tells is what the workers counted."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from tests.helpers.bench_lines import without_waiting
from tests.helpers.servers import started, wiretool
from wiretool.commands.bench import run as benching
from wiretool.commands.bench.options import Spread
from wiretool.load.measure.intervals import Ended, Interval, Orders, Pulse, Ready, Said
from wiretool.load.planning.plan import Plan
from wiretool.load.run import children

ANY = "127.0.0.1:0"
SERVE = ("serve", "pravega", "--listen", ANY, "--controller", ANY)
END_S = 90.0


def summed(*paths: Path, tag: str) -> HdrHistogram:
    """All histograms of a tag in these logs, added up with HdrHistogram's own tools."""
    total = HdrHistogram(1, 3_600_000_000, 3)
    for path in paths:
        reader = HistogramLogReader(str(path), total)
        while (histogram := reader.get_next_interval_histogram()) is not None:
            if histogram.get_tag() == tag:
                total.add(histogram)
        reader.close()
    return total


def begun(stack: ExitStack, *arguments: str) -> "subprocess.Popen[str]":
    """`wiretool bench ARGUMENTS`, which is gone when the block is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "wiretool", "bench", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stack.callback(process.communicate)
    stack.callback(process.kill)
    return process


def test_a_master_has_the_totals_of_its_workers_own_logs(tmp_path: Path) -> None:
    logs = [tmp_path / f"worker{number}.hlog" for number in (1, 2)]
    whole, path = tmp_path / "master.hlog", tmp_path / "report.json"
    with ExitStack() as stack:
        server = stack.enter_context(started(tmp_path, *SERVE))
        target = "{}:{}".format(*server.doors["store"])
        options = [
            "--target",
            target,
            "--verify",
            "--appenders",
            "5",
            "--duration",
            "2",
            "--warmup",
            "0.5",
            "--batch",
            "2",
        ]
        files = ["--json", str(path), "--hdr-log", str(whole)]
        master = begun(stack, "--master", "--expect-workers", "2", "--master-address", ANY, *options, *files)
        assert master.stderr is not None
        told = re.search(r"waiting for 2 workers .* at (\S+)\n", next(without_waiting(master.stderr)))
        assert told is not None
        workers = [begun(stack, "--worker", "--master-address", told[1], "--hdr-log", str(log)) for log in logs]
        _, stderr = master.communicate(timeout=END_S)
        assert master.returncode in (0, 1), stderr
        said = [worker.communicate(timeout=END_S) for worker in workers]
    report = json.loads(path.read_text())
    append = report["operations"]["append"]
    for kind in ("service", "response"):
        ours, theirs = summed(whole, tag=f"append.{kind}"), summed(*logs, tag=f"append.{kind}")
        assert ours.get_total_count() == theirs.get_total_count() == append["count"] > 0
        assert list(ours.counts) == list(theirs.counts)
        assert append[f"{kind}_us"]["max"] == theirs.get_max_value()
    counted = [int(re.search(r"^append +([\d,]+)", text, re.MULTILINE)[1].replace(",", "")) for text, _ in said]  # type: ignore[index]
    assert sum(counted) == append["count"]
    assert all(counted)
    for worker, (text, told_wrong) in zip(workers, said, strict=True):
        assert worker.returncode == (1 if "INVALID" in text else 0), told_wrong
    assert report["verification"]["found"] == 0
    assert report["verification"]["checked_events"] >= 2 * append["count"]
    assert set(report["seconds"][1]["generator_cpu"]) == {"load 0", "load 1"}


def test_processes_of_one_machine_share_the_users(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    options = ["--processes", "2", "--appenders", "6", "--segments", "3", "--duration", "1", "--warmup", "0.3"]
    ended = wiretool("bench", *options, "--rate", "300", "--json", str(path))
    report = json.loads(path.read_text())
    assert ended.returncode == (0 if report["valid"] else 1), ended.stderr
    assert report["operations"]["append"]["count"] + report["operations"]["append"]["unfinished"] > 200
    assert report["verification"]["found"] == 0
    assert len(report["seconds"][-1]["generator_cpu"]) == 2


def test_a_worker_without_a_master_says_so(tmp_path: Path) -> None:
    ended = wiretool("bench", "--worker", "--master-address", "127.0.0.1:1", timeout_s=120.0)
    assert ended.returncode == 4
    assert ended.stderr == "wiretool: --worker: no master at 127.0.0.1:1 in 10 s; start one with --master\n"


class Saying(children.Load):
    """A load process that says these things."""

    def __init__(self, said: list[Said]) -> None:
        self._said = iter(said)

    def order(self, orders: Orders) -> None:
        """It knows what to say."""

    def next(self) -> Said | None:
        return next(self._said, None)


@pytest.mark.parametrize(
    ("waited_s", "more", "code"),
    [
        (0.0, {}, 0),
        (0.9, {}, 1),
        (0.0, {"found": 1, "checked": 5, "findings": ["lost"]}, 1),
        (0.0, {"failure": "the server is gone"}, 4),
        (0.9, {"failure": "a KeyError", "has_defect": True}, 70),
    ],
)
def test_a_worker_ends_as_its_own_report_says(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    waited_s: float,
    more: dict[str, object],
    code: int,
) -> None:
    plan = Plan(protocol="pravega", appenders=1, duration_s=3.0, run="run")
    pulse = Pulse(worker="load 0", users=1, cpu_s=0.1, waited_s=waited_s, wall_s=1.0)
    seconds = [Interval(second=second, began_at=float(second), pulse=pulse) for second in range(3)]
    ended = Ended(worker="load 0", users=1, duration_s=3.0, **more)  # type: ignore[arg-type]

    @contextmanager
    def load_process() -> Iterator[children.Load]:
        yield Saying([Ready(worker="load 0", plan=plan, users=1, begins_in_s=0.0), *seconds, ended])

    monkeypatch.setattr(children, "load_process", load_process)
    monkeypatch.setattr(benching, "wait_for_master", lambda host, port: None)
    assert benching.run_worker(Spread(master="127.0.0.1:1"), None) == code
    assert ("INVALID" in capsys.readouterr().out) == (waited_s > 0)
