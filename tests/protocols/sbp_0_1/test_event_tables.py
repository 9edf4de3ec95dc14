"""Tables of events of the older schemas."""

from io import BytesIO

import pytest

from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.protocols.sbp_0_1.talk import append, batch, fetch, fetched
from tests.sinks.arrow.test_events import check
from wiretool.codec.message import Side
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp_0_1.messages import S1, S2


@pytest.mark.parametrize("schema", [S1, S2], ids=["S1", "S2"])
def test_events_in_batches_of_the_older_schemas(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that take more than 64 bits are none."""
    said: list[tuple[Side, bytes]] = []
    for at in range(100):
        some = batch(schema, b"a", b"", b"\xff", base_offset=(2**63 - 2, -(2**63), at)[at % 3])
        said += [append(schema, 2 * at, some, some), fetch(schema, 2 * at + 1), fetched(schema, 2 * at + 1, some)]
    raw = pcap_bytes(tcp_packets(said, server=("10.0.0.2", PROTOCOLS["sbp-0.1"].ports[0])))
    numbers = check(BytesIO(raw), BytesIO(raw), monkeypatch)
    assert numbers[:9] == [2**63 - 2, 2**63 - 1, None] * 3
    assert numbers[9:18] == [-(2**63), 1 - 2**63, 2 - 2**63] * 3
    assert numbers[18:27] == [2, 3, 4] * 3
    assert len(numbers) == 900
