"""The end of both sides at once, while one of them looks for its next frame: the order of the last records."""

from io import BytesIO

import pytest

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, table_packets
from tests.dissect.columns.made import said
from tests.helpers.captures import Talk, packets_of, pcap_bytes
from wiretool.capture.tcp.segments_of_packets import ACK
from wiretool.protocols.base.registry import PROTOCOLS

#: A length that no frame has: the reader looks for the next frame from here on.
BROKEN = b"\xff\xff\xff\xff" * 8
#: Packets of a table. The unfinished frame of the client begins in the first one, and goes on in the second.
TABLE = 20


@pytest.mark.parametrize("protocol", ["pravega", "sbp", "sbp-0.1"])
def test_the_side_that_looks_for_a_frame_ends_first(protocol: str) -> None:
    """The column path reads the rest of the unfinished frame before the bytes of the server, the row path later."""
    frames = said(protocol, 40)
    server = [each.data for each in frames if each.side == "server"]
    talk = Talk(server=("10.0.0.2", PROTOCOLS[protocol].ports[0]))
    talk.open()
    for each in frames[:4]:
        talk.say(each.side, each.data, acks=False)
    unfinished = next(each.data for each in frames[4:] if each.side == "client" and len(each.data) > 20)
    talk.say("client", unfinished[:9], acks=False)
    while len(talk.frames) < TABLE:
        talk.send("server", ACK)
    known = sum(each.side == "server" for each in frames[:4])
    talk.say("server", b"".join(server[known : known + 3]) + BROKEN, mtu=30, acks=False)
    talk.say("client", unfinished[9:18], acks=False)
    talk.close("rst")
    raw = pcap_bytes(packets_of(talk.frames))
    rows = by_rows(BytesIO(raw), protocol=protocol)
    assert [(record.kind, record.side) for record in rows.records[-2:]] == [
        ("problem", "server"),
        ("problem", "client"),
    ]
    for count in (TABLE, 65_536):
        with table_packets(count):
            assert_equal(by_columns(BytesIO(raw), protocol=protocol), rows)
