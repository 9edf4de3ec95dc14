"""`wiretool replay --speed max` beside a client that sends the same bytes blindly, to the same server process.

    python -m tests.bench.replay [--quick] [CAPTURE]

The recorded writer (by default 10,000 events in 70 blocks, up to 1,000 in flight) is said to a `wiretool serve pravega`
in a process of its own: by the replay, and by a thread that writes the bytes of that connection as fast as the socket
takes them while another reads until the last acknowledgement. Both are timed from the first byte out to the last byte
in, in turn; the segment is made anew for each. The exit code is 1 if the median ratio of their rates is below the mark.
"""

import argparse
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.conftest import HERE, SHARED
from tests.helpers.servers import Server, started, wiretool
from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Side
from wiretool.net.addresses import Address
from wiretool.net.calling.run import call
from wiretool.net.calling.stage import Stage
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import DataAppended, Hello
from wiretool.protocols.pravega.segments import CreateSegment
from wiretool.records import Record
from wiretool.replay.adapters import manners
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.sinks.pcapng import Recording as Pcapng

CAPTURES = (
    SHARED / "captures" / "pravega-rust-client" / "write_inflight.pcap",
    HERE.parent / "captures" / "pravega" / "py_inflight.pcap.gz",
)
#: Of few rounds, beside other work: 60 % of the mark.
MARK, MARK_QUICK = 0.5, 0.3
ROUNDS, ROUNDS_QUICK = 15, 5
READ_BYTES = 1 << 16
TIMEOUT_S = 20.0
#: The frames of Hello and SetupAppend.
GREETING = 2


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("capture", type=Path, nargs="?", help="one with a Pravega writer")
    options = parser.parse_args()
    path = options.capture or next(path for path in CAPTURES if path.exists())
    recording = recording_of(read_packets([path]))
    writer = busiest(recording)
    rounds, mark = (ROUNDS_QUICK, MARK_QUICK) if options.quick else (ROUNDS, MARK)
    with tempfile.TemporaryDirectory(prefix="bench-replay-") as folder:
        doors = ("--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0", "--control", "127.0.0.1:0")
        with started(Path(folder), "serve", "pravega", *doors) as server:
            ratios = [measure(recording, writer, server) for _ in range(rounds)]
    ratio = statistics.median(ratios)
    print(f"{path.name}: ratio {ratio:.2f}, mark {mark} {'reached' if ratio >= mark else 'MISSED'}")
    return 0 if ratio >= mark else 1


def busiest(recording: Recording) -> Dialogue:
    """The connection on which clients say most."""
    return max(recording.of("pravega"), key=lambda each: sum(map(len, said_in(each.records))))


def said_in(records: list[Record]) -> list[bytes]:
    """The frames of the client."""
    return [record.raw for record in records if record.kind == "frame" and record.side == "client"]


def measure(recording: Recording, writer: Dialogue, server: Server) -> float:
    """How many times as fast the replay is; prints both. The server forgets everything before each."""
    store = Address(*server.doors["store"])
    alone = Recording([writer], [event for event in recording.events if event.dialogue is writer])
    frames = said_in(writer.records)
    segments = sorted({record.fields.segment for record in writer.records if record.message == "SetupAppend"})  # type: ignore[union-attr]
    wiretool("control", server.control, "restart").check_returncode()
    make(store, segments)
    blind_s = blindly(frames, acks_in(writer), store)
    wiretool("control", server.control, "restart").check_returncode()
    replay_s = replayed(alone, store)
    size = sum(map(len, frames))
    rates = [size / seconds / 1e6 for seconds in (blind_s, replay_s)]
    print(f"blindly {rates[0]:.1f} MB/s, replay {rates[1]:.1f} MB/s: ratio {rates[1] / rates[0]:.2f}", flush=True)
    return rates[1] / rates[0]


def acks_in(writer: Dialogue) -> int:
    """The number of the last event that was acknowledged."""
    return max(record.fields.event_number for record in writer.records if isinstance(record.fields, DataAppended))


def make(store: Address, segments: list[str]) -> None:
    """Make the segments."""
    with socket.create_connection(store, TIMEOUT_S) as link:
        link.sendall(encode(Hello(high_version=17, low_version=5), "client"))
        for number, name in enumerate(segments):
            made = CreateSegment(request_id=number, segment=name, target_rate=0, scale_type=0)
            link.sendall(encode(made, "client"))
        link.shutdown(socket.SHUT_WR)
        while link.recv(READ_BYTES):
            pass


def blindly(frames: list[bytes], last: int, store: Address) -> float:
    """Seconds from the first byte out to the acknowledgement of the last event.

    The greeting is waited for, as the store ends connections on which a writer appends before he is set up.
    """
    with socket.create_connection(store, TIMEOUT_S) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        link.sendall(b"".join(frames[:GREETING]))
        link.recv(READ_BYTES)
        sender = threading.Thread(target=link.sendall, args=(b"".join(frames[GREETING:]),))
        sender.start()
        tail, wanted = b"", last.to_bytes(8, "big")
        while wanted not in tail:
            heard = link.recv(READ_BYTES)
            if not heard:
                sys.exit("the server ended the connection before the last event was acknowledged")
            tail = tail[-len(wanted) :] + heard
        seconds = time.perf_counter() - start
        sender.join()
    return seconds


class Stopwatch(Pcapng):
    """Takes the place of a recording, and notes only when something was said on the last connection."""

    def __init__(self) -> None:
        self._spans: dict[int, list[int]] = {}

    @property
    def seconds(self) -> float:
        """From the first byte to the last on the connection that was opened last."""
        first_ns, last_ns = self._spans[max(self._spans)]
        return (last_ns - first_ns) / 1e9

    def opened(self, connection: int, client: tuple[str, int], server: tuple[str, int], now_ns: int) -> None:
        """Nothing was said yet."""

    def sent(self, connection: int, side: Side, data: bytes, now_ns: int, *, comment: str = "") -> None:
        """Something was."""
        self._spans.setdefault(connection, [now_ns, now_ns])[1] = now_ns

    def finished(self, connection: int, side: Side, now_ns: int) -> None:
        """It does not count."""

    def lost(self, connection: int, side: Side, now_ns: int) -> None:
        """It does not count."""

    def forget(self, connection: int) -> None:
        """The times are wanted later."""


def replayed(recording: Recording, store: Address) -> float:
    """The same of a replay, whose answers must be as recorded."""
    known = {"pravega": manners()["pravega"]}
    watch = Stopwatch()
    player = Player(script_of(recording, known), known, prepare=recording)
    call(player, Stage({("pravega", ""): store}, record=watch))
    wrong = [outcome for outcome in player.outcomes() if outcome.verdict.is_finding]
    if wrong and not all(outcome.request is not None and outcome.request.message == "Hello" for outcome in wrong):
        sys.exit(f"the replay differs: {wrong[0].request}, {wrong[0].differences}")
    return watch.seconds


if __name__ == "__main__":
    sys.exit(main())
