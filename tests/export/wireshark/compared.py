"""The comparison of frames with tables, as tshark shows them, with `decode`."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from tests.export.wireshark.shown import Frame, Shown, by_decode, by_tshark
from wiretool.capture.tls.keylog import KeyLog
from wiretool.protocols.base.registry import PROTOCOLS


def shown_once(fields: Collection[Shown], ours: Collection[Shown]) -> list[Shown]:
    """Return fields in order, those apart whose bytes and value we show by another name: tables may share others."""
    taken = {field._replace(name="") for field in ours}
    return sorted({each for each in fields if each in ours or each._replace(name="") not in taken}, key=place_of)


def place_of(field: Shown) -> tuple[int, str]:
    return field.at, field.name


def check_frame(ours: Frame, theirs: Frame) -> None:
    assert shown_once(theirs.fields, ours.fields) == sorted(ours.fields, key=place_of)
    assert (theirs.packet, theirs.problems) == (ours.packet, ours.problems)
    assert bool(theirs.response_to) == bool(ours.response_to)
    if ours.response_to == theirs.response_to != "":
        assert float(theirs.response_time) == pytest.approx(float(ours.response_time), abs=1e-6)


def compare(
    name: str, script: Path, path: Path, options: Sequence[str] = (), keys: KeyLog | None = None
) -> tuple[int, int]:
    """Check all frames of a capture; return how many they are, and how many have another request than in `decode`."""
    protocol = PROTOCOLS[name]
    ours, theirs = by_decode(path, protocol, keys), by_tshark(script, path, protocol, options)
    assert ours.keys() == theirs.keys()
    pairs = [pair for ends in ours for pair in zip(ours[ends], theirs[ends], strict=True)]
    for our_frame, their_frame in pairs:
        check_frame(our_frame, their_frame)
    return len(pairs), sum(ours.response_to != theirs.response_to for ours, theirs in pairs)
