"""`wiretool slice`: packets out of captures, as other programs and we ourselves read them again."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.bench.pravega_appends import make_capture
from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run
from tests.helpers.tools import run_tool
from wiretool.dissect.dissector import read
from wiretool.filter import History, Selection, names_for
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.ndjson import json_record

ROOT = Path(__file__).parent.parent.parent
WRITE = ROOT / "captures" / "pravega" / "write.pcap"
TXN = ROOT / "captures" / "pravega" / "txn.pcap"
MIXED = ROOT / "captures" / "offramp" / "mixed_noise.pcap"


def records(capture: Path, where: str) -> list[dict[str, Any]]:
    """The matching records of a capture, without what depends on the rest of it."""
    keep = Selection(names_for(PROTOCOLS.values()), History(), expression=where)
    found = [json_record(record) for record in read(capture) if keep(record)]
    beside = ("n", "connection", "packets", "offset", "reply_to", "append", "events")
    return [{name: value for name, value in record.items() if name not in beside} for record in found]


@pytest.mark.parametrize("engine", ["rows", "columns"])
@pytest.mark.parametrize(
    ("path", "where"),
    [
        (WRITE, 'message == "AppendBlockEnd" and fields.last_event_number in [7, 500, 501]'),
        (WRITE, 'message == "DataAppended" and fields.event_number > 990'),
        (WRITE, 'protocol == "pravega-controller"'),
        (MIXED, 'message == "MESSAGE"'),
        (ROOT / "captures" / "sbp" / "sdk_main.pcap", 'fields.opcode_name == "FETCH" and not fields.is_response'),
    ],
)
def test_the_matching_messages_are_in_the_slice(path: Path, where: str, engine: str, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    ended = run("slice", path, "--where", where, "-o", out, "--engine", engine)
    assert (ended.returncode, ended.stdout) == (0, b"")
    wanted = records(path, where)
    assert wanted
    assert ended.stderr.startswith(b"wiretool: %d matching record" % len(wanted))
    assert records(out, where) == wanted
    assert len(run_tool("tshark", "-r", str(out)).splitlines()) == int(
        ended.stderr.splitlines()[0].split()[-3].replace(b",", b"")
    )


def test_a_connection_that_is_not_there_leaves_the_output_as_it_was(tmp_path: Path) -> None:
    out, new = tmp_path / "old.pcapng", tmp_path / "new.pcapng"
    assert run("slice", WRITE, "--connection", "1", "-o", out).returncode == 0
    before = out.read_bytes()
    for path in (out, new):
        ended = run("slice", WRITE, "--connection", "99", "-o", path)
        assert ended.returncode == 2
        assert ended.stderr.count(b"\n") == 1
    assert out.read_bytes() == before
    assert not new.exists()


def test_tshark_reads_the_same_packets_in_the_slice(tmp_path: Path) -> None:
    """Times, lengths, addresses and bytes, of whole connections: what tshark itself would have cut out by stream."""
    out = tmp_path / "out.pcapng"
    where = 'message == "AppendBlockEnd"'
    assert run("slice", WRITE, "--where", where, "--conversation", "-o", out).returncode == 0
    ended = run("decode", WRITE, "--where", where, "--format", "ndjson", "--count", "1")
    port = json.loads(ended.stdout)["client"].rpartition(":")[2]
    names = ("frame.time_epoch", "frame.len", "frame.cap_len", "tcp.flags", "tcp.seq_raw", "tcp.payload")
    shown = ["-T", "fields", *(word for name in names for word in ("-e", name))]
    original = run_tool("tshark", "-r", str(WRITE), "-Y", f"tcp.port == {port}", *shown)
    assert run_tool("tshark", "-r", str(out), *shown) == original
    assert "0x0002" in original.splitlines()[0]


def test_one_connection_needs_no_expression(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    assert run("slice", WRITE, "--connection", "1", "--conversation", "-o", out).returncode == 0
    seen = records(out, "n > 0")
    assert seen
    assert len(seen) == len(records(WRITE, "connection == 1"))


def test_a_capture_of_many_tables_is_cut_to_its_end(tmp_path: Path) -> None:
    many, out = tmp_path / "many.pcap", tmp_path / "out.pcapng"
    make_capture(many, packets=20_000, frames_per_packet=2, event_bytes=500)
    ended = run("slice", many, "--where", 'message == "AppendBlockEnd" and fields.last_event_number > 5', "-o", out)
    assert ended.stderr == b"wiretool: 19,995 matching records, 9,998 packets written\n"
    assert len(records(out, 'message == "AppendBlockEnd"')) == 19_996


@needs_protocol("offramp")
def test_a_protocol_and_a_port_are_heeded(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    ended = run("slice", TXN, "--where", 'protocol == "sbp"', "--protocol", "sbp", "-o", out)
    assert b"nothing matches" not in ended.stderr
    ended = run("slice", TXN, "--where", 'protocol == "sbp"', "--port", "12345=sbp", "-o", out)
    assert b"nothing matches" not in ended.stderr
    assert b"the bytes are pravega" not in ended.stderr
    ended = run("slice", TXN, "--where", "fields.last_event_number > 1", "--protocol", "offramp", "-o", out)
    assert ended.returncode == 2
    assert b"no record has fields.last_event_number" in ended.stderr


def test_a_slice_goes_down_a_pipe() -> None:
    ended = run("slice", WRITE, "--where", "n < 5", "-o", "-")
    assert ended.returncode == 0
    assert run("decode", "-", given=ended.stdout).returncode == 0
    assert ended.stdout.startswith(b"\x0a\x0d\x0d\x0a")


@pytest.mark.parametrize("options", [(), ("--connection", "0"), ("--conversation",), ("--engine", "rows")])
def test_where_nothing_matches_the_file_is_sound_and_empty(tmp_path: Path, options: Sequence[str]) -> None:
    """As grep, it exits with 1."""
    out = tmp_path / "out.pcapng"
    ended = run("slice", WRITE, "--where", "n < 0", "-o", out, *options)
    assert ended.returncode == 1
    assert ended.stderr == b"wiretool: nothing matches; wrote a capture without packets\n"
    assert run_tool("tshark", "-r", str(out)) == ""
    assert run("decode", out).returncode == 1


def test_a_damaged_capture_gives_what_is_good_of_it(tmp_path: Path) -> None:
    damaged, out = tmp_path / "damaged.pcap", tmp_path / "out.pcapng"
    damaged.write_bytes(WRITE.read_bytes()[:-30])
    ended = run("slice", damaged, "--where", 'message == "AppendBlockEnd"', "-o", out)
    assert ended.returncode == 3
    assert ended.stderr.splitlines()[0].startswith(b"wiretool: 1,000 matching records, ")
    assert b"ends early" in ended.stderr.splitlines()[1]
    assert len(records(out, 'message == "AppendBlockEnd"')) == 1000


def test_what_is_no_capture_costs_nobody_an_older_slice(tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / "out.pcapng"
    text.write_bytes(b"no capture")
    out.write_bytes(b"older")
    ended = run("slice", text, "--where", "n > 0", "-o", out)
    assert (ended.returncode, ended.stderr.count(b"\n")) == (3, 1)
    assert out.read_bytes() == b"older"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["-", "--where", "n > 0", "-o", "x"], b"stdin cannot be read twice"),
        (["/dev/null", "--where", "n > 0", "-o", "x"], b"/dev/null cannot be read twice"),
        (["no-such-file", "--where", "n > 0", "-o", "x"], b"no-such-file: no such file"),
        (["--where", "n > 0", "-o", "x"], b"no input"),
        ([WRITE, "--where", "n = 0", "-o", "x"], b"where 'n = 0': column 3: '=' means nothing here"),
        ([WRITE, "-o", "x"], b"no condition; expected --where EXPR"),
        ([WRITE, "--where", "n > 0"], b"no output; expected -o FILE"),
        ([WRITE, "--where", "n > 0", "-o", "no/such/folder"], b"cannot write no/such/folder"),
        ([WRITE, "--where", "n > 0", "-o", "x", "--port", "x=pravega"], b"expected PORT=NAME"),
        ([WRITE, "--where", "n > 0", "-o", "x", "--protocol", "smtp"], b"smtp"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    arguments: list[str | Path], why: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = run("slice", *arguments)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert why in ended.stderr
    assert ended.stderr.count(b"\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_capture_is_not_cut_into_itself(tmp_path: Path) -> None:
    path, link = tmp_path / "a.pcap", tmp_path / "b.pcap"
    path.write_bytes(WRITE.read_bytes())
    link.symlink_to(path)
    ended = run("slice", path, "--where", "n > 0", "-o", link)
    assert ended.returncode == 2
    assert b"is an input; expected another output" in ended.stderr
    assert path.read_bytes() == WRITE.read_bytes()


def test_a_bar_is_shown_for_both_readings_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    code = "from wiretool.commands import progress; from wiretool.cli import main; progress.QUICK_S = 0; main()"
    words = ["slice", str(WRITE), "--where", "n > 5", "-o", str(tmp_path / "out.pcapng")]
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=theirs, env={**os.environ, "COLUMNS": "90"})
    os.close(theirs)
    seen = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert process.wait(60) == 0
    finding, cutting = seen.index(b"finding"), seen.index(b"cutting")
    assert finding < cutting < seen.index(b"wiretool: 2,")
    assert b"%" in seen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO once the other end is closed
        return b""


@pytest.mark.parametrize("engine", ["rows", "columns"])
def test_what_cannot_be_cut_leaves_no_file(engine: str, tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / "out.pcapng"
    text.write_bytes(b"no capture")
    ended = run("slice", text, "--where", "n > 0", "-o", out, "--engine", engine)
    assert ended.returncode == 3
    assert ended.stderr.startswith(b"wiretool: %s: byte 0: neither pcap nor pcapng" % bytes(text))
    assert ended.stderr.count(b"\n") == 1
    assert not out.exists()
