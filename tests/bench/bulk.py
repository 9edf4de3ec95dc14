"""How fast captures become numbers and tables, against tshark with a dissector, tshark without one, and dpkt.

    python -m tests.bench.bulk [--quick] [--only NAME]

Every tool reads the same capture as a whole process, start-up included, in turn; before that, all that can must find
as many frames as were written. `--quick` is for a machine that does other things too: 60 % of the marks, smaller
captures, those peers that find frames, and seconds of the processor instead of the clock. The exit code
is 1 if a ratio is below its mark or the frames are others, 2 if a tool is missing or fails.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tests.bench import offramp_messages, sbp_requests
from tests.bench.decode import LUA, Cost, ToolFailed, cost_of, lines_of
from tests.bench.pravega_appends import make_capture

#: Runs of each tool; of those that take more than `SLOW_S` only one.
ROUNDS = 3
SLOW_S = 20
#: Marks are for captures on which start-up does not count; of smaller ones a ratio this much lower will do. Of large
#: events nothing but start-up would be left.
QUICK_SHARE = 0.6

SBP_LUA = LUA.with_name("sbp.lua")
FIELDS = ("pravega.type", "pravega.length", "pravega.writer", "pravega.event_number")
SBP_FIELDS = ("sbp.length", "sbp.opcode", "sbp.flags", "sbp.stream_id")
OFFRAMP_FIELDS = ("websocket.payload_length", "json.key", "json.value.string", "json.value.number")
AS_JSON = ("-o", "websocket.text_type:As json")
#: Of an Offramp conversation, what is HTTP and no frame of WebSocket: a request and its response.
HTTP_HEADS = 2
PLAIN_FIELDS = ("frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len")


@dataclass(frozen=True)
class Peer:
    """A tool that does the same job, or less, and how many times as long it must take; `good` is beyond that.

    `found` prints, for each packet, a number for each frame found in it, with commas between; `unseen` is how many of
    ours are none to it.
    """

    name: str
    command: Callable[[Path], list[str]]
    mark: float
    good: float = 0.0
    found: Callable[[Path], list[str]] | None = None
    unseen: int = 0


@dataclass(frozen=True)
class Case:
    """A job of ours on a kind of capture, and what makes such a one.

    Sizes are in packets or messages, in full and quickly; 0 is for none.
    """

    name: str
    sizes: tuple[int, int]
    make: Callable[[Path, int], int]
    command: Callable[[Path], list[str]]
    peers: Sequence[Peer]


def tshark_fields(names: Sequence[str], *options: str) -> Callable[[Path], list[str]]:
    """`tshark -T fields` with these names."""
    chosen = [word for name in names for word in ("-e", name)]
    return lambda path: ["tshark", "-r", str(path), *options, "-T", "fields", *chosen]


def fields_with_lua(script: Path, names: Sequence[str]) -> Callable[[Path], list[str]]:
    """`tshark -T fields` with these names, which our dissector in Lua gives."""
    return with_lua(script, "-T", "fields", *(word for name in names for word in ("-e", name)))


def with_lua(script: Path, *options: str) -> Callable[[Path], list[str]]:
    """tshark with a dissector of ours in Lua."""
    return lambda path: ["tshark", "-r", str(path), "-X", f"lua_script:{script}", *options]


def wiretool(*options: str) -> Callable[[Path], list[str]]:
    """wiretool; OUT stands for a place beside the capture."""
    return lambda path: [
        sys.executable,
        "-m",
        "wiretool",
        options[0],
        str(path),
        *(str(path.with_suffix(".out")) if option == "OUT" else option for option in options[1:]),
    ]


def dpkt_loop(path: Path) -> list[str]:
    """dpkt."""
    return [sys.executable, "-m", "tests.bench.dpkt_loop", str(path)]


def small_events(path: Path, packets: int) -> int:
    """Six appends of 100 bytes, or their acks, in each packet."""
    return make_capture(path, packets=packets, frames_per_packet=6, event_bytes=100)


def large_events(path: Path, packets: int) -> int:
    """One append of 30 kB, or its ack, in each packet."""
    return make_capture(path, packets=packets, frames_per_packet=1, event_bytes=30_000)


def small_requests(path: Path, packets: int) -> int:
    """Four requests of SBP, or their responses, in each packet."""
    return sbp_requests.make_capture(path, packets=packets)


def road(path: Path, messages: int) -> int:
    """Messages of Offramp, four in each packet."""
    return offramp_messages.make_capture(path, messages=messages)


def deflated_road(path: Path, messages: int) -> int:
    """The same with permessage-deflate."""
    return offramp_messages.make_capture(path, messages=messages, deflate="takeover")


def reading(marks: tuple[float, float, float], good: tuple[float, float]) -> tuple[Peer, ...]:
    """The three peers that read captures of Pravega."""
    found = fields_with_lua(LUA, FIELDS[:1])
    return (
        Peer("tshark -T fields with Lua", fields_with_lua(LUA, FIELDS), marks[0], good[0], found),
        Peer("tshark -T fields", tshark_fields(PLAIN_FIELDS), marks[1], good[1]),
        Peer("dpkt", dpkt_loop, marks[2]),
    )


def json_in_frames(mark: float) -> tuple[Peer, ...]:
    """The peer that reads captures of Offramp."""
    command = tshark_fields(OFFRAMP_FIELDS, *AS_JSON)
    found = tshark_fields(OFFRAMP_FIELDS[:1])
    return (Peer("tshark -T fields with its JSON dissector", command, mark, found=found, unseen=HTTP_HEADS),)


CASES = (
    Case("small events, stats", (400_000, 150_000), small_events, wiretool("stats"), reading((25, 6, 3), (60, 30))),
    Case(
        "small events, Parquet",
        (400_000, 150_000),
        small_events,
        wiretool("decode", "--format", "parquet", "-o", "OUT"),
        reading((12, 3, 1.5), (60, 30)),
    ),
    Case(
        "small events, ndjson",
        (50_000, 50_000),
        small_events,
        wiretool("decode", "--format", "ndjson", "-o", "OUT"),
        (Peer("tshark -T json with Lua", with_lua(LUA, "-T", "json"), 8, found=fields_with_lua(LUA, FIELDS[:1])),),
    ),
    # There is little to read in so many bytes: what is left is to go through them.
    Case("large events, stats", (50_000, 0), large_events, wiretool("stats"), reading((2, 1.5, 1.2), (60, 30))),
    Case(
        "sbp, stats",
        (100_000, 100_000),
        small_requests,
        wiretool("stats"),
        (
            Peer(
                "tshark -T fields with Lua that finds the frames",
                fields_with_lua(SBP_LUA, SBP_FIELDS),
                5,
                found=fields_with_lua(SBP_LUA, SBP_FIELDS[:1]),
            ),
        ),
    ),
    Case("offramp, stats", (250_000, 100_000), road, wiretool("stats"), json_in_frames(8)),
    Case(
        "offramp with permessage-deflate, stats",
        (250_000, 100_000),
        deflated_road,
        wiretool("stats"),
        json_in_frames(3),
    ),
)


def main() -> int:
    options = options_from(sys.argv[1:])
    cases = [case for case in CASES if options.only in case.name and case.sizes[options.quick]]
    try:
        with tempfile.TemporaryDirectory(prefix="bench-bulk-") as folder:
            verdicts = [verdict for case in cases for verdict in measure(case, Path(folder), options.quick)]
    except ToolFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 2
    return 0 if verdicts and all(verdicts) else 1


def options_from(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the column path against tshark and dpkt")
    parser.add_argument("--quick", action="store_true", help="small captures, low marks")
    parser.add_argument("--only", default="", metavar="NAME", help="only the cases with this in their name")
    return parser.parse_args(arguments)


def measure(case: Case, folder: Path, is_quick: bool) -> Iterator[bool]:
    """Whether each peer takes long enough; prints a line for each."""
    capture = folder / "capture.pcap"
    frames = case.make(capture, case.sizes[is_quick])
    print(f"{case.name}: {frames:,} frames, {capture.stat().st_size:,} bytes", flush=True)
    if not is_found(case, capture, frames):
        yield False
        return
    peers = [peer for peer in case.peers if peer.found is not None or not is_quick]
    commands = {"wiretool": case.command, **{peer.name: peer.command for peer in peers}}
    seconds = user_seconds(commands, capture) if is_quick else walls_by_turns(commands, capture)
    ours = seconds["wiretool"]
    print(f"  wiretool {ours:.2f} s, {frames / ours:,.0f} frames/s")
    for peer in peers:
        ratio = seconds[peer.name] / ours
        mark = peer.mark * (QUICK_SHARE if is_quick else 1)
        beyond = f", beyond {peer.good:g}" if peer.good and ratio >= peer.good else ""
        said = "reached" if ratio >= mark else "MISSED"
        print(f"  {peer.name} {seconds[peer.name]:.2f} s: ratio {ratio:.2f}, mark {mark:g} {said}{beyond}", flush=True)
        yield ratio >= mark


def walls_by_turns(commands: dict[str, Callable[[Path], list[str]]], capture: Path) -> dict[str, float]:
    """The median of the seconds that each command takes."""
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            if walls[name] and walls[name][0] > SLOW_S:
                continue
            walls[name].append(cost_on(capture, command).wall_s)
    return {name: statistics.median(each) for name, each in walls.items()}


def user_seconds(commands: dict[str, Callable[[Path], list[str]]], capture: Path) -> dict[str, float]:
    """The seconds of the processor that one run of each command takes: what else runs hardly changes them."""
    return {name: cost_on(capture, command).user_s for name, command in commands.items()}


def cost_on(capture: Path, command: Callable[[Path], list[str]]) -> Cost:
    """What a command takes; what it writes is removed."""
    cost = cost_of(command(capture), capture.parent)
    remove(capture.with_suffix(".out"))
    return cost


def is_found(case: Case, capture: Path, frames: int) -> bool:
    """Whether all tools that find frames find as many as were written; says which does not."""
    counts = {"wiretool": found_by_wiretool(case.command(capture), capture)}
    for peer in case.peers:
        if peer.found is not None:
            counts[peer.name] = found_by_peer(peer.found(capture), capture) + peer.unseen
    for name, count in counts.items():
        if count != frames:
            print(f"  {name} finds {count:,} frames", flush=True)
    return all(count == frames for count in counts.values())


def found_by_peer(command: list[str], capture: Path) -> int:
    """The numbers that a tool prints, some a line, with commas between."""
    with lines_of(command, capture.parent) as lines:
        return sum(line.count(b",") + 1 for line in lines if line.strip())


def found_by_wiretool(command: list[str], capture: Path) -> int:
    """The frames in what the command writes."""
    out = capture.with_suffix(".out")
    if "stats" in command:
        with lines_of([*command, "--format", "json"], capture.parent) as lines:
            total: int = json.loads(b"".join(lines))["total"]["frames"]
        return total
    cost_of(command, capture.parent)
    if out.is_dir():
        count: int = pq.read_table(out / "frames.parquet", columns=["kind"])["kind"].to_pylist().count("frame")
    else:
        with out.open("rb") as file:
            count = sum(json.loads(line)["kind"] == "frame" for line in file)
    remove(out)
    return count


def remove(path: Path) -> None:
    """Remove what a run has written."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
