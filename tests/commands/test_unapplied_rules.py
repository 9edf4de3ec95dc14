"""A fault rule that never applied is reported at the end by every command that takes rules."""

from pathlib import Path

import pytest

from tests.helpers.servers import started, wiretool

CAPTURES = Path(__file__).parents[2] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
NEVER = 'message == "SegmentTruncated": drop'
APPLIED = 'message == "Hello": delay 1ms'
REPORT = f"wiretool: rule 2 never applied: {NEVER}"
RULES = ("--fault", APPLIED, "--fault", NEVER)
ANY = "127.0.0.1:0"


def reports(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if "never applied" in line]


def test_replay_reports_it() -> None:
    ended = wiretool("replay", str(WRITE), "--speed", "max", *RULES)
    assert reports(ended.stderr) == [REPORT]


def test_the_preparation_of_a_mock_is_no_match_of_a_rule() -> None:
    """The bytes that are read are appended by replay beforehand."""
    rule = 'message == "DataAppended": drop'
    reads = ("--where", 'message == "ReadSegment"')
    ended = wiretool("replay", str(CAPTURES / "pravega" / "read.pcap"), "--speed", "max", *reads, "--fault", rule)
    assert reports(ended.stderr) == [f"wiretool: rule 1 never applied: {rule}"]
    assert ended.returncode == 0


@pytest.mark.parametrize(("nth", "record"), [(1, 23), (2, 25)])
def test_matches_of_a_rule_are_counted_among_what_is_replayed(nth: int, record: int) -> None:
    """The preparation of an SBP server fetches too, to see that its ranges are as recorded."""
    rule = f'side == "server" and message == "FETCH" nth={nth}: drop'
    ended = wiretool("replay", str(CAPTURES / "sbp" / "rs_fetch.pcap"), "--speed", "max", "--fault", rule)
    assert ended.returncode == 1
    assert "missing   1 " in ended.stdout
    assert f"record {record}," in ended.stdout


def test_a_rule_that_applied_in_one_of_two_runs_is_not_reported() -> None:
    ended = wiretool(
        "replay", str(WRITE), "--speed", "max", "--learn-noise", "--fault", 'message == "Hello": delay 1ms'
    )
    assert reports(ended.stderr) == []


def test_bench_reports_it() -> None:
    ended = wiretool("bench", "--appenders", "1", "--rate", "50", "--duration", "1", "--warmup", "0", *RULES)
    assert reports(ended.stderr) == [REPORT]


def test_serve_and_tap_report_it(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "pravega", "--listen", ANY, "--controller", ANY, *RULES) as server:
        host, port = server.doors["store"]
        upstream = ("--upstream", f"{host}:{port}")
        with started(tmp_path, "tap", "pravega", "--listen", ANY, *upstream, *RULES, name="tap") as tap:
            address = ":".join(map(str, tap.doors["pravega"]))
            ended = wiretool("replay", str(WRITE), "--target", address, "--where", 'protocol == "pravega"', "--prepare")
            assert ended.returncode in (0, 1), ended.stderr
            assert tap.stop() == 0
        assert server.stop() == 0
    assert reports(tap.stderr) == reports(server.stderr) == [REPORT]


def test_a_rule_that_could_not_act_says_why(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "pravega", "--listen", ANY, "--controller", ANY, "--fault", NEVER) as server:
        assert server.stop() == 0
    assert reports(server.stderr) == [f"wiretool: rule 1 never applied: {NEVER}"]


@pytest.mark.parametrize("hits", [0, 3])
def test_rules_of_several_runs_are_counted_together(hits: int) -> None:
    from wiretool.faults import AppliedRules, parse_rule
    from wiretool.faults.standing import Standing
    from wiretool.filter.history import History

    rules = [parse_rule(text, protocols=["pravega"], origin="--fault") for text in (APPLIED, NEVER, APPLIED)]
    applied = AppliedRules(rules)
    standings = [Standing(number, rule, History(), 0) for number, rule in enumerate(rules, 1)]
    standings[1].failed("no such field")
    standings[2].hits = hits
    applied.note(standings[:1])
    applied.note(standings[1:])
    first = [] if hits else [f"rule 1 never applied: {rules[0].text}"]
    assert list(applied.reports()) == [*first, f"rule 2 never applied: {NEVER}; it could not act: no such field"]
