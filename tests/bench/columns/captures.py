"""The captures of the bench, made once and kept in a folder.

    python -m tests.bench.columns.captures KIND CONNECTIONS SIZE -o FILE

Sizes are in packets (appends, large, sbp), connections (short), messages (offramp, deflate), or frames (mixed-NAME).
With `-o -` appends, large and short are written to stdout. Prints the number of frames on stderr.
"""

import argparse
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

from tests.bench.decode import ToolFailed

#: What captures depend on: they are made anew when one of these has changed.
SOURCES = (
    *(f"columns/{name}.py" for name in ("appends", "captures", "careful", "harmed", "mixed", "packets", "samples")),
    *("segments.py", "pravega_appends.py", "sbp_requests.py", "offramp_messages.py", "talk.py"),
)
#: Bytes of an event in captures of large appends.
LARGE_EVENT_BYTES = 30_000


@dataclass(frozen=True)
class Recipe:
    """A capture to be made; with `harm_share`, so many of its segments are lost, doubled or swapped.

    The packets of such a one are `slowed` times as far apart.
    """

    kind: str
    connections: int = 1
    size: int = 0
    harm_share: float = 0.0
    slowed: int = 1

    @property
    def stem(self) -> str:
        """The name of its file without the edition."""
        harmed = f"-{self.harm_share:g}" if self.harm_share else ""
        slowed = f"-slowed-{self.slowed}" if self.slowed > 1 else ""
        return f"{self.kind}-{self.connections}-{self.size}{harmed}{slowed}"

    @property
    def file_name(self) -> str:
        """The name of its file, of which no other code makes one."""
        return f"{self.stem}-{edition():08x}.pcap"

    @property
    def tiny(self) -> "Recipe":
        """The recipe of the smallest such capture: reading it takes as long as starting up."""
        return Recipe(self.kind, connections=1, size=1 if self.kind == "short" else 40)


class Capture(NamedTuple):
    """A capture file, and how many frames were written into it."""

    path: Path
    frames: int

    @property
    def megabytes(self) -> float:
        return self.path.stat().st_size / 1e6


@cache
def edition() -> int:
    """Return a number that changes with the code that makes captures."""
    folder = Path(__file__).parents[1]
    return zlib.crc32(b"".join((folder / name).read_bytes() for name in SOURCES))


class Captures:
    """Captures in a folder; one that is not there yet is made, in a process of its own: arrays count as memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, recipe: Recipe) -> Capture:
        """Return the capture of a recipe; ToolFailed where it cannot be made."""
        path = self.folder / recipe.file_name
        noted = path.with_suffix(".frames")
        if not noted.exists():
            self._remove_older(recipe)
            noted.write_text(str(self._make(recipe, path)))
        return Capture(path, int(noted.read_text()))

    def _remove_older(self, recipe: Recipe) -> None:
        """Remove the captures of the same recipe that other code made."""
        for path in self.folder.glob(f"{recipe.stem}-????????.*"):
            path.unlink()

    def _make(self, recipe: Recipe, path: Path) -> int:
        if not recipe.harm_share:
            return int(_said_by(command_of(recipe, str(path))))
        clean = self.get(replace(recipe, harm_share=0.0, slowed=1))
        words = [str(clean.path), str(path), "--share", str(recipe.harm_share), "--slowed", str(recipe.slowed)]
        _said_by([sys.executable, "-m", "tests.bench.columns.harmed", *words])
        return clean.frames


def command_of(recipe: Recipe, output: str) -> list[str]:
    """Return the command that writes a capture to a file, or to stdout for "-"."""
    words = [recipe.kind, str(recipe.connections), str(recipe.size), "-o", output]
    return [sys.executable, "-m", "tests.bench.columns.captures", *words]


def _said_by(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ToolFailed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stderr


# -- in the process that makes a capture -------------------------------------------------------------------------------


def write_in_arrays(file: IO[bytes], recipe: Recipe) -> int:
    """Write a capture of Pravega appends to a file that is open; return the frames in it."""
    from tests.bench.columns.appends import EVENT_BYTES, write_appends, write_short
    from tests.bench.columns.packets import PacketWriter
    from tests.bench.pravega_appends import SERVER_PORT

    if recipe.kind == "short":
        writer = PacketWriter(file.write, recipe.size, SERVER_PORT)
        return write_short(writer, recipe.size)
    writer = PacketWriter(file.write, recipe.connections, SERVER_PORT)
    if recipe.kind == "large":
        sizes = LARGE_EVENT_BYTES, LARGE_EVENT_BYTES
        return write_appends(writer, recipe.connections, recipe.size, event_bytes=sizes, appends=(1, 1))
    return write_appends(writer, recipe.connections, recipe.size, event_bytes=EVENT_BYTES)


def write_by_packets(path: Path, recipe: Recipe) -> int:
    """Write a capture packet by packet; return the frames in it."""
    from tests.bench import offramp_messages, sbp_requests
    from tests.bench.columns import careful, mixed

    if recipe.kind == "sbp":
        return sbp_requests.make_capture(path, packets=recipe.size, connections=recipe.connections)
    if recipe.kind.startswith("mixed-"):
        return mixed.make_capture(path, recipe.kind.removeprefix("mixed-"), recipe.size, recipe.connections)
    if recipe.kind.startswith("careful-"):
        return careful.make_capture(path, recipe.kind.removeprefix("careful-"), recipe.size, recipe.connections)
    deflate = "takeover" if recipe.kind == "deflate" else ""
    return offramp_messages.make_capture(
        path, messages=recipe.size, deflate=deflate, connections=recipe.connections, is_committed=True
    )


def write_nothing(file: IO[bytes], recipe: Recipe) -> int:
    """Write a capture without packets."""
    from tests.bench.columns.packets import FILE_HEADER

    file.write(FILE_HEADER)
    return 0


STREAMED: Mapping[str, Callable[[IO[bytes], Recipe], int]] = {
    "appends": write_in_arrays,
    "large": write_in_arrays,
    "short": write_in_arrays,
    "empty": write_nothing,
}
FILED = ("sbp", "offramp", "deflate", "mixed-sbp", "mixed-pravega", "mixed-offramp")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", help=f"of {', '.join((*STREAMED, *FILED))}, or careful-MANNER-PROTOCOL")
    parser.add_argument("connections", type=int)
    parser.add_argument("size", type=int)
    parser.add_argument("-o", "--output", required=True, help="file, or - for stdout")
    options = parser.parse_args(arguments)
    recipe = Recipe(options.kind, options.connections, options.size)
    if options.kind not in STREAMED:
        frames = write_by_packets(Path(options.output), recipe)
    elif options.output == "-":
        frames = STREAMED[options.kind](sys.stdout.buffer, recipe)
    else:
        with Path(options.output).open("wb", buffering=1 << 20) as file:
            frames = STREAMED[options.kind](file, recipe)
    print(frames, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
