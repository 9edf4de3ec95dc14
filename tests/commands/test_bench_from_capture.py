"""`wiretool bench --from-capture` as a user runs it; whether a run is VALID hangs on what else this machine does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.forked import run_text
from tests.helpers.servers import started, wiretool
from tests.helpers.tls import talk_tls
from tests.load.recordings import Known, record, record_all
from wiretool.batches.rows import batch_of
from wiretool.commands.bench.fitting import recorded
from wiretool.commands.bench.options import BenchOptions, Spread
from wiretool.dissect.dissector import read
from wiretool.load.planning.fitting import fitted
from wiretool.load.planning.recorded import Recorded
from wiretool.load.planning.validate import Load

CAPTURES = Path(__file__).parents[2] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
SHORT = ("--duration", "0.5", "--warmup", "0")
ANY = "127.0.0.1:0"


def test_a_load_is_as_in_the_recording_but_for_what_is_said(tmp_path: Path) -> None:
    path = record(tmp_path / "x.pcap", Known(users=3, batch=2, pipeline=2, sizes=(30, 60)))
    report = tmp_path / "report.json"
    ended = wiretool("bench", "--from-capture", str(path), *SHORT, "--rate", "200", "--json", str(report))
    words = "--protocol pravega --appenders 3 --rate 200 --event-size 30@1,60@1 --batch 2 --pipeline 2 --segments 1"
    told = f"wiretool: --from-capture {path}: 24 appends of pravega in 0.023 s, as: wiretool bench {words}\n"
    assert ended.stderr.startswith(told)
    found = json.loads(report.read_text())
    options = found["options"]
    assert (options["from_capture"], options["fitted"]) == (str(path), words)
    names = ("protocol", "appenders", "fetchers", "rate_per_s", "event_size", "batch", "pipeline", "segments")
    assert [options[name] for name in names] == ["pravega", 3, 0, 200, "30@1,60@1", 2, 2, 1]
    assert found["verification"]["found"] == 0
    append = found["operations"]["append"]
    assert append["count"] > 0
    assert append["events_per_s"] == pytest.approx(2 * append["count"] / found["duration_s"])


def test_a_load_that_was_recorded_is_fitted_to_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "recorded.pcapng"
    serve = ("serve", "pravega", "--listen", ANY, "--controller", ANY, "--record", str(path))
    load = ("--appenders", "3", "--pipeline", "2", "--batch", "3", "--event-size", "150", "--segments", "2")
    with started(tmp_path, *serve) as server:
        host, port = server.doors["store"]
        wiretool("bench", "--target", f"{host}:{port}", *load, *SHORT)
        server.stop()
    seen = Recorded()
    seen.add(batch_of(list(read(path))))
    found = fitted(Load(rate=""), seen, name=str(path), is_verified=True, has_target=False)
    expected = "--protocol pravega --appenders 3 --rate '' --event-size 150 --batch 3 --pipeline 2 --segments 2"
    assert (found.words, found.remarks) == (expected, [])


def test_a_recording_that_ends_early_is_taken_as_far_as_it_goes(tmp_path: Path) -> None:
    raw = record(tmp_path / "x.pcap", Known(users=1, appends=30)).read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(raw[: len(raw) // 2])
    ended = wiretool("bench", "--from-capture", str(path), *SHORT, "--target", "127.0.0.1:1")
    assert ended.returncode == 4
    assert "ends early" in ended.stderr
    assert "only the part before that is used" in ended.stderr
    assert "--protocol pravega --appenders 1 --rate 1000 --event-size 100" in ended.stderr


def test_a_damaged_recording_ends_a_run_with_its_exit_code(tmp_path: Path) -> None:
    raw = record(tmp_path / "x.pcap", Known(users=1, appends=30)).read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(raw[: len(raw) // 2])
    ended = wiretool("bench", "--from-capture", str(path), *SHORT)
    assert ended.returncode == wiretool("decode", str(path)).returncode == 3
    assert "Throughput" in ended.stdout
    assert ended.stderr.splitlines()[-1] == wiretool("decode", str(path)).stderr.splitlines()[-1]


#: Files that are no captures, or hold nothing.
BAD = {
    "empty": b"",
    "garbage": bytes(range(1, 200)),
    "half a header": WRITE.read_bytes()[:20],
    "a header alone": WRITE.read_bytes()[:24],
    "half a packet": WRITE.read_bytes()[:60],
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_capture_is_told_as_by_decode(bad: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.pcap"
    path.write_bytes(BAD[bad])
    ended, decoded = wiretool("bench", "--from-capture", str(path), *SHORT), wiretool("decode", str(path))
    assert (ended.returncode, ended.stderr, ended.stdout) == (decoded.returncode, decoded.stderr, "")


#: Runs wiretool where the system refuses a file; root would be let in.
REFUSED = "import os; from wiretool.__main__ import main; os.access = lambda *_: False; main()"


@pytest.mark.parametrize("command", [["decode"], ["replay"], ["bench", "--from-capture"]], ids=lambda words: words[0])
def test_a_capture_without_permission_is_told_alike(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "secret.pcap"
    path.write_bytes(WRITE.read_bytes())
    path.chmod(0)
    ended = subprocess.run(
        [sys.executable, "-c", REFUSED, *command, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr == f"wiretool: {path}: permission denied\n"


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["nowhere.pcap"], 2, "nowhere.pcap: no such file"),
        ([""], 2, "invalid value for '--from-capture': the name is empty"),
        (["."], 2, ".: a folder; expected a file"),
        ([str(Path(__file__))], 3, "neither pcap nor pcapng"),
        ([str(CAPTURES / "pravega" / "mgmt.pcap")], 3, "no appends of a supported protocol (pravega, "),
        ([str(WRITE), "--protocol", "sbp"], 3, "no append of sbp is in it, only 1,000 appends of pravega"),
        ([str(WRITE), "--protocol", "sdp"], 2, "no protocol is called 'sdp' (did you mean sbp?)"),
        ([str(WRITE), "--appenders", "2", "--segments", "3"], 2, "--segments 3: only 2 appenders write"),
        ([str(WRITE), "--json", str(WRITE)], 2, "is an input; expected another output"),
        (
            [str(CAPTURES / "offramp" / "plain.pcap"), "--target", "127.0.0.1:1"],
            2,
            "--target: missing road; expected --road NAME",
        ),
    ],
)
def test_what_makes_no_sense_is_said_before_there_is_any_load(words: list[str], code: int, why: str) -> None:
    ended = wiretool("bench", "--from-capture", *words)
    assert ended.returncode == code
    assert why in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not ended.stdout


def test_of_several_protocols_one_has_to_be_picked(tmp_path: Path) -> None:
    path = record_all(tmp_path / "x.pcap", Known(users=1), Known("sbp", users=1))
    ended = wiretool("bench", "--from-capture", str(path))
    assert ended.returncode == 2
    assert "8 appends of pravega and 8 appends of sbp are in it; pick one with --protocol" in ended.stderr


def options_for(capture: Path, keylog: Path | None) -> BenchOptions:
    return BenchOptions(Load(rate=""), "", (), None, (), None, Spread(), "", from_capture=capture, keylog=keylog)


def test_a_recording_of_tls_is_taken_with_its_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = [record for record in read(WRITE) if record.kind == "frame" and record.protocol == "pravega"]
    of_one = next(each.connection for each in frames if each.message == "SetupAppend")
    clear = [(each.side, each.raw) for each in frames if each.connection == of_one]
    talk, server = talk_tls(clear), ("10.0.0.2", 12345)
    keylog, paths = tmp_path / "keys", [tmp_path / "clear.pcap", tmp_path / "tls.pcap"]
    keylog.write_bytes(talk.keylog)
    for path, said in zip(paths, (clear, talk.says), strict=True):
        path.write_bytes(pcap_bytes(tcp_packets(said, server=server)))
    found = [recorded(options_for(*each))[0] for each in ((paths[0], None), (paths[1], keylog))]
    words = [fitted(Load(rate=""), each, name="x", is_verified=True, has_target=False).words for each in found]
    assert words[0] == words[1]
    assert "--protocol pravega" in words[0]
    assert capsys.readouterr().err == ""
    assert not recorded(options_for(paths[1], None))[0].seen
    assert "1 of 1 TLS connection not decrypted; give the secrets with --keylog FILE" in capsys.readouterr().err


def test_secrets_without_a_recording_are_refused() -> None:
    ended = run_text("bench", "--keylog", WRITE, *SHORT)
    expected = "wiretool: --keylog: has the secrets of a capture; requires --from-capture\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", expected)
