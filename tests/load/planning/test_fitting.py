"""What a load is fitted to: recordings of known loads, of real programs, and damaged ones."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.examples import needs_protocol
from tests.load.recordings import Known, record, record_all, record_consumers
from wiretool import limits
from wiretool.batches.rows import batch_of
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError, UsageError
from wiretool.load.in_flight import Tally
from wiretool.load.part import loadable
from wiretool.load.planning.fitting import LISTED_MAX, Fitted, fitted, number_text, sizes_text
from wiretool.load.planning.recorded import Recorded, Seen
from wiretool.load.planning.sizes import sizes_from
from wiretool.load.planning.validate import Load, plan_from

CAPTURES = Path(__file__).parents[3] / "captures"
APPENDED = [name for name in loadable() if name != "offramp"]


def recorded(path: Path, *, by_rows: bool = False) -> Recorded:
    found = Recorded()
    if by_rows:
        found.add(batch_of(list(read(path))))
        return found
    for batch in read_batches(path):
        found.add(batch)
    return found


def fit(seen: Recorded, load: Load | None = None, *, is_verified: bool = False, has_target: bool = False) -> Fitted:
    return fitted(load or Load(), seen, name="x.pcap", is_verified=is_verified, has_target=has_target)


def seen_of(protocol: str = "pravega", **changes: Any) -> Recorded:
    """As if a hundred appends of one event each had been recorded in 99 s."""
    plain = Seen(
        appends=100,
        last_ns=99_000_000_000,
        sizes=Tally({100: 100}),
        counts=Tally({1: 100}),
        depths=Tally({1: 100}),
        writers={"a", "b"},
        segments={"s"},
    )
    found = Recorded()
    found.seen[protocol] = replace(plain, **changes)
    return found


# -- known loads -------------------------------------------------------------------------------------------------------


@needs_protocol("sbp-0.1")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    known=st.builds(
        Known,
        protocol=st.sampled_from(APPENDED),
        users=st.integers(1, 6),
        appends=st.integers(6, 40),
        batch=st.integers(1, 4),
        pipeline=st.integers(1, 6),
        segments=st.just(1) | st.integers(1, 6),
        sizes=st.lists(st.integers(1, 400), min_size=1, max_size=3).map(tuple),
        gap_ns=st.integers(10**7, 10**9),
    ),
    by_rows=st.booleans(),
)
def test_a_recorded_load_is_fitted_to_what_it_was(known: Known, by_rows: bool, tmp_path: Path) -> None:
    if known.protocol == "sbp":  # one batch has no ends of its events: they count as equal
        known = replace(known, sizes=known.sizes[:1])
    known = replace(known, segments=min(known.segments, known.users))
    found = fit(recorded(record(tmp_path / "x.pcap", known), by_rows=by_rows))
    is_unshared = known.protocol in ("sbp", "sbp-0.1")
    assert found.load == Load(
        protocol=known.protocol,
        appenders=known.users,
        fetchers=0,
        rate=number_text(1e9 / known.gap_ns),
        event_size=sizes_text(Counter(known.in_all)),
        batch=known.batch,
        pipeline=known.pipeline,
        segments=None if is_unshared else known.segments,
    )
    assert not found.remarks
    assert plan_from(found.load, is_verified=False, run="x").appenders == known.users


def test_the_rate_of_a_burst_is_told_as_that(tmp_path: Path) -> None:
    known = Known(protocol="pravega", users=1, appends=6, batch=1, pipeline=1, segments=1, sizes=(100,), gap_ns=1_000)
    found = fit(recorded(record(tmp_path / "x.pcap", known)))
    assert found.load.rate == "1000000"
    assert found.remarks == ["the rate is that of 0.005 ms, maybe of a burst: --rate gives another"]


@needs_protocol("offramp")
@pytest.mark.parametrize("by_rows", [False, True])
def test_consumers_are_fitted_by_what_they_ask_for(by_rows: bool, tmp_path: Path) -> None:
    path = record_consumers(tmp_path / "x.pcap", consumers=3, messages=40, credit=10, pipeline=2)
    found = fit(recorded(path, by_rows=by_rows))
    assert found.words == "--protocol offramp --fetchers 3 --rate 333.3 --batch 10 --pipeline 2"
    assert found.recorded == "120 messages of offramp in 0.119 s"
    assert fit(recorded(path), has_target=True).load.rate is None


def test_who_reads_has_the_room_that_those_leave_who_were_asked_for() -> None:
    readers = {str(number): (0, 1, 2) for number in range(20_000)}
    found = fit(seen_of(readers=readers))
    assert (found.load.appenders, found.load.fetchers) == (2, 14_000)
    found = fit(seen_of(readers=readers), Load(appenders=27_000))
    assert (found.load.appenders, found.load.fetchers) == (27_000, 1_000)


def test_who_reads_again_by_another_connection_is_not_two() -> None:
    readers = {"a": (0, 10, 5), "b": (11, 20, 5), "c": (15, 15, 1), "d": (16, 18, 2), "e": (17, 17, 1)}
    assert fit(seen_of(readers=readers, clients={"e"})).load.fetchers == 2
    assert fit(seen_of(readers=readers)).load.fetchers == 3


def test_words_are_a_command_line_that_gives_the_same_load(tmp_path: Path) -> None:
    found = fit(
        recorded(record(tmp_path / "x.pcap", Known(sizes=(100, 100, 100, 20)))), Load(event_size="lognormal:9,1")
    )
    words = (
        "--protocol pravega --appenders 3 --rate 1000 --event-size lognormal:9,1 --batch 1 --pipeline 1 --segments 1"
    )
    assert found.words == words


# -- what is said, and what is not possible ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"appenders": 7},
        {"fetchers": 2},
        {"rate": "5k"},
        {"rate": ""},
        {"event_size": "uniform:50-60"},
        {"batch": 9},
        {"pipeline": 4},
        {"segments": 2},
        {"is_conditional": False},
    ],
)
def test_what_is_said_wins(said: dict[str, Any]) -> None:
    found = fit(seen_of(), Load(**said)).load
    assert {name: getattr(found, name) for name in said} == said
    plain = fit(seen_of()).load
    assert replace(found, **{name: getattr(plain, name) for name in said}) == plain


@pytest.mark.parametrize(
    ("changes", "options", "remark"),
    [
        ({"writers": set(map(str, range(30_000)))}, {"appenders": 28_000}, "--appenders would be 30,000; 28,000 is"),
        ({"counts": Tally({200_000: 9})}, {"batch": 100_000}, "--batch would be 200,000; 100,000 is the most"),
        (
            {"counts": Tally({5_000: 9}), "sizes": Tally({10_000: 9})},
            {"batch": limits.BENCH_APPEND_BYTES_MAX // 10_008},
            "--batch would be 5,000; 1,676 is the most",
        ),
        ({"depths": Tally({20_000: 9})}, {"pipeline": 10_000}, "--pipeline would be 20,000; 10,000 is the most"),
        ({"depths": Tally()}, {"pipeline": None}, "no answer was recorded, so --pipeline is 1"),
        ({"segments": {"a", "b", "c"}}, {"segments": 2}, "--segments would be 3; 2 is the most"),
        ({"segments": set()}, {"segments": None}, ""),
        ({"last_ns": 1}, {"rate": "10000000"}, "--rate would be 99,000,000,000; 10,000,000 is the most"),
        ({"last_ns": 0}, {"rate": None}, "no rate is in it"),
        ({"appends": 1}, {"rate": None}, "no rate is in it"),
        ({"sizes": Tally({0: 3})}, {"event_size": "1"}, "empty events have a byte here"),
        ({"sizes": Tally({2**24: 3})}, {"event_size": "8388608"}, "events of up to 16,777,216 bytes are made 8M"),
        ({"sizes": Tally()}, {"event_size": None}, ""),
        ({"counts": Tally({1: 1, 4: 1})}, {"batch": 2}, "appends have 1 to 4 events, 2.5 on average, here 2 each"),
        ({"gaps": 2}, {}, "the bytes lost in 2 gaps are not counted"),
        ({"conditional": 100}, {"is_conditional": True, "batch": None, "pipeline": None, "segments": None}, ""),
        ({"conditional": 7}, {"is_conditional": None}, "7 of 100 appends are conditional, here none is"),
        (
            {"conditional": 100, "sizes": Tally({50: 1, 60: 9})},
            {"event_size": "60"},
            "conditional appends have events of one size here, not of 2",
        ),
    ],
)
def test_what_is_not_possible_is_as_near_as_may_be_and_told(
    changes: dict[str, Any], options: dict[str, Any], remark: str
) -> None:
    found = fit(seen_of(**changes))
    assert {name: getattr(found.load, name) for name in options} == options
    assert [each for each in found.remarks if each.startswith(remark)] if remark else not found.remarks
    plan_from(found.load, is_verified=False, run="x")


def test_events_that_are_verified_have_room_for_their_marks() -> None:
    small = seen_of(sizes=Tally({5: 1, 19: 1, 30: 2}))
    assert fit(small, is_verified=True).load.event_size == "20@1,30@1"
    assert "events below 20 bytes are enlarged to this size for the marks" in fit(small, is_verified=True).remarks[0]
    assert fit(small).load.event_size == "5@1,19@1,30@2"
    assert not fit(small, Load(event_size="40"), is_verified=True).remarks


@pytest.mark.parametrize("said", [{"batch": 2}, {"pipeline": 3}, {"segments": 4}, {"event_size": "20@1,30@1"}])
def test_appends_are_not_conditional_where_something_else_is_asked_for(said: dict[str, Any]) -> None:
    found = fit(seen_of(conditional=100), Load(**said))
    assert not found.load.is_conditional
    assert "100 of 100 appends are conditional, here none is" in found.remarks


def test_conditional_appends_that_are_asked_for_have_what_goes_with_them() -> None:
    found = fit(seen_of(counts=Tally({5: 100}), depths=Tally({3: 9})), Load(is_conditional=True))
    assert found.words == "--protocol pravega --appenders 2 --rate 1 --event-size 100 --conditional"
    assert plan_from(found.load, is_verified=False, run="x").segments == 2


# -- which protocol ----------------------------------------------------------------------------------------------------


def test_of_several_protocols_one_is_picked(tmp_path: Path) -> None:
    path = record_all(tmp_path / "x.pcap", Known(users=1, appends=3), Known("sbp", users=2))
    with pytest.raises(UsageError, match="3 appends of pravega and 16 appends of sbp are in it; pick one with --proto"):
        fit(recorded(path))
    assert fit(recorded(path), Load(protocol="sbp")).load.appenders == 2


@needs_protocol("offramp")
def test_a_recording_in_which_nothing_is_appended() -> None:
    with pytest.raises(CaptureError, match=r"x.pcap: no appends of a supported protocol \(pravega, "):
        fit(Recorded())
    with pytest.raises(CaptureError, match="no message of offramp is in it, only 100 appends of pravega; omit --pr"):
        fit(seen_of(), Load(protocol="offramp"))
    with pytest.raises(CaptureError, match=r"no append of sbp is in it$"):
        fit(Recorded(), Load(protocol="sbp"))


# -- real and damaged recordings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "pravega/java_write_flood.pcap.gz",
            "--protocol pravega --appenders 5 --fetchers 1 --rate 227.6 --event-size "
            "100@9989,183@2.497,185@2.497,187@2.497,364@3.33 --batch 9 --pipeline 15 --segments 1",
        ),
        ("pravega/write.pcap", "--protocol pravega --appenders 1 --rate 20262 --event-size 11 --batch 1 --pipeline 1"),
        ("pravega-draft/blocks.pcap", "--protocol pravega-draft --appenders 1 --rate 107.1 --event-size 24@1,134@1,"),
        ("sbp/rs_fetch.pcap", "--protocol sbp --appenders 2 --fetchers 1 --rate 680 --event-size 1@3,14@100 --batch 9"),
        ("sbp-0.1/pm_s2_batch.pcap", "--protocol sbp-0.1 --appenders 1 --batch 1 --pipeline 1"),
        ("offramp/rebalance3.pcap", "--protocol offramp --fetchers 3 --rate 68.88 --batch 50 --pipeline 2"),
        ("offramp/plain_resume.pcap", "--protocol offramp --fetchers 1 --rate 324.9 --batch 7 --pipeline 1"),
    ],
)
def test_real_recordings(name: str, words: str) -> None:
    assert fit(recorded(CAPTURES / name)).words.startswith(words)


@pytest.mark.parametrize(
    "name",
    [
        "pravega/java_write_flood.pcap.gz",
        "pravega/java_conditional.pcap",
        "pravega/java_mtu1500.pcap.gz",
        "pravega/py_bytestream.pcap",
        "pravega/reconnect.pcap",
        "pravega-draft/blocks.pcap",
        "sbp/rs_append.pcap",
        "sbp/sdk_main.pcap",
        "offramp/u2k_drop5.pcap",
        "offramp/rebalance3.pcap",
    ],
)
def test_rows_and_columns_say_the_same(name: str) -> None:
    seen = recorded(CAPTURES / name).seen
    assert any(each.appends for each in seen.values())
    assert seen == recorded(CAPTURES / name, by_rows=True).seen


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_lost_what_is_left_is_a_load_or_is_refused(data: st.DataObject, tmp_path: Path) -> None:
    known = Known(data.draw(st.sampled_from(APPENDED)), users=2, appends=20, batch=2, pipeline=3)
    raw = record(tmp_path / "x.pcap", known).read_bytes()
    packets = list(_packets(raw))
    kept = data.draw(st.lists(st.booleans() | st.just(True), min_size=len(packets), max_size=len(packets)))
    cut = data.draw(st.integers(0, 40))
    left = raw[:24] + b"".join(packet for packet, is_kept in zip(packets, kept, strict=True) if is_kept)
    path = tmp_path / "lossy.pcap"
    path.write_bytes(left[: len(left) - cut] if len(left) > 24 + cut else left)
    seen = Recorded()
    try:
        for batch in read_batches(path):
            seen.add(batch)
    except CaptureError:
        pass  # its end is missing
    if not any(each.appends for each in seen.seen.values()):
        return  # there is nothing to fit to
    found = fit(seen, is_verified=True)
    assert 1 <= (found.load.appenders or 0) <= 2
    assert 1 <= (found.load.pipeline or 1) <= 20
    plan_from(found.load, is_verified=True, run="x")


def _packets(raw: bytes) -> list[bytes]:
    found, at = [], 24
    while at < len(raw):
        end = at + 16 + int.from_bytes(raw[at + 8 : at + 12], "big")
        found.append(raw[at:end])
        at = end
    return found


def test_where_no_answer_was_recorded_it_is_not_known_what_was_on_the_way(tmp_path: Path) -> None:
    found = fit(recorded(record(tmp_path / "x.pcap", Known(pipeline=1_000), is_answered=False)))
    assert found.load.pipeline is None
    assert found.load.appenders == 3


# -- sizes -------------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(1, limits.BENCH_EVENT_BYTES_MAX), st.integers(1, 10**12), min_size=1, max_size=300))
def test_sizes_keep_their_bytes_whatever_they_are(counts: dict[int, int]) -> None:
    text = sizes_text(counts)
    assert text is not None
    found = sizes_from(text, option="--event-size", smallest=1)
    assert min(counts) <= found.min <= found.max <= max(counts)
    pairs = [(int(size), float(weight or 1)) for size, _, weight in (item.partition("@") for item in text.split(","))]
    assert len(pairs) <= max(LISTED_MAX, 23) <= limits.BENCH_SIZES_MAX
    mean = sum(size * weight for size, weight in pairs) / sum(weight for _, weight in pairs)
    true = sum(size * count for size, count in counts.items()) / sum(counts.values())
    assert mean == pytest.approx(true, rel=2e-3, abs=1)


def test_few_sizes_are_listed_as_they_are() -> None:
    assert sizes_text({}) is None
    assert sizes_text({7: 3}) == "7"
    assert sizes_text({1_000: 10, 100: 90}) == "100@9,1000@1"


def test_many_sizes_are_put_together_but_the_largest_stay_apart() -> None:
    text = sizes_text({**dict.fromkeys(range(1, 1_000), 1), 100_000: 1})
    assert text is not None
    assert len(text.split(",")) == 22
    assert text.startswith("26@50,76@50,126@50")
    assert text.endswith(",100000@1")


@pytest.mark.parametrize(
    ("number", "text"),
    [(812.34, "812.3"), (1e-9, "0.000000001"), (5.0, "5"), (123456.7, "123457"), (0.0, "0"), (9999.6, "10000")],
)
def test_numbers_have_four_digits_and_no_exponent(number: float, text: str) -> None:
    assert number_text(number) == text
