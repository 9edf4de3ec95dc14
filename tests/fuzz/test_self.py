"""The decoder under its own fuzzer: a bounded run for each protocol, and planted bugs that each oracle finds."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.helpers import PROTOCOLS, session_of
from wiretool.analysis.script import read_script
from wiretool.batches.rows import records_of
from wiretool.capture.files.reading import read_packets
from wiretool.dissect.connection import Watch
from wiretool.errors import InputError
from wiretool.fuzz.campaign import Counts, Limits
from wiretool.fuzz.decoder import oracles, readings, round_trip
from wiretool.fuzz.decoder.capture import FuzzCapture, capture_form, capture_from_form, rendered
from wiretool.fuzz.decoder.findings import DecoderFinding, write_decoder_finding
from wiretool.fuzz.decoder.inputs import CaptureMaker
from wiretool.fuzz.decoder.oracles import judge
from wiretool.fuzz.decoder.run import ConfirmedCapture, DecoderCampaign
from wiretool.fuzz.decoder.turns import Turn, TurnSession, packets_of
from wiretool.fuzz.findings.replaying import replay_finding
from wiretool.fuzz.oracles import Bucket, Suspicion
from wiretool.fuzz.sequences.sequence import Change
from wiretool.fuzz.session import all_mutations
from wiretool.protocols.pravega.session import PravegaConversation
from wiretool.records import Record

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
KEEP_ALIVE = bytes.fromhex("0000006400000000")


def run_self(protocol: str, runs: int, seed: int = 1) -> tuple[Counts, list[ConfirmedCapture]]:
    """Fuzz the decoder from the seeds of the conformance cases; return figures and findings."""
    found: list[ConfirmedCapture] = []
    maker = CaptureMaker(session_of(protocol), all_mutations(protocol), random.Random(seed))
    return DecoderCampaign(maker, Limits(runs=runs), found.append).run(), found


def hello_capture(protocol: str = "pravega") -> FuzzCapture:
    """Return a session of three messages."""
    turns = (Turn(0, "client", HELLO), Turn(0, "server", HELLO), Turn(0, "client", KEEP_ALIVE), Turn(0, "client", b""))
    session = TurnSession(turns, {0: 12345}, "made", "")
    return FuzzCapture(tuple(packets_of(session, 1460)), session.ports, protocol, 4096)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_decoder_shows_nothing(protocol: str) -> None:
    """A bounded run with a fixed seed, for each protocol."""
    counts, found = run_self(protocol, len(session_of(protocol).seeds) // 8 + 60)
    assert [each.suspicion.why for each in found] == []
    assert counts.messages > counts.runs
    assert counts.features > 20


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_mutated_captures_have_every_kind_of_record(protocol: str) -> None:
    maker = CaptureMaker(session_of(protocol), all_mutations(protocol), random.Random(4))
    captures = [maker.make() for _ in range(60)]
    kinds = {record.kind for each in captures for record in judge(each).records}
    assert kinds >= {"frame", "gap", "problem"}
    changes = {change.mutation.partition("/")[0] for each in captures for change in each.changes}
    assert changes >= {"packet", "bytes", "field"}


def test_a_seed_repeats_a_run() -> None:
    def made(seed: int) -> list[FuzzCapture]:
        maker = CaptureMaker(session_of("sbp"), all_mutations("sbp"), random.Random(seed))
        return [maker.make() for _ in range(60)]

    assert made(5) == made(5)
    assert made(5) != made(6)


# -- oracles -----------------------------------------------------------------------------------------------------------


def test_the_clean_capture_shows_nothing() -> None:
    judged = judge(hello_capture(), measures_memory=True)
    assert judged.suspicions == []
    assert [record.message for record in judged.records] == ["Hello", "Hello", "KeepAlive"]


def found_in(capture: FuzzCapture) -> set[tuple[str, str]]:
    """Return oracle and reading of all suspicions."""
    return {(each.bucket.oracle, each.bucket.phase) for each in judge(capture).suspicions}


def test_an_exception_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(watch: Any, item: Any) -> list[Record]:
        raise IndexError("planted")

    monkeypatch.setattr(Watch, "take", take)
    assert ("died", "rows") in found_in(hello_capture())
    assert "IndexError at fuzz/test_self.py" in judge(hello_capture()).suspicions[0].why


def test_a_difference_of_the_paths_is_found(monkeypatch: pytest.MonkeyPatch) -> None:

    def changed(batch: Any) -> list[Record]:
        return [
            Record(**{name: getattr(each, name) for name in Record.__struct_fields__ if name != "why"}, why="planted")
            for each in records_of(batch)
        ]

    monkeypatch.setattr(readings, "records_of", changed)
    (suspicion,) = judge(hello_capture()).suspicions
    assert suspicion.bucket[:4] == ("differs", "", "Hello", "why")
    assert suspicion.why == "record 1, Hello: why: rows give '', columns 'planted'"


def test_lost_records_of_a_path_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "records_of", lambda batch: records_of(batch)[:-1])
    assert judge(hello_capture()).suspicions[0].bucket.region in ("count", "n")


def test_lost_bytes_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both paths lose a record alike: only the ledger shows it."""
    for path in ("read_rows", "read_columns"):
        original = getattr(oracles, path)

        def lossy(*args: Any, original: Callable[..., Any] = original, **options: Any) -> Any:
            reading = original(*args, **options)
            del reading.records[-1]
            return reading

        monkeypatch.setattr(oracles, path, lossy)
    assert found_in(hello_capture()) == {("wrong-answer", "ledger")}


def test_records_that_overlap_are_found() -> None:
    records = [
        Record(1, "frame", 0, 0, "c", "s", "client", (1, 1), 0, 16, "pravega", "Hello"),
        Record(2, "frame", 0, 0, "c", "s", "client", (1, 1), 15, 8, "pravega", "KeepAlive"),
    ]
    (suspicion,) = oracles._tiling(records)
    assert suspicion.why == "record 2, KeepAlive, begins at 15; the one before it ends at 16"


def test_spans_that_leave_bytes_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    annotate = PravegaConversation.annotate
    monkeypatch.setattr(PravegaConversation, "annotate", lambda *args: annotate(*args)[:-1])
    assert found_in(hello_capture()) == {("wrong-answer", "spans")}


def test_a_value_that_encoding_changes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:

    def changed(lines: Any, **options: Any) -> Any:
        return read_script((line.replace('"high_version":17', '"high_version":18') for line in lines), **options)

    monkeypatch.setattr(round_trip, "read_script", changed)
    (suspicion,) = judge(hello_capture()).suspicions
    assert suspicion.bucket == ("wrong-answer", "round trip", "Hello", "", "other values after encoding: high_version")


def test_a_reading_that_takes_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "SLOW_S", -1.0)
    assert found_in(hello_capture()) == {("slow", "rows"), ("slow", "columns")}


def test_a_reading_that_never_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "STALL_S", 0.05)

    def take(watch: Any, item: Any) -> list[Record]:
        while True:
            pass

    monkeypatch.setattr(Watch, "take", take)
    assert {each.bucket.reply for each in judge(hello_capture()).suspicions} == {"stall"}


def test_a_reading_that_takes_much_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "PEAK_BYTES", 0)
    monkeypatch.setattr(oracles, "PEAK_PER_BYTE", 1)
    judged = judge(hello_capture(), measures_memory=True)
    assert {each.bucket.oracle for each in judged.suspicions} == {"memory"}
    assert judge(hello_capture()).suspicions == []


# -- findings ----------------------------------------------------------------------------------------------------------


def crash_on(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Let both paths raise on payload that contains a text."""
    for module, name in ((oracles, "read_rows"), (oracles, "read_columns")):
        original = getattr(module, name)

        def crashing(
            packets: Sequence[Any], *args: Any, original: Callable[..., Any] = original, **options: Any
        ) -> Any:
            reading = original(packets, *args, **options)
            if any(text in each.data for each in packets):
                reading.error = ValueError("planted")
            return reading

        monkeypatch.setattr(module, name, crashing)


def test_a_finding_is_shrunk_to_its_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    crash_on(monkeypatch, b"zq7k")
    found = run_self("pravega", 150)[1]
    assert {each.suspicion.bucket.phase for each in found} == {"rows", "columns"}
    for each in found:
        assert [packet.payload for packet in each.capture.packets] == [b"zq7k"]
        assert each.shown == 3


@pytest.fixture
def finding(tmp_path: Path) -> Path:
    """Return the folder of a finding about a capture that shows nothing any more."""
    bucket = Bucket("differs", "", "Hello", "fields", "")
    capture = hello_capture()
    snapped = capture.packets[3]._replace(cut=4, step_ns=-7)
    change = Change("packet/snap", "packet 4")
    capture = capture.changed((*capture.packets[:3], snapped, *capture.packets[4:]), change)
    confirmed = ConfirmedCapture(Suspicion(bucket, "planted `x`\n", 0), capture, 2)
    return write_decoder_finding(DecoderFinding(1, "pravega", 0, confirmed), tmp_path)


def test_a_finding_has_its_packets(finding: Path) -> None:
    assert finding.name == "001-differs-hello"
    form = json.loads((finding / "finding.json").read_text())
    assert form["flaky"] is True
    capture = capture_from_form(form["capture"], name="x")
    assert capture_form(capture) == form["capture"]
    recorded = list(read_packets([finding / "repro.pcapng"]))
    assert recorded == rendered(capture)
    page = (finding / "README.md").read_text()
    assert "4. connection 0, client: data, sequence number 1, 16 bytes `ffffff81" in page
    assert f"wiretool fuzz pravega --replay {finding}" in page


def test_a_finding_that_is_fixed(finding: Path) -> None:
    assert replay_finding(finding).text == "3 readings of the packets show nothing"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(finding / "test_repro.py")], capture_output=True, timeout=60
    )
    assert run.returncode == 0, run.stdout


def test_a_finding_that_still_fails(finding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "records_of", lambda batch: [_with_side(each) for each in records_of(batch)])
    replayed = replay_finding(finding)
    assert replayed.standing == "other"
    assert replayed.text.startswith("differs instead of differs: record 1")


def _with_side(record: Record) -> Record:
    fields = {name: getattr(record, name) for name in Record.__struct_fields__}
    return Record(**{**fields, "why": "planted"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("packets", 3),
        ("packets", [{}]),
        ("packets", [{"connection": 0, "side": "both", "flags": 0, "seq": 0, "payload": ""}]),
        ("packets", [{"connection": 0, "side": "client", "flags": 0, "seq": 0, "payload": "00", "cut": 2}]),
        ("packets", [{"connection": 7, "side": "client", "flags": 0, "seq": 0, "payload": "00"}]),
        ("ports", []),
        ("ports", {"0": 10**9}),
        ("isn", [1]),
    ],
)
def test_a_damaged_finding_is_refused(name: str, value: object) -> None:
    form = {**capture_form(hello_capture()), name: value}
    with pytest.raises(InputError, match="x: not a list of packets"):
        capture_from_form(form, name="x")


# -- the command -------------------------------------------------------------------------------------------------------


def wiretool_fuzz(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "wiretool", "fuzz", *map(str, words)], capture_output=True, text=True, timeout=120
    )


def test_the_command_reports_figures(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    run = wiretool_fuzz("pravega-draft", "--self", "--runs", "60", "--json", report, "-o", tmp_path / "found")
    assert run.returncode == 0, run.stderr
    assert "pravega-draft, wiretool's decoder: 60 captures" in " ".join(run.stdout.split())
    form = json.loads(report.read_text())
    assert (form["runs"], form["findings"], form["target"]) == (60, [], "wiretool's decoder")
    assert not (tmp_path / "found").exists()


def test_the_command_replays_a_finding(finding: Path) -> None:
    run = wiretool_fuzz("pravega", "--replay", finding)
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("fixed: 3 readings of the packets show nothing\n")


@pytest.mark.parametrize("words", [("--sockets",), ("--target", "127.0.0.1:1"), ("--client",), ("--mutant", "x")])
def test_another_target_is_refused(words: tuple[str, ...]) -> None:
    run = wiretool_fuzz("pravega", "--self", *words)
    assert run.returncode == 2
    assert f"--self and {words[0]}: the target is wiretool's own decoder; expected one of them" in run.stderr
