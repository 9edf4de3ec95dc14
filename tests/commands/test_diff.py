"""`wiretool diff` as users run it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.captures import pcap_bytes
from tests.helpers.servers import wiretool
from tests.replay.talks import Says, alive, appending, packets, reading, setting_up, talk

CAPTURES = Path(__file__).parent.parent.parent / "captures"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Captures: a, one like it, one with two differences, and one of other people's."""

    def write(name: str, *talks: Says) -> None:
        (tmp_path / f"{name}.pcap").write_bytes(pcap_bytes(packets(*talks)))

    write("a", talk(setting_up(), appending(), reading(), alive()))
    write("like_a", talk(setting_up(), appending(), reading(data=b"else"), alive()))
    write("b", talk(setting_up(), appending(), reading(data=b"other", end_of_segment=True)))
    write("strangers", [("client", b"GET / HTTP/1.0\r\n\r\n"), ("server", b"HTTP/1.0 200 OK\r\n\r\n")])
    return tmp_path


def diff(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; names of captures are those of the folder."""
    paths = [str(folder / word) if (folder / word).exists() else word for word in arguments]
    ended = wiretool("diff", *paths)
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout, ended.stderr


def objects(folder: Path, *arguments: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in diff(folder, *arguments, "--format", "ndjson")[1].splitlines()]


def differing(folder: Path, *arguments: str) -> list[str]:
    """The fields that differ."""
    found: list[str] = []
    *rows, summary = objects(folder, *arguments)
    assert summary["verdict"] == "summary"
    for each in rows:
        differences = each["differences"]
        assert isinstance(differences, list)
        is_finding = each["verdict"] in ("different", "missing", "extra")
        assert is_finding == any("verdict" not in difference for difference in differences)
        named = (each for each in differences if "verdict" not in each)
        found += [f"{difference['message']}.{difference['path']}" for difference in named]
    return found


def test_captures_that_say_the_same_are_the_same(folder: Path) -> None:
    code, out, err = diff(folder, "a.pcap", "a.pcap")
    assert (code, err) == (0, "")
    assert out.startswith("5 exchanges on 1 connection: no finding\n")


@pytest.mark.parametrize("content", [b"", pcap_bytes([])])
def test_nothing_is_told_once(folder: Path, content: bytes) -> None:
    (folder / "empty.pcap").write_bytes(content)
    empty = str(folder / "empty.pcap")
    line = f"wiretool: {empty}: nothing was read: no packets; expected captures with packets\n"
    for command in (["diff", empty, empty], ["diff", empty, str(folder / "a.pcap")], ["replay", empty]):
        ended = wiretool(*command)
        assert (ended.returncode, ended.stderr) == (1, line)


def test_what_differs_is_told_and_the_exit_code_is_1(folder: Path) -> None:
    code, out, _ = diff(folder, "a.pcap", "b.pcap")
    assert code == 1
    assert "  SegmentRead.end_of_segment  A  false\n                              B  true\n" in out
    assert f"A is {folder}/a.pcap, B is {folder}/b.pcap\n" in out
    assert differing(folder, "a.pcap", "b.pcap") == ["SegmentRead.end_of_segment", "SegmentRead.data"]


def test_what_is_ignored_is_no_difference(folder: Path) -> None:
    ignored = ("--ignore", "SegmentRead.data")
    assert differing(folder, "a.pcap", "b.pcap", *ignored) == ["SegmentRead.end_of_segment"]
    assert diff(folder, "a.pcap", "b.pcap", *ignored, "--ignore", "SegmentRead")[0] == 0


def test_what_another_capture_shows_to_vary_is_noise(folder: Path) -> None:
    noise = ("--noise", "like_a.pcap")
    assert differing(folder, "a.pcap", "b.pcap", *noise) == ["SegmentRead.end_of_segment"]
    assert diff(folder, "a.pcap", "like_a.pcap", *noise)[0] == 0


def test_differences_may_be_expected(folder: Path) -> None:
    text = '[[accept]]\nmessage = "SegmentRead"\nfield = "end_of_segment"\nreason = "it has not seen the end"\n'
    (folder / "expect.toml").write_text(text)
    arguments = ("a.pcap", "b.pcap", "--expect", "expect.toml", "--ignore", "SegmentRead.data")
    code, out, _ = diff(folder, *arguments)
    assert code == 0
    assert "it has not seen the end" in out
    assert "matches nothing" in diff(folder, "a.pcap", "a.pcap", "--expect", "expect.toml")[1]


def test_the_whole_as_one_object(folder: Path) -> None:
    target = folder / "report.json"
    code, out, _ = diff(folder, "a.pcap", "b.pcap", "--format", "json", "-o", str(target))
    assert (code, out) == (1, "")
    report = json.loads(target.read_text())
    assert report["counts"] == {"same": 3, "explained": 1, "different": 1}
    assert len(report["outcomes"]) == 5


@pytest.mark.parametrize("order", [("a.pcap", "strangers.pcap"), ("strangers.pcap", "a.pcap")])
def test_nothing_of_ours_in_one_of_them_is_exit_3(folder: Path, order: Sequence[str]) -> None:
    code, out, err = diff(folder, *order)
    assert (code, out) == (3, "")
    assert "strangers.pcap" in err
    assert "no traffic of a known protocol: 1 TCP connection of other protocols" in err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("a.pcap",), "missing argument 'B'"),
        (("a.pcap", "nowhere.pcap"), "no such file"),
        (("a.pcap", "b.pcap", "--ignore", "SegmentRead.at_tial"), "did you mean at_tail?"),
        (("a.pcap", "b.pcap", "--ignore", "SegmentReed"), "did you mean SegmentRead?"),
        (("a.pcap", "b.pcap", "--ignore", ".x"), "expected MESSAGE.FIELD"),
        (("a.pcap", "b.pcap", "--noise", "nowhere.pcap"), "no such file"),
        (("a.pcap", "b.pcap", "--expect", "nowhere.toml"), "nowhere.toml: no such file"),
        (("a.pcap", "b.pcap", "--protocol", "smtp"), "smtp"),
        (("a.pcap", "b.pcap", "-o", "a.pcap", "--format", "text"), "is an input; expected another output"),
        (("-", "-"), "stdin can be read only once"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, arguments: Sequence[str], why: str) -> None:
    code, out, err = diff(folder, *arguments)
    assert (code, out) == (2, "")
    assert why in err
    assert err.count("\n") == 1


def test_one_field_that_a_fault_changed_is_the_one_difference(tmp_path: Path) -> None:
    """A mock is recorded twice, as it is and with a fault."""
    fault = 'message == "DataAppended" and fields.event_number == 500: set current_segment_write_offset=77'
    for name, more in (("plain", []), ("again", []), ("faulty", ["--fault", fault])):
        path = str(tmp_path / f"{name}.pcapng")
        wiretool("replay", str(CAPTURES / "pravega/write.pcap"), "--speed", "max", "--record", path, *more)
    assert diff(tmp_path, "plain.pcapng", "again.pcapng")[0] == 0
    *rows, _ = objects(tmp_path, "plain.pcapng", "faulty.pcapng")
    assert [each["differences"] for each in rows if each["verdict"] == "different"] == [
        [{"message": "DataAppended", "path": "current_segment_write_offset", "recorded": 9500, "live": 77}]
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("pravega/txn.pcap", "pravega/read.pcap", "pravega/py_inflight.pcap.gz"),
        *("offramp/plain.pcap", "sbp/rs_fetch.pcap", "sbp-0.1/s1_streams.pcap", "pravega-draft/blocks.pcap"),
    ],
)
def test_a_recording_says_the_same_as_its_replay(tmp_path: Path, name: str) -> None:
    """What was said to prepare the server, and to learn what it has done, is not in what a replay records."""
    capture, again = str(CAPTURES / name), str(tmp_path / "again.pcapng")
    assert wiretool("replay", capture, "--speed", "max", "--record", again).returncode == 0
    code, out, _ = diff(tmp_path, capture, again)
    assert (code, " no finding\n" in out, "only in B" in out) == (0, True, False), out


def test_what_a_replay_recorded_can_be_replayed(tmp_path: Path) -> None:
    again = str(tmp_path / "again.pcapng")
    wiretool("replay", str(CAPTURES / "pravega/txn.pcap"), "--speed", "max", "--record", again)
    ended = wiretool("replay", again, "--speed", "max")
    assert ended.returncode == 0, ended.stdout


def test_half_a_capture_has_as_many_connections_in_either_order(tmp_path: Path) -> None:
    whole = CAPTURES / "pravega/write.pcap"
    (tmp_path / "half.pcap").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    for order, counted in (
        ([str(whole), "half.pcap"], "1,006 exchanges"),
        (["half.pcap", str(whole)], "501 exchanges and 0 of 505 further differences"),
    ):
        code, out, _ = diff(tmp_path, *order)
        head = f"500 of {counted} on 2 connections judged, 506 could not be: too few judged (--min-judged 50%)"
        assert (code, out.splitlines()[0]) == (3, head)
