from typing import Any

import msgspec
import pytest

from tests.helpers.examples import needs_protocol
from wiretool.errors import UsageError
from wiretool.load.planning.plan import Plan
from wiretool.load.planning.validate import Load, check_workers, plan_from

PLAIN: dict[str, Any] = {"appenders": 64, "duration": "10", "warmup": "2s", "ramp": "0", "batch": 1}

OFFRAMP: dict[str, Any] = {"protocol": "offramp", "appenders": None, "fetchers": 8}


def plan(*, is_verified: bool = True, **options: Any) -> Plan:
    """The plan of a plain load, but for these options."""
    return plan_from(Load(**PLAIN | options), is_verified=is_verified, run="run")


def test_a_plan_goes_to_other_processes_and_back() -> None:
    found = plan(rate="5k", duration="2m").on("::1", 12345)
    assert (found.duration_s, found.warmup_s, found.ramp_s, found.rate_per_s, found.whole_s) == (120, 2, 0, 5_000, 122)
    assert found.target == "[::1]:12345"
    assert msgspec.json.decode(msgspec.json.encode(found), type=Plan) == found


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ({"protocol": "pravegaa"}, "no protocol is called 'pravegaa' .did you mean pravega"),
        ({"event_size": "19"}, "--event-size '19': an event of 19 bytes is too small"),
        ({"event_size": "1MiB", "batch": 17}, "--batch 17 of events of up to 1,048,576 bytes comes to more than"),
        ({"segments": 65}, "--segments 65: only 64 appenders write"),
        ({"duration": "0"}, "--duration '0'"),
        ({"duration": "59m", "warmup": "2m"}, "--duration 3540: a run of 3,660 s; 3,600 s is the most"),
        ({"rate": "11M"}, "--rate 11M: 10,000,000 a second is the most"),
        ({"rate": "fast"}, "--rate 'fast'"),
        ({"warmup": "-1"}, "--warmup '-1'"),
        ({"road": "one"}, "--road one: only offramp has roads, --protocol is pravega"),
        ({"fetchers": 28_000}, "--appenders 64 and --fetchers 28000: 28,000 users are the most"),
        ({"protocol": "sbp", "is_conditional": True}, "--conditional: only pravega has conditional appends"),
        ({"batch": 2, "is_conditional": True}, "--batch 2: a conditional append has one event"),
        ({"pipeline": 2, "is_conditional": True}, "--pipeline 2: a conditional append has one event"),
        ({"event_size": "uniform:50-100", "is_conditional": True}, "with --conditional all events are of one size"),
        ({"segments": 2, "is_conditional": True}, "--segments 2: with --conditional each appender has a segment"),
        (OFFRAMP | {"appenders": 3}, "--appenders 3: clients of offramp only read; give --fetchers"),
        (
            {"keep_slow": 100, "pipeline": 1_000, "event_size": "20KiB"},
            "--keep-slow: 64 appenders with 1,000 appends of up to 20,480 bytes on the way are 1,311,232,000 bytes to",
        ),
        (OFFRAMP | {"fetchers": 0}, "--protocol offramp: its clients only read; give --fetchers N"),
        ({"protocol": "sbp-0.1", "segments": 2}, "--segments 2: with sbp-0.1 each appender has a stream of its own"),
        (OFFRAMP | {"segments": 2}, "--segments 2: offramp has roads, of which one is read"),
        ({"has_backlog": True}, "--backlog: no fetchers; expected --fetchers M"),
        (
            {"has_backlog": True, "fetchers": 3, "segments": 4},
            "--backlog: --fetchers 3 cannot read all 4 segments; expected --fetchers 4 or more",
        ),
        (
            {"has_backlog": True, "fetchers": 3, "protocol": "sbp"},
            "--backlog: --fetchers 3 cannot read all 64 segments; expected --fetchers 64",
        ),
        (OFFRAMP | {"has_backlog": True}, "--backlog: roads of offramp fill by themselves; omit it"),
        (
            {"has_backlog": True, "fetchers": 1, "duration": "30m"},
            "--duration 1800: a run of 3,602 s; 3,600 s is the most, ramp, warm-up and the reading of the backlog inc",
        ),
    ],
)
def test_options_that_make_no_sense(option: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        plan(**option)


@pytest.mark.parametrize("protocol", ["sbp", "sbp-0.1"])
def test_a_fetcher_of_a_stream_needs_an_appender_in_its_process(protocol: str) -> None:
    found = plan(protocol=protocol, appenders=2, fetchers=5)
    check_workers(found, 2, option="--processes")
    with pytest.raises(UsageError, match=f"--processes 3: with {protocol} a fetcher follows .*; expected at most 2"):
        check_workers(found, 3, option="--processes")
    check_workers(plan(protocol=protocol, appenders=2), 3, option="--processes")
    check_workers(plan(protocol="pravega-draft", appenders=2, fetchers=5), 3, option="--processes")


def test_events_that_are_not_verified_may_be_small() -> None:
    assert plan(event_size="1", is_verified=False).event_size == "1"


def test_conditional_appends_have_a_segment_for_each_writer() -> None:
    assert plan(is_conditional=True).segments == 64


@needs_protocol("offramp")
def test_what_is_not_said_hangs_on_the_protocol() -> None:
    written = plan(appenders=None, batch=None, fetchers=2)
    assert (written.appenders, written.fetchers, written.users, written.batch) == (64, 2, 66, 1)
    assert written.feed_per_s == 0
    read = plan(**OFFRAMP | {"batch": None, "rate": "2k", "road": "one"})
    assert (read.appenders, read.users, read.batch, read.road) == (0, 8, 1_000, "one")
    assert (read.rate_per_s, read.feed_per_s) == (None, 2_000)
    assert plan(**OFFRAMP).feed_per_s == 1_000


def test_a_backlog_is_read_behind_the_time_that_is_asked_for() -> None:
    short, long = (plan(has_backlog=True, fetchers=1, duration=duration) for duration in ("1.5", "2m"))
    assert (short.drain_s, short.end_s, short.whole_s) == (60, 62, 63.5)
    assert (long.drain_s, long.end_s, long.whole_s) == (120, 240, 242)
    assert (plan().drain_s, plan(duration="1.5").end_s, plan().whole_s) == (0, 1.5, 12)
