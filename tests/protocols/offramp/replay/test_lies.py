"""Answers of Offramp servers that must follow from what the client said."""

from pathlib import Path

import msgspec

from tests.replay.forms import PLAIN_MANNERS
from tests.replay.mutants import Spot, mutated
from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.protocols.offramp.messages import HandshakeResponse
from wiretool.replay.adapters import manners
from wiretool.replay.diff.comparing import compare
from wiretool.replay.recording import recording_of

CAPTURES = Path(__file__).parents[4] / "captures" / "offramp"
ACCEPT = "Sec-WebSocket-Accept"


def recorded(name: str) -> Recording:
    return recording_of(read_packets([CAPTURES / name]))


def test_the_close_after_an_undecodable_event_has_no_other_code() -> None:
    """The original takes the event that ends the connection here; nothing else than 1011 may end it (§1.4)."""
    changed = mutated(recorded("err_counts.pcap"), Spot("offramp", "Close", ("code",)), 0)
    assert (changed.was, changed.now) == (1011, 1012)
    assert len(changed.findings) == 1


def test_an_accept_that_does_not_follow_from_the_key_is_found() -> None:
    one, other = recorded("plain.pcap"), recorded("plain.pcap")
    dialogue = other.of("offramp")[0]
    at = next(at for at, each in enumerate(dialogue.records) if isinstance(each.fields, HandshakeResponse))
    answer = dialogue.records[at]
    assert isinstance(answer.fields, HandshakeResponse)
    headers = tuple((name, "x" * 28 if name == ACCEPT else value) for name, value in answer.fields.headers)
    dialogue.records[at] = msgspec.structs.replace(
        answer, fields=msgspec.structs.replace(answer.fields, headers=headers), raw=answer.raw + b"!"
    )
    (finding,) = [each for each in compare(one, other, PLAIN_MANNERS | dict(manners())) if each.verdict.is_finding]
    assert [each.steps for each in finding.differences] == [("headers", ACCEPT.lower())]
