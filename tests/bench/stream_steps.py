"""A stream killed at each of its steps on files, one after the other: `python -m tests.bench.stream_steps`.

A step is a file that is opened to be written, renamed or removed, a folder that is made or removed. After each kill the
same command is started again, with what has come since; its tables have to be those of a single run. In each story one
run is killed: the first of a stream, one that goes on, one that closes all. The exit code is 1 where any step differs.
"""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import wiretool.commands.pipeline.streaming
import wiretool.pipeline.stream.local
import wiretool.pipeline.stream.run  # noqa: F401 - loaded once, and not by each of the processes
from tests.bench.growing import Growing, Growth
from tests.helpers.row_sets import compared
from wiretool.__main__ import main as run_command

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
#: Which run is killed, of those that there are.
STORIES = ("first", "second", "finish")
#: No stream has so many steps.
STEPS_MAX = 2_000
#: Pieces of the capture, and how many of them are there when the stream begins.
PIECES, PIECES_FIRST = 22, 10


class Stage:
    """A capture of which some came later, and a stream of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.captures, self.tables = folder / "captures", folder / "tables"
        growth = Growth(folder / "made", rotate_bytes=60_000, piece_bytes=8_192, connections=3, interval_ns=1_000_000)
        growing = Growing(growth)
        for number in range(PIECES):
            if number == PIECES_FIRST:
                shutil.copytree(folder / "made", folder / "made first")
            growing.step()
        growing.close()
        self.come("made")
        if self.run("run", str(self.captures), "-o", str(folder / "wanted")):
            raise SystemExit(self.said())

    def come(self, name: str) -> None:
        """Have all captures of a folder in that which is watched."""
        self.captures.mkdir(exist_ok=True)
        for made in (self.folder / name).iterdir():
            with (self.captures / made.name).open("ab") as out:
                out.write(made.read_bytes()[out.tell() :])

    def clear(self) -> None:
        """Begin anew."""
        for folder in (self.captures, self.tables, self.folder / "checkpoint"):
            shutil.rmtree(folder, ignore_errors=True)

    def stream(self, *more: str, kill_at: int = 0) -> int:
        """Let the stream take what is there; its exit code."""
        places = [str(self.captures), "-o", str(self.tables), "--checkpoint", str(self.folder / "checkpoint")]
        return self.run("stream", *places, "--once", *more, kill_at=kill_at)

    def run(self, *words: str, kill_at: int = 0) -> int:
        """A command in a process that was forked off; it is killed at that step, counted from 1."""
        pid = os.fork()
        if not pid:
            self._become(["wiretool", "pipeline", *words], kill_at)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def said(self) -> str:
        """What the last run said in the end."""
        return (self.folder / "said").read_text()[-500:]

    def _become(self, argv: Sequence[str], kill_at: int) -> None:
        code: object = 70
        try:
            said = os.open(self.folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            sys.argv = list(argv)
            sys.addaudithook(Killer(str(self.folder), kill_at))
            run_command()
        except SystemExit as end:
            code = end.code or 0
        finally:
            os._exit(code if isinstance(code, int) else 70)


class Killer:
    """An audit hook that kills its process at a step, if there are so many below a folder."""

    def __init__(self, folder: str, kill_at: int) -> None:
        self._folder = folder
        self._left = kill_at

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_step(event, arguments):
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def _is_step(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            path, _, flags = arguments
            return self._folder in str(path) and isinstance(flags, int) and bool(flags & WRITES)
        # What is removed in a tree has names without their folders.
        return event in CHANGES and (self._folder in str(arguments[0]) or not str(arguments[0]).startswith("/"))


def killed_at(stage: Stage, story: str, step: int) -> int:
    """A story with a kill at that step; the exit code of the run that was to be killed."""
    stage.clear()
    stage.come("made" if story == "finish" else "made first")
    if story == "second":
        stage.stream()
        stage.come("made")
    return stage.stream(*(["--finish"] if story == "finish" else []), kill_at=step)


def differences(stage: Stage) -> Iterator[str]:
    """What is wrong when the stream has gone on to its end."""
    stage.come("made")
    code = stage.stream("--finish")
    if code:
        yield f"exit {code}: {stage.said()}"
        return
    for each in compared(stage.folder / "wanted", stage.tables):
        if not each.is_exact:
            yield f"{each.table} ({each.reader}): {each.lost} rows lost, {each.more} doubled or others"


def told(stage: Stage, story: str, every: int) -> Mapping[int, list[str]]:
    """What is wrong after a kill at each step, by the step."""
    found: dict[int, list[str]] = {}
    for step in range(1, STEPS_MAX, every):
        code = killed_at(stage, story, step)
        if code != -signal.SIGKILL:
            if code:
                raise SystemExit(f"{story}: exit {code}: {stage.said()}")
            break
        found[step] = list(differences(stage))
    return found


def main() -> int:
    """All stories; 1 where a step differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", choices=STORIES, help="only that one")
    parser.add_argument("--every", type=int, default=1, help="only every so many steps")
    options = parser.parse_args()
    is_exact = True
    with TemporaryDirectory(prefix="bench-steps-") as name:
        stage = Stage(Path(name))
        for story in [options.story] if options.story else STORIES:
            found = told(stage, story, options.every)
            wrong = {step: texts for step, texts in found.items() if texts}
            for step, texts in wrong.items():
                print(f"{story}, step {step}: {'; '.join(texts)}")
            print(f"{story}: killed at {len(found)} steps, {len(wrong)} of them wrong", flush=True)
            is_exact &= bool(found) and not wrong
    return 0 if is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
