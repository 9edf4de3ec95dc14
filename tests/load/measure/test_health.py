import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from wiretool.load.measure.health import (
    BAD_SECONDS_MIN,
    LAG_US_MAX,
    LATENESS_US_MAX,
    SCHEDSTAT,
    Health,
    Usage,
    named,
    reasons_from,
    remarks_from,
    usage_now,
)
from wiretool.load.measure.intervals import Pulse
from wiretool.load.planning.plan import Plan
from wiretool.load.result import Second
from wiretool.load.run.session import worker_name

PLAN = Plan(protocol="pravega", host="127.0.0.1", port=1, appenders=64, duration_s=10.0, run="x")
OPEN = msgspec.structs.replace(PLAN, rate_per_s=2000.0)
#: Tied to one processor: one works for half a second and prints its pulse, the other works for as long as it may.
PROBE = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
from wiretool.load.measure.health import Health
import msgspec
health = Health()
print("ready", flush=True)
sys.stdin.readline()
health.begin()
end_s = time.perf_counter() + 0.5
while time.perf_counter() < end_s:
    pass
print(msgspec.json.encode(health.pulse("one")).decode())
"""
HOG = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint('ready', flush=True)\nwhile True: pass"


def second_of(
    number: int, cpu: float = 0.95, waited: float = 0.02, lag_us: int = 5_000, lateness_us: int = 4_000
) -> Second:
    return Second(
        second=number,
        operations={},
        generator_cpu={"one": cpu},
        generator_waited={"one": waited},
        lag_us=lag_us,
        lateness_us=lateness_us,
    )


def seconds_of(cpu: float, waited: float, *, lag_us: int = 5_000, lateness_us: int = 4_000) -> list[Second]:
    return [second_of(number, cpu, waited, lag_us, lateness_us) for number in range(10)]


def test_load_processes_of_this_machine_are_named_once() -> None:
    assert named([worker_name(0)]) == "load process 0"
    assert named([worker_name(number) for number in range(4)]) == "load processes 0, 1, 2 and 1 more"


@pytest.mark.parametrize(
    ("cpu", "waited"),
    [
        # Seen with a generator and a mock on two cores: a closed loop, the worst of its seconds, and open loops.
        (0.97, 0.01),
        (0.68, 0.28),
        (0.28, 0.12),
        (0.10, 0.04),
        (0.02, 0.01),
        # A process that does next to nothing.
        (0.001, 0.001),
        (0.0, 0.0),
        # Light loads on a machine with three busy processes on each of two cores, and on one with a load average of 11.
        (0.05, 0.31),
        (0.017, 0.10),
        (0.06, 0.039),
        (0.003, 0.013),
    ],
)
def test_a_generator_with_room_is_valid(cpu: float, waited: float) -> None:
    assert reasons_from(seconds_of(cpu, waited), OPEN) == []


@pytest.mark.parametrize(
    ("cpu", "waited"),
    # Seen with a busy process on each core: a closed loop; with three on each: a closed loop, and 5,000 a second.
    [(0.45, 0.40), (0.095, 0.46), (0.14, 0.76)],
)
def test_a_starved_generator_is_not(cpu: float, waited: float) -> None:
    (reason,) = reasons_from(seconds_of(cpu, waited), PLAN)
    assert reason == (
        f"load process one waited for a processor for up to {waited * 100:.0f} % of a second, in 10 of 10 seconds "
        "(at most 35 %): stop other programs on this machine, use fewer --processes, or load from another machine"
    )


def test_one_bad_second_spoils_nothing_but_several_do() -> None:
    bad = [second_of(number, 0.3, 0.6, 400_000, 400_000) for number in range(BAD_SECONDS_MIN)]
    good = [second_of(number) for number in range(BAD_SECONDS_MIN, 10)]
    assert reasons_from(bad[1:] + good, OPEN) == []
    assert len(reasons_from(bad + good, OPEN)) == 3


def test_a_run_of_one_bad_second_is_invalid() -> None:
    assert len(reasons_from([second_of(0, 0.3, 0.6)], PLAN)) == 1
    assert reasons_from([], PLAN, "no answer in 10 s") == ["nothing was measured: no answer in 10 s"]
    assert "use a shorter --warmup" in reasons_from([], PLAN)[0]


def test_a_tenth_of_a_long_run_may_be_bad() -> None:
    plan = msgspec.structs.replace(PLAN, duration_s=60.0)
    bad = [second_of(number, 0.3, 0.6) for number in range(7)]
    good = [second_of(number) for number in range(7, 60)]
    assert reasons_from([*bad[:6], second_of(6), *good], plan) == []
    (reason,) = reasons_from(bad + good, plan)
    assert "in 7 of 60 seconds" in reason


def test_the_warm_up_and_what_comes_behind_the_end_do_not_count() -> None:
    starved = [second_of(number, 0.1, 0.9, 10**7, 10**7) for number in (-3, -2, -1, 10, 11, 12)]
    assert reasons_from([*starved, *seconds_of(0.9, 0.01)], OPEN) == []


def test_only_the_hungry_are_named() -> None:
    seconds = [
        Second(
            second=number,
            operations={},
            generator_cpu={"one": 0.9, "two\x1b": 0.5, "three": 0.3},
            generator_waited={"one": 0.05, "two\x1b": 0.5, "three": 0.7},
        )
        for number in range(10)
    ]
    (reason,) = reasons_from(seconds, PLAN)
    assert reason.startswith("load processes three, two\\x1b waited for a processor for up to 70 % of a second")


def test_replies_that_lie_unread_are_a_reason() -> None:
    assert reasons_from(seconds_of(0.5, 0.0, lag_us=LAG_US_MAX), PLAN) == []
    (reason,) = reasons_from(seconds_of(0.5, 0.0, lag_us=LAG_US_MAX + 400), PLAN)
    assert reason.startswith("replies lay unread for as long as 100 ms in 10 of 10 seconds")


def test_arrivals_sent_late_are_a_reason_in_an_open_loop_alone() -> None:
    seconds = seconds_of(0.5, 0.0, lateness_us=LATENESS_US_MAX + 30_000)
    assert reasons_from(seconds, PLAN) == []
    (reason,) = reasons_from(seconds, OPEN)
    assert reason.startswith("the generator sent as much as 80 ms later than was due in 10 of 10 seconds")
    assert "--rate" in reason


def late_seconds(late: int, arrivals: int = 100) -> list[Second]:
    seconds = seconds_of(0.05, 0.1)
    return [msgspec.structs.replace(each, arrivals=arrivals, late_arrivals=late) for each in seconds]


def test_many_late_arrivals_are_a_reason_however_little_the_generator_waited() -> None:
    assert reasons_from(late_seconds(11), PLAN) == []
    assert reasons_from(late_seconds(10), OPEN) == []
    (reason,) = reasons_from(late_seconds(11), OPEN)
    assert reason.startswith(
        "the generator sent 11 % of 1,000 requests more than 10 ms later than was due (at most 10 %): ask for a lower"
    )


def test_some_late_arrivals_are_a_remark() -> None:
    assert remarks_from(late_seconds(0), OPEN) == []
    assert remarks_from(late_seconds(1, 101), OPEN) == []
    assert remarks_from(late_seconds(11), OPEN) == []
    assert remarks_from(late_seconds(2), OPEN) == [
        "the generator sent 2 % of 1,000 requests more than 10 ms later than was due: response times from p99 on "
        "include that delay"
    ]


def test_a_reason_has_the_greatest_figure_as_the_line_on_the_generator_has() -> None:
    seconds = [second_of(number, 0.2, 0.4 + 0.01 * number, 101_000 + number * 1000) for number in range(10)]
    reasons = reasons_from(seconds, PLAN)
    assert "up to 49 % of a second" in reasons[0]
    assert "as long as 110 ms" in reasons[1]


def test_nothing_measured_is_a_reason() -> None:
    (reason,) = reasons_from([second_of(-1)], PLAN)
    assert reason.startswith("nothing was measured")


def test_a_process_that_fell_silent_is_a_reason() -> None:
    seconds = seconds_of(0.5, 0.0)
    for second in seconds[:4]:
        second.generator_cpu["two"] = 0.5
    (reason,) = reasons_from(seconds, PLAN)
    assert reason.startswith("load process two reported only 4 of 10 seconds")


def test_a_generator_at_its_end_is_a_remark() -> None:
    assert remarks_from(seconds_of(0.89, 0.0), PLAN) == []
    (remark,) = remarks_from(seconds_of(0.98, 0.0), PLAN)
    assert remark.startswith("load process one used 98 % of a processor: the generator may be the limit")
    assert remarks_from([], PLAN) == []


def test_a_pulse_is_what_was_since_the_last() -> None:
    told = iter([Usage(1.0, 5.0, 100.0), Usage(1.5, 5.25, 101.0), Usage(1.5, 5.25, 102.5)])
    health = Health(lambda: next(told))
    health.lag(9.0)
    health.begin()
    for seconds in (0.001, 0.0305, 0.002):
        health.lag(seconds)
    assert health.pulse("one", users=3, lateness_s=0.0125) == Pulse(
        worker="one", users=3, cpu_s=0.5, waited_s=0.25, wall_s=1.0, lag_us=30_500, lateness_us=12_500
    )
    assert health.pulse("one") == Pulse(worker="one", wall_s=1.5)


@pytest.mark.parametrize("text", ["", "12", "one two three", None])
def test_where_the_system_does_not_count_the_waiting_it_is_0(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "schedstat"
    if text is not None:
        path.write_text(text)
    usage = usage_now(path)
    assert usage.waited_s == 0.0
    assert usage.cpu_s > 0


def test_the_waiting_is_the_second_figure_in_nanoseconds(tmp_path: Path) -> None:
    path = tmp_path / "schedstat"
    path.write_text("4000000000 2500000000 17\n")
    assert usage_now(path).waited_s == 2.5


def python(source: str, processor: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", source, str(processor)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(
    not SCHEDSTAT.exists() and "CI" not in os.environ, reason="this system does not count how long a process waits"
)
def test_a_busy_neighbour_on_the_same_processor_shows() -> None:
    processor = min(os.sched_getaffinity(0))
    with python(HOG, processor) as hog, python(PROBE, processor) as probe:
        try:
            assert hog.stdout is not None
            assert hog.stdout.readline() == "ready\n"
            out, _ = probe.communicate("go\n", timeout=60)
        finally:
            hog.kill()
            probe.kill()
    pulse = msgspec.json.decode(out.splitlines()[1], type=Pulse)
    assert pulse.wall_s >= 0.5
    assert pulse.cpu_s + pulse.waited_s == pytest.approx(pulse.wall_s, rel=0.1)
    (reason,) = reasons_from([second_of(0, pulse.cpu_s / pulse.wall_s, pulse.waited_s / pulse.wall_s)], PLAN)
    assert reason.startswith("load process one waited for a processor")
