"""Lost segments among compressed messages."""

from collections import Counter

import pytest

from tests.bench.loss import CUTS, Frame, frames_of, sweep
from tests.bench.talk import Sent, segments
from tests.protocols.offramp.talk import Deflater, asking, frame, road_message, upgrading
from wiretool.dissect.dissector import Dissector
from wiretool.protocols.offramp import events
from wiretool.protocols.offramp.messages import ConnectionEvent


def deflated(*, resets: bool) -> list[Sent]:
    """A consumer whose server compresses, with or without what came before."""
    extensions = "permessage-deflate" + ("; server_no_context_takeover" if resets else "")
    deflate = Deflater(resets=resets)
    said = [Sent("client", asking(extensions)), Sent("server", upgrading(extensions))]
    told = (ConnectionEvent(agentName="offramp-0"), *map(road_message, range(300)))
    texts = (deflate(events.encode(event)) for event in told)
    return said + [Sent("server", frame("server", 0x80 | 0x40 | 2, text)) for text in texts]


@pytest.mark.parametrize("resets", [False, True], ids=["context kept", "context reset"])
@pytest.mark.parametrize("size", CUTS.values(), ids=CUTS)
def test_a_lost_segment_among_compressed_messages(resets: bool, size: int) -> None:
    sent = deflated(resets=resets)
    found = sweep(sent, segments(sent, port=8080, segment_bytes=size), 8080, 12 if not size else 2)
    assert found.is_good, found


def test_what_is_told_behind_a_hole_in_a_compressed_stream_was_sent() -> None:
    """The frames go on; what cannot be inflated is shown so, and no message is invented."""
    sent = deflated(resets=False)
    carriers = segments(sent, port=8080)
    whole = {(each.side, each.offset): each.fields for each in Dissector().records_of(carriers) if each.kind == "frame"}
    for lost in range(5, len(sent) - 20, 37):
        records = list(Dissector().records_of([*carriers[:lost], *carriers[lost + 1 :]]))
        behind = [each for each in records if each.kind == "frame" and each.packets[0] > carriers[lost].number]
        frames: Counter[Frame] = Counter((each.side, each.offset, each.raw) for each in records if each.kind == "frame")
        assert frames <= Counter(frames_of(sent))
        assert any(each.message == "Deflated" for each in behind)
        assert all(each.fields == whole[each.side, each.offset] for each in records if each.message == "MESSAGE")
        assert not [each for each in records if each.kind == "problem" and not each.length]
