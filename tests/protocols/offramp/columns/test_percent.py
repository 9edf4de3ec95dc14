"""Percent-encoded parameters of an Offramp handshake are decoded by rows and by columns."""

from io import BytesIO

from tests.dissect.columns.engines import by_columns, by_rows
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.protocols.offramp.talk import UPGRADE
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import request
from wiretool.protocols.offramp.messages import HandshakeRequest

TARGET = "/offramp/v2/roads/a%20b/streams/s/messages?default%4Fffset=EARLIES%54&grants=PI%49"


def test_both_ways_decode_a_query() -> None:
    data = encode(request(TARGET, tuple(UPGRADE)), "client")
    capture = pcap_bytes(tcp_packets([("client", data)], server=("10.0.0.2", 8080)))
    rows, columns = by_rows(BytesIO(capture)), by_columns(BytesIO(capture))
    assert rows == columns
    asked = rows.records[0].fields
    assert isinstance(asked, HandshakeRequest)
    assert (asked.target, asked.road, asked.defaultOffset, asked.grants) == (TARGET, "a b", "EARLIEST", ("PII",))
