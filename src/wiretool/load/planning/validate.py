"""A plan from what was written on a command line; UsageError for what makes no sense, before there is any load."""

from dataclasses import dataclass

import msgspec

from wiretool import limits
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.errors import UsageError
from wiretool.load.part import LoadPart, describe_owners, load_part, loadable
from wiretool.load.planning.plan import Plan
from wiretool.load.planning.schedule import duration_from, rate_from
from wiretool.load.planning.sizes import sizes_from
from wiretool.load.requests import request_from
from wiretool.units import SHARE

#: Defaults: appenders, the size of an event, messages that a mock of ours puts on a road each second.
APPENDERS, EVENT_SIZE, FEED_PER_S = 64, "100", 1_000.0
#: What stands before each event, at most.
HEAD_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The options of a load, as they were written; None for what was not said."""

    protocol: str | None = None
    appenders: int | None = None
    fetchers: int | None = None
    duration: str = "10s"
    warmup: str = "2s"
    ramp: str = "0s"
    #: Empty for as fast as it goes.
    rate: str | None = None
    event_size: str | None = None
    batch: int | None = None
    pipeline: int | None = None
    segments: int | None = None
    is_conditional: bool | None = None
    has_backlog: bool = False
    #: The share of failed exchanges in a valid run, at most.
    max_errors: str = "1%"
    road: str = ""
    #: A request as a line of `wiretool encode`.
    message: str = ""
    seed: int = 0
    #: How many of the slowest exchanges are kept.
    keep_slow: int = 0


def plan_from(load: Load, *, is_verified: bool, run: str) -> Plan:
    """The plan of such a load, its server still to be named."""
    protocol = protocol_of(load)
    part = load_part(protocol)
    _check_protocol(load, protocol, part)
    is_read = part.is_read_only
    plan = Plan(
        protocol=protocol,
        appenders=(0 if is_read else APPENDERS) if load.appenders is None else load.appenders,
        fetchers=load.fetchers or 0,
        duration_s=duration_from(load.duration, option="--duration"),
        warmup_s=duration_from(load.warmup, option="--warmup", may_be_zero=True),
        ramp_s=duration_from(load.ramp, option="--ramp", may_be_zero=True),
        rate_per_s=None if is_read else _rate(load),
        event_size=EVENT_SIZE if load.event_size is None else load.event_size,
        batch=part.batch if load.batch is None else load.batch,
        pipeline=1 if load.pipeline is None else load.pipeline,
        segments=1 if load.segments is None else load.segments,
        is_conditional=bool(load.is_conditional),
        has_backlog=load.has_backlog,
        road=load.road,
        message=load.message,
        feed_per_s=(_rate(load) or FEED_PER_S) if is_read else 0.0,
        is_verified=is_verified and not part.has_message,
        max_errors=SHARE.parse(load.max_errors, "--max-errors", most=1.0),
        seed=load.seed,
        keep_slow=load.keep_slow,
        run=run,
    )
    if plan.is_conditional:
        plan = _conditional(plan, part)
    _check_appends(plan)
    _check_users(plan)
    _check_kept(plan)
    _check_backlog(plan, part)
    _check_time(plan)
    return plan


def protocol_of(load: Load) -> str:
    """Return the protocol of a load: the first that can be loaded where none is named."""
    return loadable()[0] if load.protocol is None else load.protocol


def _check_protocol(load: Load, name: str, part: LoadPart) -> None:
    """UsageError for what the protocol does not have."""
    if part.has_message:
        _check_exchanges(load, name)
    elif load.message:
        raise UsageError(f"--message: not allowed with {name}, which has appends or messages of its own")
    if part.is_read_only:
        _check_reading(load, name)
    elif load.road:
        owners = describe_owners("roads", lambda other: other.is_read_only)
        raise UsageError(f"--road {load.road}: {owners}, --protocol is {name}")
    elif not part.has_shared_segments and load.segments not in (None, 1):
        raise UsageError(f"--segments {load.segments}: with {name} each appender has a stream of its own")


def _check_reading(load: Load, name: str) -> None:
    """UsageError for what makes no sense where clients only read."""
    if load.appenders is not None:
        raise UsageError(f"--appenders {load.appenders}: clients of {name} only read; give --fetchers")
    if not load.fetchers:
        raise UsageError(f"--protocol {name}: its clients only read; give --fetchers N for how many")
    if load.segments not in (None, 1):
        raise UsageError(f"--segments {load.segments}: {name} has roads, of which one is read (--road)")


def _check_exchanges(load: Load, name: str) -> None:
    """UsageError for what makes no sense where one request is sent again and again, or where there is none."""
    if not load.message:
        parts = ", ".join(loadable())
        raise UsageError(
            f"--protocol {name}: the protocol has no load part; expected --message JSON, or one of {parts}"
        )
    refused = {
        "--fetchers": load.fetchers,
        "--event-size": load.event_size,
        "--batch": load.batch,
        "--segments": load.segments,
        "--conditional": load.is_conditional,
        "--backlog": load.has_backlog,
    }
    for option, value in refused.items():
        if value:
            raise UsageError(f"{option}: not allowed with --message, whose request is sent as it is")
    request_from(name, load.message)


def _conditional(plan: Plan, part: LoadPart) -> Plan:
    """The plan with a segment for each appender. UsageError for what makes no sense of conditional appends."""
    if not part.has_conditional_appends:
        owners = describe_owners("conditional appends", lambda other: other.has_conditional_appends)
        raise UsageError(f"--conditional: {owners}, --protocol is {plan.protocol}")
    for option, number in (("--batch", plan.batch), ("--pipeline", plan.pipeline)):
        if number != 1:
            raise UsageError(f"{option} {number}: a conditional append has one event, and waits for the one before")
    if not sizes_from(plan.event_size, option="--event-size", smallest=1).is_fixed:
        raise UsageError(f"--event-size {plan.event_size}: with --conditional all events are of one size")
    if plan.segments not in (1, plan.appenders):
        raise UsageError(f"--segments {plan.segments}: with --conditional each appender has a segment of its own")
    return msgspec.structs.replace(plan, segments=plan.appenders)


def _rate(load: Load) -> float | None:
    rate = rate_from(load.rate, option="--rate") if load.rate else None
    if rate is not None and rate > limits.BENCH_RATE_MAX:
        raise UsageError(f"--rate {load.rate}: {limits.BENCH_RATE_MAX:,.0f} a second is the most")
    return rate


def _check_appends(plan: Plan) -> None:
    """UsageError where events or appends are larger than any server takes, or smaller than what is needed."""
    smallest = MARK_BYTES if plan.is_verified else 1
    largest = sizes_from(plan.event_size, option="--event-size", smallest=smallest).max
    if plan.batch * (largest + HEAD_BYTES) > limits.BENCH_APPEND_BYTES_MAX:
        raise UsageError(
            f"--batch {plan.batch} of events of up to {largest:,} bytes comes to more than "
            f"{limits.BENCH_APPEND_BYTES_MAX:,} bytes an append: make one of the two smaller"
        )


def _check_kept(plan: Plan) -> None:
    """UsageError where what is on the way is too much to be held until it is answered."""
    if not plan.keep_slow or not plan.appenders:
        return
    largest = sizes_from(plan.event_size, option="--event-size", smallest=1).max
    held = plan.appenders * plan.pipeline * plan.batch * (largest + HEAD_BYTES)
    if held > limits.BENCH_ON_THE_WAY_BYTES_MAX:
        raise UsageError(
            f"--keep-slow: {plan.appenders:,} appenders with {plan.pipeline:,} appends of up to "
            f"{plan.batch * largest:,} bytes on the way are {held:,} bytes to hold until they are answered; "
            f"{limits.BENCH_ON_THE_WAY_BYTES_MAX:,} are the most: make --pipeline, --batch or --event-size smaller"
        )


def _check_users(plan: Plan) -> None:
    """UsageError for users who have nothing to do, or are too many."""
    if plan.appenders and plan.segments > plan.appenders:
        raise UsageError(
            f"--segments {plan.segments}: only {plan.appenders} appenders write; expected at most one per appender"
        )
    if plan.appenders + plan.fetchers > limits.BENCH_USERS_MAX:
        most = f"{limits.BENCH_USERS_MAX:,} users are the most"
        raise UsageError(f"--appenders {plan.appenders} and --fetchers {plan.fetchers}: {most}")


def _check_backlog(plan: Plan, part: LoadPart) -> None:
    """UsageError where nobody builds one up, or not all of it would be read."""
    if not plan.has_backlog:
        return
    if part.is_read_only:
        raise UsageError(f"--backlog: roads of {plan.protocol} fill by themselves; omit it")
    if not plan.fetchers:
        raise UsageError("--backlog: no fetchers; expected --fetchers M")
    places = plan.segments if part.has_shared_segments else plan.appenders
    if plan.fetchers < places:
        raise UsageError(
            f"--backlog: --fetchers {plan.fetchers} cannot read all {places} segments; "
            f"expected --fetchers {places} or more"
        )


def check_workers(plan: Plan, workers: int, *, option: str) -> None:
    """UsageError where so many load processes, as `option` says, have fetchers with nobody to follow among them."""
    follows = plan.fetchers and not load_part(plan.protocol).has_shared_segments
    if follows and plan.appenders < workers:
        why = f"with {plan.protocol} a fetcher follows an appender of its own load process"
        raise UsageError(f"{option} {workers}: {why}; expected at most {plan.appenders}, or more --appenders")


def _check_time(plan: Plan) -> None:
    """UsageError for a run that would go on for longer than anybody waits."""
    if plan.whole_s > limits.BENCH_S_MAX:
        parts = "ramp, warm-up and the reading of the backlog" if plan.has_backlog else "ramp and warm-up"
        most = f"{limits.BENCH_S_MAX:,.0f} s is the most, {parts} included"
        raise UsageError(f"--duration {plan.duration_s:g}: a run of {plan.whole_s:,.0f} s; {most}")
