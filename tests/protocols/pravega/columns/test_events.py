"""The events of many appends at once are those that `appends.events_of` finds in each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.batches.rows import values_of
from wiretool.codec.columns import Spans
from wiretool.protocols.base.columns import Events
from wiretool.protocols.pravega.appends import event_frame, events_of
from wiretool.protocols.pravega.columns.events import Appended, LateEvents, events_in

_bytes = st.one_of(
    st.lists(st.binary(max_size=5).map(event_frame), max_size=6).map(b"".join),
    st.binary(max_size=30),
    st.lists(st.sampled_from([event_frame(b"abc"), b"\0\0\0\0", b"\0\0\0\x01", b"x"]), max_size=6).map(b"".join),
)


def found(appends: list[tuple[bytes, int | None, int, int]]) -> list[list[dict[str, object]]]:
    """What `events_in` says of appends: bytes, where a block cut them if one did, how many events, the last number."""
    data, starts, lengths, cut, begun, ended = b"??", [], [], [], [], []
    for row, (raw, at, _, _) in enumerate(appends):
        place = len(raw) if at is None else min(at, len(raw))
        starts.append(len(data))
        lengths.append(place)
        data += raw[:place]
        if at is not None:
            middle = (place + len(raw)) // 2
            cut.append(row)
            begun.append((len(data) + 3, middle - place))
            data += b"..." + raw[place:middle]
            ended.append((len(data) + 3, len(raw) - middle))
            data += b"..." + raw[middle:]
    data += b"?"
    counts = np.array([count for _, _, count, _ in appends], np.int64)
    last = np.array([number for *_, number in appends], np.int64)
    spans = Spans(np.array(starts, np.int64), np.array(lengths, np.int64), is_text=False)
    appended = Appended(spans, np.array(cut, np.int64), _spans(begun), _spans(ended))
    assert appended.lengths.tolist() == [len(raw) for raw, *_ in appends]
    events = events_in(data, appended, counts, last)
    return _told(events, data, len(appends))


def _spans(pairs: list[tuple[int, int]]) -> Spans:
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return Spans(columns[:, 0], columns[:, 1], is_text=False)


def _told(events: Events, data: bytes, count: int) -> list[list[dict[str, object]]]:
    out: list[list[dict[str, object]]] = [[] for _ in range(count)]
    columns = [values_of(column, data) for column in events.columns.values()]
    for row, body, *values in zip(events.rows.tolist(), values_of(events.body, data), *columns, strict=True):
        form = {name: value for name, value in zip(events.columns, values, strict=True) if value is not None}
        out[row].append({**form, "data": body.hex()})
    return out


@given(
    st.lists(
        st.tuples(_bytes, st.none() | st.integers(0, 40), st.integers(1, 6), st.integers(-(2**40), 2**40)), max_size=40
    )
)
def test_any_appends(appends: list[tuple[bytes, int | None, int, int]]) -> None:
    assert found(appends) == [events_of(raw, count, last) for raw, _, count, last in appends]


@pytest.mark.parametrize("appends", [3, 200])
def test_blocks_of_many_events(appends: int) -> None:
    bodies = [b"%d" % number for number in range(300)]
    raw = b"".join(map(event_frame, bodies))
    told = found([(raw, None, 300, 1000)] * appends)
    assert told == [events_of(raw, 300, 1000)] * appends
    assert [event["event_number"] for event in told[0]] == list(range(701, 1001))


def test_late_events_are_found_once_and_only_when_asked_for() -> None:
    asked: list[bool] = []

    def find() -> Events:
        asked.append(True)
        return Events(np.array([0, 0, 2]), {}, _spans([(1, 1), (2, 1), (3, 1)]))

    late = LateEvents(find)
    kept = late.take(np.array([True, False, False]))
    assert not asked
    assert kept.rows.tolist() == [0, 0]
    assert late.rows.tolist() == [0, 0, 2]
    assert asked == [True]
    with pytest.raises(AttributeError, match="colour"):
        _ = late.colour
    assert isinstance(late, Events)
