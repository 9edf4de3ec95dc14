"""The one grammar of durations, sizes, rates, counts and shares, and every command that takes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.servers import wiretool
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.units import COUNT, DURATION, RATE, SHARE, SIZE, SPEED, Kind


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (DURATION, "200ms", 0.2),
        (DURATION, "5", 5.0),
        (DURATION, "1.5m", 90.0),
        (DURATION, "2min", 120.0),
        (DURATION, "7µs", 7e-6),
        (DURATION, "1d", 86_400.0),
        (SIZE, "100", 100.0),
        (SIZE, "1.5k", 1_500.0),
        (SIZE, "2M", 2e6),
        (SIZE, "64KiB", 65_536.0),
        (SIZE, "1,000 kB", 1e6),
        (RATE, "10/s", 10.0),
        (RATE, "1.5k", 1_500.0),
        (RATE, "300/m", 5.0),
        (COUNT, "1_000", 1_000.0),
        (SHARE, "5%", 0.05),
        (SHARE, ".05", 0.05),
        (SPEED, "10x", 10.0),
        (SPEED, "0.5", 0.5),
    ],
)
def test_what_users_write_is_read(kind: Kind, text: str, value: float) -> None:
    assert kind.parse(text, "--x") == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "ms", "-1s", "1e3", "5sec", "1h30m", "nan", "inf", "٥", "1__0", "9" * 41])
@pytest.mark.parametrize("kind", [DURATION, SIZE, RATE, COUNT, SHARE, SPEED], ids=lambda kind: kind.noun)
def test_all_else_is_refused_in_one_form(kind: Kind, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind.parse(text, "--x")
    assert str(caught.value) == f"--x {text!r}: not {kind.noun}; expected {kind.examples}"


def test_a_range_is_told_in_the_largest_unit() -> None:
    with pytest.raises(UsageError, match=r"^--x '8d': out of range; expected 1ms to 7d$"):
        DURATION.parse("8d", "--x", least=0.001, most=604_800)
    with pytest.raises(UsageError, match=r"^--x '0': out of range; expected 64KiB or more$"):
        SIZE.parse("0", "--x", least=65_536)
    with pytest.raises(UsageError, match=r"^--x '200%': out of range; expected 0% to 100%$"):
        SHARE.parse("200%", "--x", most=1.0)
    with pytest.raises(UsageError, match=r"^--x '2': out of range; expected 0 to 1$"):
        SHARE.parse("2", "--x", most=1.0)
    with pytest.raises(UsageError, match=r"^--x '5': not a duration; expected "):
        DURATION.parse("5", "--x", needs_unit=True)


@given(st.text(max_size=30))
def test_any_text_is_a_value_or_one_error(text: str) -> None:
    for kind in (DURATION, SIZE, RATE, COUNT, SHARE):
        try:
            value, told = kind.parse(text, "--x"), ""
        except UsageError as err:
            value, told = 0.0, str(err)
        assert value >= 0
        assert not told or told.startswith(f"--x {text!r}: not ")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["bench", "--duration"], "--duration"),
        (["bench", "--warmup"], "--warmup"),
        (["bench", "--ramp"], "--ramp"),
        (["serve", "pravega", "--duration"], "--duration"),
        (["tap", "pravega", "--upstream", "127.0.0.1:1", "--duration"], "--duration"),
        (["decode", "--live", "lo", "--duration"], "--duration"),
        (["replay", "x.pcap", "--timeout"], "--timeout"),
        (["replay", "x.pcap", "--from"], "--from"),
        (["replay", "x.pcap", "--to"], "--to"),
        (["control", "127.0.0.1:1", "wait", "1", "--timeout"], "--timeout"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else each,
)
def test_every_option_refuses_a_duration_alike(words: list[str], option: str) -> None:
    ended = wiretool(*words, "5 parsecs")
    assert ended.returncode == 2
    assert ended.stderr == (
        f"wiretool: {option} '5 parsecs': not a duration; "
        "expected a number with ns, us, ms, s, m (or min), h or d, such as 200ms or 5s\n"
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["serve", "offramp", "--rate", "fast"], "--rate 'fast': not a rate; expected a number per second"),
        (["serve", "offramp", "--rate", "2M"], "--rate '2M': out of range; expected 0 to 1M"),
        (["replay", "x.pcap", "--speed", "0"], "--speed '0': out of range; expected "),
        (["replay", "x.pcap", "--speed", "fast"], "--speed 'fast': not a speed; expected a factor"),
    ],
)
def test_rates_and_speeds_are_refused_alike(words: list[str], why: str) -> None:
    ended = wiretool(*words)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"wiretool: {why}")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("pravga", " (did you mean pravega?)"), ("spb", " (did you mean sbp?)"), ("kafka", ""), ("quite other", "")],
)
def test_only_a_close_name_is_suggested(name: str, suggestion: str) -> None:
    ended = wiretool("serve", name)
    assert ended.returncode == 2
    assert ended.stderr == f"wiretool: no protocol is called {name!r}{suggestion}; there are {', '.join(PROTOCOLS)}\n"
