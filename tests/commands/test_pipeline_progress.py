"""Long work of `wiretool pipeline` is reported, also where stderr is a pipe and one step takes all the time."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wiretool.commands import progress
from wiretool.commands.pipeline import running as pipelining
from wiretool.pipeline.job import Step

CAPTURES = Path(__file__).parents[2] / "captures"
#: Runs a command as if each moment of it was long: the first line comes at once, and the engine waits for one.
SLOW = """
import sys, time
from wiretool.__main__ import main
from wiretool.commands import progress
from wiretool.pipeline import {module} as engine
progress.LONG_S = progress.WAITING_S = 0.05
read = engine.{name}
def slow(*args):
    time.sleep(1)
    return read(*args)
engine.{name} = slow
main()
"""


@pytest.mark.parametrize(
    ("module", "name", "words", "line"),
    [
        ("local", "read_part", ["run"], "wiretool: reading packets: 100% ("),
        ("stream.local", "read_batch", ["stream", "--checkpoint", "c", "--once"], "wiretool: making batch 0 of 2,"),
    ],
    ids=["run", "stream"],
)
def test_long_work_is_reported_in_a_pipe(tmp_path: Path, module: str, name: str, words: list[str], line: str) -> None:
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "a.pcap").write_bytes((CAPTURES / "pravega" / "write.pcap").read_bytes())
    package, _, last = f"wiretool.pipeline.{module}".rpartition(".")
    script = SLOW.replace("from wiretool.pipeline import {module}", f"from {package} import {last}")
    command = [sys.executable, "-c", script.format(name=name), "pipeline", words[0], "captures", "-o", "t", *words[1:]]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert [each for each in ended.stderr.splitlines() if each.startswith(line)], ended.stderr


def test_steps_without_parts_keep_the_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    some = threading.Event()

    def tell(text: str) -> None:
        lines.append(text)
        some.set()

    monkeypatch.setattr(progress, "tell", tell)
    monkeypatch.setattr(progress, "LONG_S", 0.2)
    with pipelining._lines("Spark is at work") as show:
        show(Step("reading", 0, 1))
        assert some.wait(20)
    assert lines[0] == "Spark is at work (0 s)"
