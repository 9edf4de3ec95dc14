"""Makes the captures of protocols that no real program speaks: `python -m tests.helpers.synthetic captures`.

pravega-draft was never put into code, and of sbp-0.1 only its later schema S2 ran anywhere. The bytes come from our own
encoder, so these files show what decode looks like; what is right is held by the vectors.
"""

import random
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.bench.talk import Sent, frame
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.frames import TALKS

SERVER_PORTS = {"pravega-draft": 12345, "sbp-0.1": 10911}


def draft() -> Iterator[Sent]:
    """A few blocks, one event of them cut in three by partial messages, and a read."""
    sent = list(islice(TALKS["pravega-draft"](random.Random(7)), 14))
    yield from sent
    connection = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
    before = sum(len(each.data) for each in sent if each.data[:4] == bytes(4))
    event = bytes(4) + (24).to_bytes(4, "big") + b"an event cut in three..."
    begin = {"connection_id": connection, "connection_offset": before, "length": 9 + 10}
    yield frame("pravega-draft", "client", "BeginAppendBlock", begin)
    yield frame("pravega-draft", "client", "PartialMessage", {"part": "BEGIN", "data": event[:10].hex()})
    after = before + len(event)
    end = {"connection_id": connection, "connection_offset": after, "block_length": len(event)}
    yield frame("pravega-draft", "client", "EndAppendBlock", end)
    yield frame("pravega-draft", "client", "PartialMessage", {"part": "MIDDLE", "data": event[10:20].hex()})
    yield frame("pravega-draft", "client", "PartialMessage", {"part": "END", "data": event[20:].hex()})
    ack = {"connection_id": connection, "connection_offset_ack_level": after}
    yield frame("pravega-draft", "server", "DataAppended", ack)
    ask = {"segment": "scope/stream/0", "offset": before, "suggested_length": 1024}
    yield frame("pravega-draft", "client", "ReadSegment", ask)
    place = {"segment": "scope/stream/0", "offset": before, "at_tail": True, "end_of_segment": False}
    yield frame("pravega-draft", "server", "SegmentRead", {**place, "data": event.hex()})
    yield frame("pravega-draft", "client", "KeepAlive", {"data": ""})
    yield frame("pravega-draft", "server", "KeepAlive", {"data": ""})


def write(path: Path, sent: Iterator[Sent], port: int) -> None:
    """One connection as a pcap file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pcap_bytes(tcp_packets(list(sent), server=("10.0.0.2", port))))


def main(folder: Path) -> None:
    write(folder / "pravega-draft" / "blocks.pcap", draft(), SERVER_PORTS["pravega-draft"])
    write(
        folder / "sbp-0.1" / "s1_streams.pcap", islice(TALKS["sbp-0.1"](random.Random(7)), 20), SERVER_PORTS["sbp-0.1"]
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
