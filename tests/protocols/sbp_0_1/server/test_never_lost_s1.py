"""Cut any connection at any byte: what was acknowledged is there, with the offset that was told."""

from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.sbp_0_1.server.talk import append_s1, batch_s1, client_s1, header_of, placed
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp_0_1 import tables_s1 as s1
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1), st.booleans()), min_size=1, max_size=10))
def test_what_was_acknowledged_is_there(turns: list[tuple[int, float, bool]]) -> None:
    mock = Sbp01Mock()
    first = client_s1(mock)
    first.ask(s1.CreateStreamsRequest(stremas=(s1.Stream(replica_nums=1),)))
    known: dict[int, bytes] = {}
    for number, (count, part, is_fin) in enumerate(turns, 1):
        client = client_s1(mock, number)
        batches = [batch_s1(count, b"%d.%d" % (number, each)) for each in range(3)]
        sent = b"".join(encode_frame(append_s1(each, (0, data)), "client") for each, data in enumerate(batches))
        for answer in client.send(sent[: round(len(sent) * part)]):
            (result,) = header_of(answer).append_responses
            assert result.base_offset not in known
            known[result.base_offset] = batches[answer.stream_id]
        if is_fin:
            client.end()
        client.carry_out(mock.lost(number, 0))
    offsets = tuple(s1.FetchInfo(stream_id=0, fetch_offset=offset) for offset in known)
    found = first.ask(s1.FetchRequest(fetch_requests=offsets))
    assert found.payload == b"".join(placed(data, offset) for offset, data in known.items())
    assert mock.store.ranges[0][0].next == sum(count * whole for count, whole in whole_batches(turns))


def whole_batches(turns: list[tuple[int, float, bool]]) -> list[tuple[int, int]]:
    """How many of the three batches of each turn were whole when it was cut."""
    out = []
    for number, (count, part, _) in enumerate(turns, 1):
        sizes = [
            len(encode_frame(append_s1(each, (0, batch_s1(count, b"%d.%d" % (number, each)))), "client"))
            for each in range(3)
        ]
        cut = round(sum(sizes) * part)
        out.append((count, sum(sum(sizes[: each + 1]) <= cut for each in range(3))))
    return out
