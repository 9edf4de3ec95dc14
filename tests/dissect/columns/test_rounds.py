"""Connections without their beginning are read together from their first frames on, with the same records."""

from io import BytesIO

import pytest

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows
from tests.dissect.columns.made import Spoken
from tests.dissect.columns.test_plain_reading import batches_of, raw_of


def middles(count: int, protocol: str = "pravega") -> bytes:
    """Return a capture of connections, none with its beginning, and few segments of each."""
    return raw_of([Spoken(protocol, each=20, mtu=30_000, begin=False, end="")] * count, 40)


@pytest.mark.parametrize("protocol", ["pravega", "sbp"])
@pytest.mark.parametrize("count", [1, 60])
def test_first_frames_of_many_connections_are_columns(count: int, protocol: str) -> None:
    raw = middles(count, protocol)
    assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))
    batches = batches_of(raw, 65_536)
    records, frames = (
        sum(each) for each in zip(*((len(batch.records), batch.count) for batch in batches), strict=True)
    )
    assert records == frames if count == 1 else records < 0.2 * frames


def test_long_first_runs_of_many_connections_are_read_together() -> None:
    spoken = Spoken("pravega", each=20, mtu=1_000, begin=False, end="")
    runs = {
        count: sum(len(batch.runs) for batch in batches_of(raw_of([spoken] * count, 600), 1 << 22))
        for count in (12, 24)
    }
    assert all(found <= count + 1 for count, found in runs.items())
