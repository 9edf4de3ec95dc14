"""Connections change between arrays and objects at any table, with the same records as one by one."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, small_batches, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.helpers.examples import needs_protocol
from wiretool.capture.columns.plain_segments import PlainSegmentScan
from wiretool.capture.tcp.direction import Flow
from wiretool.capture.tcp.stream_events import Connection
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.frames import boundaries as hops
from wiretool.codec.frames.splitter import Splitter
from wiretool.dissect.columns.steady_watches import SteadyWatches
from wiretool.dissect.columns.watch import BulkWatch
from wiretool.protocols.base import recognise
from wiretool.protocols.base.columns import ProtocolColumns
from wiretool.protocols.pravega.columns import conversation as bulk
from wiretool.protocols.pravega.columns import kinds as bulk_kinds
from wiretool.protocols.pravega.session import PravegaConversation
from wiretool.protocols.sbp.columns import conversation as sbp_bulk

PROTOCOLS = ("pravega", "pravega", "sbp", "sbp-0.1", "offramp")


@contextmanager
def owners_changed(luck: random.Random, share: float) -> Iterator[None]:
    """Declare some connections of each table not plain, and use arrays for few frames already."""
    find_plain = PlainSegmentScan._find_plain

    def find_some(scan: PlainSegmentScan) -> Flags:
        is_plain = find_plain(scan)
        return is_plain & np.array([luck.random() >= share for _ in is_plain], np.bool_)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainSegmentScan, "_find_plain", find_some)
        patch.setattr(hops, "RANGES_ABREAST_MIN", luck.choice((1, 4, 48)))
        for module in (bulk, sbp_bulk):
            patch.setattr(module, "FRAMES_MIN", 1)
        patch.setattr(bulk_kinds, "KIND_MIN", 1)
        patch.setattr(bulk_kinds, "KIND_FRAMES_MIN", 0)
        yield


def check_owners(seed: int) -> None:
    """AssertionError where columns and rows of the capture of this seed differ."""
    luck = random.Random(seed)
    connections = [
        Spoken(
            luck.choice(PROTOCOLS),
            each=luck.choice((1, 3, 9)),
            mtu=luck.choice((60, 536, 1460)),
            begin=luck.random() < 0.7,
            acks=luck.random() < 0.5,
            wraps=luck.random() < 0.2,
            end=luck.choice(("fin", "rst", "")),
            troubles=frozenset(("lost",) if luck.random() < 0.1 else ()),
        )
        for _ in range(luck.choice((2, 9, 30)))
    ]
    raw = files_of(packets_made(connections, frozenset(), seed, luck.choice((8, 40, 160))), "pcap", seed)[0]
    rows = by_rows(BytesIO(raw))
    with owners_changed(luck, luck.choice((0.0, 0.1, 0.5))), table_packets(luck.choice((7, 40, 300, 1_000))):
        if luck.random() < 0.2:
            with small_batches():
                assert_equal(by_columns(BytesIO(raw)), rows)
        assert_equal(by_columns(BytesIO(raw)), rows)


# In the last one a connection is opened in a table and needs care in the middle of it.
@needs_protocol("sbp-0.1", "offramp")
@pytest.mark.parametrize("seed", [*range(8), 171])
def test_random_connections_of_random_tables_are_not_plain(seed: int) -> None:
    check_owners(seed)


@pytest.mark.parametrize("end", ["fin", ""])
def test_connections_in_good_order_need_no_objects(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Most of them begin in one table and go on in others."""
    packets = packets_made([Spoken("pravega", each=3, acks=True, end=end)] * 60, frozenset(), 1, 400)
    raw = files_of(packets, "pcap", 1)[0]
    rows = by_rows(BytesIO(raw))
    made: Counter[str] = Counter()
    for cls in (Flow, Splitter, BulkWatch, PravegaConversation):

        def init(each: object, *args: Any, cls: Any = cls, init: Any = cls.__init__, **options: Any) -> None:
            made[cls.__name__] += 1
            init(each, *args, **options)

        monkeypatch.setattr(cls, "__init__", init)
    with table_packets(2_000):
        assert_equal(by_columns(BytesIO(raw)), rows)
    assert max(made.values(), default=0) <= 20


def test_connections_set_up_over_several_tables_are_taken_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their greetings and set-ups stand in different tables, as few frames of each are in one."""
    packets = packets_made([Spoken("pravega", acks=False, end="")] * 300, frozenset(), 1, 10)
    raw = files_of(packets, "pcap", 1)[0]
    rows = by_rows(BytesIO(raw))
    taken = list[BulkWatch]()
    take_over, weighed = SteadyWatches.take_over, list[object]()
    weigh = recognise.weigh

    def noted(steady: SteadyWatches, watches: Sequence[BulkWatch], columns: Sequence[ProtocolColumns]) -> Integers:
        taken.extend(watches)
        return take_over(steady, watches, columns)

    def weighed_one(*args: Any, **options: Any) -> recognise.Evidence | None:
        weighed.append(args)
        return weigh(*args, **options)

    monkeypatch.setattr(SteadyWatches, "take_over", noted)
    monkeypatch.setattr(recognise, "weigh", weighed_one)
    with table_packets(600):
        columns = by_columns(BytesIO(raw))
    assert_equal(columns, rows)
    assert len(taken) <= 310
    assert len(weighed) <= 20


def test_only_the_damaged_connection_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    packets = packets_made([Spoken("pravega", each=3, acks=True, end="")] * 60, frozenset(), 1, 400)
    middle = packets[len(packets) // 2 :][:20]
    lost = max(middle, key=lambda packet: len(packet.data))
    raw = files_of([each for each in packets if each is not lost], "pcap", 1)[0]
    released: list[int] = []
    release = SteadyWatches.release

    def noted(steady: SteadyWatches, connections: Iterable[Connection] | None = None) -> None:
        before = len(vars(steady)["_accounts"])
        release(steady, connections)
        released.append(before - len(vars(steady)["_accounts"]))

    monkeypatch.setattr(SteadyWatches, "release", noted)
    with table_packets(2_000):
        columns = by_columns(BytesIO(raw))
    assert_equal(columns, by_rows(BytesIO(raw)))
    assert len(released) > 10
    # The damaged one, those that a table begins in, and those with an unfinished frame at the end.
    assert 1 <= sum(released) <= 20
