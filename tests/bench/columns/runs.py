"""One run of a tool as a whole process: seconds, memory, and the frames that it finds."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from tests.bench.decode import LUA, ToolFailed

SBP_LUA = LUA.with_name("sbp.lua")
PRAVEGA_FIELDS = ("pravega.type", "pravega.length", "pravega.writer", "pravega.event_number")
SBP_FIELDS = ("sbp.length", "sbp.opcode", "sbp.flags", "sbp.stream_id")
OFFRAMP_FIELDS = ("websocket.payload_length", "json.key", "json.value.string", "json.value.number")
AS_JSON = ("-o", "websocket.text_type:As json")
PLAIN_FIELDS = ("frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len")

#: Capture and output -> the words of a command.
Words = Callable[[Path, Path], list[str]]


class Command(NamedTuple):
    """A tool, and how the frames that it finds are counted: in its output on stdout, or in what it writes; or not.

    `codes` are the exit codes with which it ends well.
    """

    words: Words
    in_stdout: Callable[[IO[bytes]], int] | None = None
    in_output: Callable[[Path], int] | None = None
    codes: tuple[int, ...] = (0,)


class Run(NamedTuple):
    """Processor and wall seconds of a run, its largest resident size, and the frames it found, where they count.

    `fed` is the number of frames in a capture that came through its stdin.
    """

    cpu_s: float
    wall_s: float
    peak_bytes: int
    found: int | None
    fed: int | None = None


def run(command: Command, capture: Path, folder: Path) -> Run:
    """Run a command on a capture; ToolFailed where it ends badly."""
    output = folder / "out"
    remove(output)
    capture.with_name(f".{capture.name}.wiretool-index").unlink(missing_ok=True)
    return _finish(command, output, _measured(command, command.words(capture, output), folder, None))


def run_fed(command: Command, feed: Sequence[str], folder: Path) -> Run:
    """Run a command on a capture that `feed` writes to its stdin; ToolFailed where one of them ends badly."""
    output = folder / "out"
    remove(output)
    said = folder / "fed"
    with said.open("wb") as stderr, subprocess.Popen(feed, stdout=subprocess.PIPE, stderr=stderr) as feeder:
        measured = _measured(command, command.words(Path("-"), output), folder, feeder.stdout)
    if feeder.returncode:
        raise ToolFailed(f"{' '.join(feed)} ended with {feeder.returncode}:\n{said.read_text(errors='replace')}")
    return _finish(command, output, measured)._replace(fed=int(said.read_text()))


def _finish(command: Command, output: Path, measured: Run) -> Run:
    """Count the frames in the output of a run, and remove it."""
    if command.in_output is not None:
        measured = measured._replace(found=command.in_output(output))
    remove(output)
    return measured


def _measured(command: Command, words: Sequence[str], folder: Path, stdin: IO[bytes] | None) -> Run:
    """Run the words of a command to their end; `folder` is tshark's empty configuration."""
    if shutil.which(words[0]) is None:
        raise ToolFailed(f"{words[0]} is not installed")
    environment = os.environ | {"WIRESHARK_CONFIG_DIR": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as it is used: from the second start on modules are compiled
    errors, found = folder / "stderr", None
    with errors.open("wb") as stderr:
        stdout = subprocess.DEVNULL if command.in_stdout is None else subprocess.PIPE
        begun = time.perf_counter()
        process = subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=stderr, env=environment)
        if stdin is not None:
            stdin.close()
        if command.in_stdout is not None and process.stdout is not None:
            with process.stdout:
                found = command.in_stdout(process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in command.codes:
        said = errors.read_text(errors="replace")
        raise ToolFailed(f"{' '.join(words)} ended with {process.returncode}:\n{said}")
    return Run(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024, found)


def remove(path: Path) -> None:
    """Remove the output of a run."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


# -- wiretool ----------------------------------------------------------------------------------------------------------


def stats(engine: str, *options: str) -> Command:
    """`wiretool stats`."""
    more = ("--engine", engine, *options)
    return Command(_wiretool("stats", *more, "--format", "json", "-o"), in_output=stats_frames)


def parquet(engine: str, *options: str) -> Command:
    """`wiretool decode --format parquet`."""
    words = _wiretool("decode", "--engine", engine, *options, "--format", "parquet", "-o")
    return Command(words, in_output=parquet_frames)


def ndjson(engine: str) -> Command:
    """`wiretool decode --format ndjson` into a file."""
    return Command(_wiretool("decode", "--engine", engine, "--format", "ndjson", "-o"), in_output=line_frames)


def ndjson_to_pipe(engine: str) -> Command:
    """`wiretool decode --format ndjson` into a pipe."""

    def words(capture: Path, output: Path) -> list[str]:
        return [sys.executable, "-m", "wiretool", "decode", str(capture), "--engine", engine, "--format", "ndjson"]

    return Command(words, in_stdout=_frames_in)


def pipeline() -> Command:
    """`wiretool pipeline run`."""

    def words(capture: Path, output: Path) -> list[str]:
        return [sys.executable, "-m", "wiretool", "pipeline", "run", str(capture), "-o", str(output)]

    return Command(words, in_output=pipeline_frames)


def _wiretool(name: str, *options: str) -> Words:
    def words(capture: Path, output: Path) -> list[str]:
        return [sys.executable, "-m", "wiretool", name, str(capture), *options, str(output)]

    return words


def stats_frames(output: Path) -> int:
    """Return the frames in the JSON of `stats`."""
    frames: int = json.loads(output.read_bytes())["total"]["frames"]
    return frames


def parquet_frames(output: Path) -> int:
    """Return the frames in tables; in a process of its own, as pyarrow would count as memory of what is started."""
    code = (
        "import sys; import pyarrow.parquet as pq; "
        "print(pq.read_table(sys.argv[1], columns=['kind'])['kind'].to_pylist().count('frame'))"
    )
    command = [sys.executable, "-c", code, str(output / "frames.parquet")]
    return int(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def pipeline_frames(output: Path) -> int:
    """Return the frames in the manifest of `pipeline run`."""
    tables = json.loads((output / "manifest.json").read_bytes())["tables"]
    return sum(file["rows"] for file in tables["frames"])


def line_frames(output: Path) -> int:
    """Return the frames in NDJSON."""
    with output.open("rb") as file:
        return _frames_in(file)


def _frames_in(file: IO[bytes]) -> int:
    return sum(b'"kind":"frame"' in line[:60] for line in file)


# -- peers -------------------------------------------------------------------------------------------------------------


def dpkt_loop() -> Command:
    """A bare loop over packets."""
    return Command(lambda capture, output: [sys.executable, "-m", "tests.bench.dpkt_loop", str(capture)])


def tshark_with_lua(script: Path, fields: Sequence[str]) -> Command:
    """`tshark -T fields` with these names, which our dissector in Lua gives; the first is of every frame."""
    return _tshark("-X", f"lua_script:{script}", fields=fields)


def tshark_with_json() -> Command:
    """`tshark -T fields` of Offramp: WebSocket and JSON are its own."""
    return _tshark(*AS_JSON, fields=OFFRAMP_FIELDS)


def tshark_plain() -> Command:
    """`tshark -T fields` without a dissector of the protocol."""
    return _tshark(fields=PLAIN_FIELDS)._replace(in_stdout=None)


def tshark_json(script: Path) -> Command:
    """`tshark -T json` with our dissector in Lua."""
    return Command(lambda capture, output: ["tshark", "-r", str(capture), "-X", f"lua_script:{script}", "-T", "json"])


def _tshark(*options: str, fields: Sequence[str]) -> Command:
    chosen = [word for name in fields for word in ("-e", name)]
    return Command(
        lambda capture, output: ["tshark", "-r", str(capture), *options, "-T", "fields", *chosen],
        in_stdout=_numbers_in,
    )


def _numbers_in(file: IO[bytes]) -> int:
    """Return how many numbers there are in the first column, some a line with commas between them."""
    columns = (line.rstrip(b"\n").partition(b"\t")[0] for line in file)
    return sum(column.count(b",") + 1 for column in columns if column)
