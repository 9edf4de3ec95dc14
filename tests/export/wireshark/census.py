"""Compare tshark with `decode` over every capture: `python -m tests.export.wireshark.census [FOLDER ...]`.

Each capture is read with the whole exported dissector. A difference that has no reason here fails the run, and so does
a reason without a difference.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.export.wireshark import compared, test_tshark
from tests.export.wireshark.shown import by_decode, by_tshark
from tests.helpers.recorded import unpack_recordings
from wiretool.capture.tls.keylog import KeyLog
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError
from wiretool.export.names import protocol_identifier
from wiretool.export.wireshark import make_dissector
from wiretool.protocols.base.registry import PROTOCOLS

CAPTURES = Path(__file__).parents[3] / "captures"
#: Fewer than that would be no census.
CAPTURES_MIN = 300
#: Protocols that tshark shows where they are chosen: their default ports are those of another one.
SECOND = ("pravega-draft", "sbp-0.1")
#: Reasons for differences of Offramp, by the name of the capture.
REASONS: Mapping[str, str] = {
    "framing": "Wireshark 4.0 loses messages whose fragments are in several packets",
    "u2k_be_two_if": "Wireshark counts a block of unknown type as a packet",
    "u2k_cutfile": "the file ends within a packet, which both refuse",
    "u2k_dup": "a packet captured twice, out of order: needs tcp.reassemble_out_of_order",
    "u2k_midstream": "Wireshark's WebSocket needs the handshake",
    "u2k_reorder": "packets out of order: needs tcp.reassemble_out_of_order",
    "u2k_rotate_1": "Wireshark's WebSocket needs the handshake",
    "u2k_snap96": "truncated packets: Wireshark's WebSocket finds no message in them",
}


class Compared(NamedTuple):
    """One protocol in one capture: its messages, or how they differ."""

    capture: Path
    protocol: str
    messages: int
    why_not: str = ""


def captures_in(folders: list[Path]) -> Iterator[Path]:
    """Yield the captures in folders, those of equal name and size once."""
    seen: set[tuple[str, int]] = set()
    for path in sorted(path for folder in folders for path in folder.rglob("*.pcap*")):
        key = path.name, path.stat().st_size
        if key not in seen:
            seen.add(key)
            yield path


def keylog_of(capture: Path) -> Path | None:
    path = capture.with_name(f"{capture.name.partition('.')[0]}.keylog.txt")
    return path if path.exists() else None


def protocols_in(capture: Path, keys: KeyLog | None) -> dict[str, set[int]]:
    """Return the ports of servers by protocol, as `decode` has them."""
    ports: dict[str, set[int]] = {}
    for record in read(capture, keys=keys):
        if record.kind == "frame":
            ports.setdefault(record.protocol, set()).add(int(record.server.rpartition(":")[2]))
    return ports


def options_for(protocol: str, ports: set[int]) -> list[str]:
    """Return the options of tshark that choose a protocol whose default ports are those of another one before it."""
    if protocol not in SECOND:
        return []
    return [word for port in sorted(ports) for word in ("-d", f"tcp.port=={port},{protocol_identifier(protocol)}")]


def compare(script: Path, capture: Path, protocol: str, ports: set[int], keylog: Path | None) -> int:
    """Compare one protocol in a capture, and return the number of messages. AssertionError where they differ."""
    keys = KeyLog.of(keylog.read_bytes()) if keylog else None
    options = [*options_for(protocol, ports), *(("-o", f"tls.keylog_file:{keylog}") if keylog else ())]
    if protocol == "pravega-controller":
        from tests.export.wireshark.test_grpc import check_controller

        return check_controller(capture, script.parent)
    if protocol == "offramp":
        from tests.export.wireshark.websocket import compare_messages

        return compare_messages(script, capture, options, keys=keys)
    if protocol.startswith("sbp"):
        return compared.compare(protocol, script, capture, options, keys)[0]
    ours = by_decode(capture, PROTOCOLS[protocol], keys)
    return test_tshark.check_same(protocol, ours, by_tshark(script, capture, PROTOCOLS[protocol], options))


def census(folders: list[Path], script: Path) -> Iterator[Compared]:
    """Compare each protocol in each capture."""
    for capture in captures_in(folders):
        keylog = keylog_of(capture)
        keys = KeyLog.of(keylog.read_bytes()) if keylog else None
        try:
            found = protocols_in(capture, keys)
        except CaptureError as err:
            yield Compared(capture, "offramp", 0, str(err))
            continue
        for protocol, ports in found.items():
            try:
                yield Compared(capture, protocol, compare(script, capture, protocol, ports, keylog))
            except (AssertionError, ValueError) as err:
                yield Compared(capture, protocol, 0, f"{type(err).__name__}: {str(err)[:80]}")


def main(folders: list[Path]) -> int:
    """Print the figures of each protocol, and each difference; return the exit code."""
    counts: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    unexplained, explained = [], set()
    with TemporaryDirectory() as folder:
        script = Path(folder) / "wiretool.lua"
        script.write_text(
            make_dissector([each for each in PROTOCOLS.values() if each.name != "pravega-controller"], "0")
        )
        for each in census(folders or [CAPTURES, unpack_recordings() / "captures"], script):
            name = each.capture.name.partition(".")[0]
            counts[each.protocol] += 1
            messages[each.protocol] += each.messages
            if each.why_not and name in REASONS and each.protocol == "offramp":
                explained.add(name)
                print(f"{each.capture.name}: {each.protocol}: {REASONS[name]}")
            elif each.why_not:
                unexplained.append(f"{each.capture.name}: {each.protocol}: {each.why_not}")
    for protocol, number in sorted(counts.items()):
        print(f"{protocol}: {messages[protocol]} messages of {number} captures are alike")
    unseen = [] if folders else sorted(REASONS.keys() - explained)
    for line in [*unexplained, *(f"{name}: no difference; expected: {REASONS[name]}" for name in unseen)]:
        print(line)
    if not folders and sum(counts.values()) < CAPTURES_MIN:
        print(f"{sum(counts.values())} captures; expected {CAPTURES_MIN} or more")
        return 1
    return 1 if unexplained or unseen else 0


if __name__ == "__main__":
    sys.exit(main([Path(each) for each in sys.argv[1:]]))
