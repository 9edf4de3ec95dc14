"""Recordings of which one packet of a client was not captured."""

import random
from pathlib import Path
from typing import NamedTuple

from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.replay.recording import recording_of

#: Which part of a connection's requests the lost one is in, and how many requests such a connection has.
_FROM, _REQUESTS_MIN = 0.7, 6


class Torn(NamedTuple):
    """A recording, and when its gap begins if it has one."""

    recording: Recording
    gap_ns: int | None


def whole(path: Path) -> Recording:
    """Return the recording of a capture."""
    return recording_of(read_packets([path]))


def torn(path: Path, rng: random.Random) -> Torn | None:
    """Return the recording without one packet near the end of a connection; None where none is long enough."""
    places = []
    for dialogue in whole(path).dialogues:
        asked = [each for each in dialogue.records if each.kind == "frame" and each.side == "client"]
        if dialogue.protocol and len(asked) >= _REQUESTS_MIN:
            places += asked[int(len(asked) * _FROM) : -1]
    if not places:
        return None
    lost = rng.choice(places)
    packets = list(read_packets([path]))
    kept = [packet for packet in packets if packet.number != lost.packets[0]]
    gap_ns = next(packet.time_ns for packet in packets if packet.number == lost.packets[0])
    return Torn(recording_of(iter(kept)), gap_ns)
