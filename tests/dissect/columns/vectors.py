"""The bytes of vectors as captures: each said by both sides, over and over, in a conversation in good order."""

from tests.dissect.columns.made import said, turns
from tests.helpers.captures import Talk, packets_of, pcap_bytes
from tests.helpers.examples import parts
from tests.helpers.vectors import Vector
from wiretool.codec.message import Side
from wiretool.protocols.base.registry import PROTOCOLS

#: Frames in front of a vector, and how often it comes: enough for runs on both sides of it.
BEFORE, TIMES, AFTER = 40, 20, 60


def capture_of(vector: Vector) -> tuple[str, bytes]:
    """The protocol of a vector, and a pcap file in which its bytes are said."""
    protocol = vector.protocol
    by_client, by_server = parts("vectors", "sent_bytes")[vector.file.stem](vector.group, vector.record)
    before = turns(said(protocol, BEFORE), 1)
    after = turns(said(protocol, BEFORE + AFTER)[BEFORE:], 1)
    talk = Talk(server=("10.0.0.2", PROTOCOLS[protocol].ports[0]))
    talk.open()
    said_now: list[tuple[Side, bytes]] = [("client", by_client), ("server", by_server)]
    for side, data in [*before, *said_now * TIMES, *after]:
        if data:
            talk.say(side, data, mtu=60_000, acks=False)
    talk.close("fin")
    return protocol, pcap_bytes(packets_of(talk.frames))
