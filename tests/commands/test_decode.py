import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import forked
from tests.helpers.examples import needs_protocol
from tests.helpers.records import Paper
from wiretool.commands.decode import decode
from wiretool.commands.options import DecodeFormat, Format, SideName
from wiretool.dissect.dissector import annotate, read_hex
from wiretool.errors import DecodeError, UsageError
from wiretool.sinks.choose import sink_for
from wiretool.sinks.printable import width_of
from wiretool.sinks.pump import pump

HELLO = "ffffff81000000080000001100000005"
GOLDEN = Path(__file__).parent.parent / "golden"

CAPTURES = Path(__file__).parents[2] / "captures"


def run(*arguments: str | Path, given: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return forked.run(*arguments, given=given, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden session of Pravega: 13 frames and a problem on two connections."""
    path = tmp_path_factory.mktemp("decode") / "pravega.pcap"
    ended = run("encode", GOLDEN / "pravega.jsonl", "--protocol", "pravega", "--format", "pcap", "-o", path)
    assert ended.returncode == 0, ended.stderr
    return path


def records(path: Path, tmp_path: Path, **options: Any) -> list[dict[str, Any]]:
    """What the command writes, as JSON, run in this process."""
    out = tmp_path / "out.ndjson"
    decode([path], format_=DecodeFormat.NDJSON, output=out, **options)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_several_captures_are_read_as_one(golden: Path, tmp_path: Path) -> None:
    out = tmp_path / "both.ndjson"
    other = tmp_path / "other.pcap"
    other.write_bytes(golden.read_bytes())
    decode([golden, other], format_=DecodeFormat.NDJSON, output=out)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["n"] for record in found] == list(range(1, len(found) + 1))
    assert len(found) >= 14


def test_stdin_is_a_capture(golden: Path) -> None:
    ended = run("decode", "-", "--format", "ndjson", given=golden.read_bytes())
    assert len(ended.stdout.splitlines()) == 14
    assert ended.stderr == b""


def test_where_connection_and_count_choose(golden: Path, tmp_path: Path) -> None:
    assert [r["n"] for r in records(golden, tmp_path, connection=1)] == [13, 14]
    assert [r["n"] for r in records(golden, tmp_path, count=3)] == [1, 2, 3]
    chosen = records(golden, tmp_path, where='side == "server" and fields.request_id >= 2', count=2)
    assert [r["message"] for r in chosen] == ["AppendSetup", "DataAppended"]
    assert records(golden, tmp_path, where='kind == "problem"')[0]["error"] == "append-before-setup"


def test_fields_choose_what_of_a_record(golden: Path, tmp_path: Path) -> None:
    found = records(golden, tmp_path, fields="n,fields.segment", count=3)
    assert found == [{"n": 1}, {"n": 2}, {"n": 3, "fields.segment": "orders/eu/0.#epoch.0"}]


def test_strict_stops_at_the_first_problem_after_showing_it(golden: Path, tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="append-before-setup"):
        records(golden, tmp_path, strict=True)
    assert (tmp_path / "out.ndjson").read_text().splitlines()[-1].startswith('{"n":14,"kind":"problem"')
    assert run("decode", golden, "--strict").returncode == 3


def test_the_ledger_says_what_became_of_every_byte(golden: Path, tmp_path: Path) -> None:
    records(golden, tmp_path, ledger=tmp_path / "ledger.json")
    book = json.loads((tmp_path / "ledger.json").read_text())
    total = book["total"]
    assert total["payload_bytes"] == total["frame_bytes"] + total["problem_bytes"] + total["other_bytes"]
    assert (total["frames"], total["problems"], len(book["connections"])) == (13, 1, 2)


def test_a_capture_cut_short_gives_what_is_before_the_ledger_too(golden: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.pcap"
    short.write_bytes(golden.read_bytes()[:-400])
    ended = run("decode", short, "--format", "json", "--ledger", tmp_path / "ledger.json")
    assert ended.returncode == 3
    assert len(json.loads(ended.stdout)) >= 5
    assert b"short.pcap: byte " in ended.stderr
    assert json.loads((tmp_path / "ledger.json").read_text())["total"]["frames"] >= 5


def test_a_capture_is_not_overwritten_by_its_own_ledger(golden: Path, tmp_path: Path) -> None:
    before = golden.read_bytes()
    alias = tmp_path / "alias.pcap"
    alias.symlink_to(golden)
    for path in (golden, alias):
        ended = run("decode", golden, "--ledger", path)
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert ended.stderr.endswith(b"is an input; expected another output\n")
    assert golden.read_bytes() == before


def test_pasted_bytes_are_not_overwritten_by_their_own_ledger(tmp_path: Path) -> None:
    pasted = tmp_path / "pasted.hex"
    pasted.write_text(HELLO)
    with pytest.raises(UsageError, match="is an input; expected another output"):
        decode(hex_=str(pasted), protocol="pravega", side=SideName.CLIENT, ledger=pasted)
    assert pasted.read_text() == HELLO


def test_the_ledger_is_not_written_into_the_output(golden: Path, tmp_path: Path) -> None:
    out, link = tmp_path / "out.ndjson", tmp_path / "link.json"
    link.symlink_to(out)
    for path in (out, tmp_path / "." / "out.ndjson", link):
        with pytest.raises(UsageError, match="-o and --ledger name the same file"):
            records(golden, tmp_path, ledger=path)
    assert not out.exists()
    out.write_text("precious")
    os.link(out, tmp_path / "hard.json")
    with pytest.raises(UsageError, match="-o and --ledger name the same file"):
        records(golden, tmp_path, ledger=tmp_path / "hard.json")
    assert out.read_text() == "precious"


def test_a_ledger_that_cannot_be_written_is_noticed_before_reading(golden: Path, tmp_path: Path) -> None:
    ended = run("decode", golden, "--ledger", tmp_path / "no" / "ledger.json")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"wiretool: cannot write ")


def test_text_ends_with_the_totals_on_stderr(golden: Path) -> None:
    ended = run("decode", golden)
    assert ended.stderr == b"wiretool: 13 frames, 1 problem in 2 connections; 790 bytes: 790 in frames\n"


def test_a_capture_is_not_overwritten_by_its_own_output(golden: Path) -> None:
    before = golden.read_bytes()
    ended = run("decode", golden, "-o", golden)
    assert ended.returncode == 2
    assert golden.read_bytes() == before


def test_hex_is_a_connection_a_line(tmp_path: Path) -> None:
    source = tmp_path / "log"
    source.write_text(f"{HELLO}\n\n{HELLO[:4]} {HELLO[4:]} 0000\n")
    out = tmp_path / "out"
    decode(None, protocol="pravega", hex_=str(source), side=SideName.SERVER, format_=DecodeFormat.NDJSON, output=out)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["connection"], r["kind"], r["side"]) for r in found] == [
        (0, "frame", "server"),
        (1, "frame", "server"),
        (1, "problem", "server"),
    ]
    assert found[2]["error"] == "incomplete"


def test_hex_that_is_none_is_named(tmp_path: Path) -> None:
    ended = run("decode", "--hex", "-", "--protocol", "pravega", "--side", "client", given=b"0102\nxyz\n")
    assert ended.returncode == 3
    assert b"line 2: byte 0: not hex: 'x' at character 1 is not a hex digit" in ended.stderr


@needs_protocol("offramp")
@needs_protocol("sbp-0.1")
@given(st.binary(max_size=60), st.sampled_from(["pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp"]))
def test_any_bytes_are_shown_in_every_form(data: bytes, protocol: str) -> None:
    for form in Format:
        text = shown(data.hex(), protocol, form)
        assert all(char.isprintable() or char == "\n" for char in text)


def shown(line: str, protocol: str, form: Format) -> str:
    """The output of decoding hex, in this process, through the same parts as the command."""
    paper = Paper()
    is_text = form is Format.TEXT
    sink = sink_for(form.value, paper, columns=None, annotate=annotate, tree=is_text, dump=is_text)
    for side in SideName:
        pump(read_hex([line], protocol=protocol, side=side.value), sink, keep=lambda record: True)
    return paper.text


def test_inputs_exclude_each_other(golden: Path) -> None:
    with pytest.raises(UsageError, match="captures, --hex and --live: mutually exclusive; expected one of them"):
        decode([golden], live="lo")
    with pytest.raises(UsageError, match="--filter and --duration: require --live"):
        decode([golden], bpf="tcp")
    with pytest.raises(UsageError, match="--hex: requires --protocol and --side"):
        decode(None, hex_="-")
    with pytest.raises(UsageError, match="--side: requires --hex"):
        decode([golden], side=SideName.CLIENT)


def test_an_interface_that_is_not_there_is_wrong_usage() -> None:
    ended = run("decode", "--live", "no-such-interface")
    assert ended.returncode == 2
    assert b"no-such-interface" in ended.stderr


def test_an_empty_name_of_an_interface_is_named() -> None:
    ended = run("decode", "--live", "", "--duration", "1")
    assert ended.returncode == 2
    assert ended.stderr == b"wiretool: --live: expected the name of an interface, got an empty text\n"


def test_output_to_a_pipe_has_no_colour(golden: Path) -> None:
    assert b"\x1b" not in run("decode", golden, "-v", "-x", TERM="xterm-256color").stdout
    assert b"\x1b[" in run("decode", golden, FORCE_COLOR="1", NO_COLOR="").stdout


@pytest.mark.parametrize("columns", [80, 160])
def test_a_terminal_gets_colour_and_lines_that_fit(golden: Path, columns: int) -> None:
    text = on_terminal("decode", str(golden), columns=columns)
    assert "\x1b[" in text
    plain = [line for line in stripped(text).splitlines() if "wiretool:" not in line]
    assert max(map(len, plain)) <= columns
    # One line a record and connection; the text of a problem may wrap onto indented lines.
    assert len([line for line in plain if not line.startswith(" " * 16)]) == 16


def test_a_terminal_without_colour_when_asked(golden: Path) -> None:
    assert "\x1b" not in on_terminal("decode", str(golden), columns=80, NO_COLOR="1")


@pytest.mark.parametrize("columns", [60, 80, 110])
def test_a_narrow_terminal_says_what_it_leaves_out(golden: Path, columns: int) -> None:
    shown = on_terminal("decode", str(golden), columns=columns, has_stderr=True)
    notice = (
        f"protocol column hidden: the terminal has {columns} columns, 110 are needed; "
        "the line of each connection names its protocol"
    )
    assert " ".join(shown.split()).count(f"wiretool: {notice}") == (columns < 110)


def stripped(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def on_terminal(*arguments: str, columns: int, has_stderr: bool = False, code: int = 0, **environment: str) -> str:
    """Return what the command, which ends with that code, shows on a terminal of that width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "NO_COLOR": "", **environment}
    command = [sys.executable, "-m", "wiretool", *arguments]
    chunks: list[bytes] = []
    reader = threading.Thread(target=lambda: chunks.extend(chunks_of(leader)))
    stderr = follower if has_stderr else subprocess.DEVNULL
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=stderr, env=env) as process:
        os.close(follower)
        reader.start()
        assert process.wait(60) == code
    reader.join(60)
    os.close(leader)
    return b"".join(chunks).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("decode", "-v", str(CAPTURES / "sbp" / "rs_fetch.pcap"), "--count", "3"), 0),
        (("conform", "sbp", "--list"), 0),
        (("stats", str(CAPTURES / "pravega" / "read.pcap")), 0),
        (("decode", "-", "--port", "12345=a_protocol_of_this_name", "--count", "1", "--where", "message"), 2),
    ],
)
def test_no_line_is_wider_than_the_terminal(arguments: tuple[str, ...], code: int, columns: int) -> None:
    shown = stripped(on_terminal(*arguments, columns=columns, has_stderr=True, code=code)).splitlines()
    assert shown
    assert max(map(width_of, shown)) <= columns
    assert len(shown) > 1


@pytest.mark.parametrize("name", ["write.pcap", "read.pcap", "txn.pcap"])
def test_rows_fit_forty_columns_and_sign_what_they_leave_out(name: str) -> None:
    shown = stripped(on_terminal("decode", str(CAPTURES / "pravega" / name), "--count", "60", columns=40)).splitlines()
    rows = [line for line in shown if re.match(r" +\d+ ", line)]
    assert len(rows) == 60
    assert max(map(width_of, rows)) <= 40
    cut = [row for row in rows if "=" not in row and not row.endswith("…")]
    assert all(row.endswith("Preface") for row in cut)  # it has no fields


@pytest.mark.parametrize("columns", [40, 60])
def test_rows_of_statistics_can_be_told_apart_on_a_narrow_terminal(columns: int) -> None:
    shown = stripped(on_terminal("stats", str(CAPTURES / "pravega" / "read.pcap"), columns=columns))
    assert "TableEntriesDeltaRead" in shown
    assert "TableEntriesUpdated" in shown
    assert "getCurrentSegments" in shown


def chunks_of(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:  # Linux says EIO once the other end is closed
            return
        if not chunk:
            return
        yield chunk


def test_head_ends_it_quietly(golden: Path) -> None:
    shell = f"{sys.executable} -m wiretool decode {' '.join([str(golden)])} | head -n 1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60, check=False)
    assert ended.stdout.splitlines()[-1] == b"0"
    assert b"Traceback" not in ended.stderr


def test_a_reader_that_leaves_in_the_middle_of_much_output(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"{HELLO * 20_000}\n")
    arguments = ["decode", "--hex", str(log), "--protocol", "pravega", "--side", "client", "--format", "ndjson"]
    shell = f"{sys.executable} -m wiretool {' '.join(arguments)} | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60, check=False)
    assert ended.stdout == b"0\n"
    assert ended.stderr == b""


def test_ctrl_c_leaves_whole_output(golden: Path, tmp_path: Path) -> None:
    """A pipe that stays open is a capture that never ends."""
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "wiretool", "decode", "-", "--format", "json", "-o", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        raw = golden.read_bytes()
        for part in (raw[:24], raw[24:]):  # the first bytes are looked at before anything is begun
            process.stdin.write(part)
            process.stdin.flush()
            wait_until_read(process.stdin.fileno())
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert b"Traceback" not in process.stderr.read()
    assert isinstance(json.loads(out.read_text()), list)


def wait_until_read(pipe: int) -> None:
    """Until nothing that was written into the pipe is left in it."""
    deadline = time.monotonic() + 60
    unread = array("i", [1])
    while unread[0]:
        assert time.monotonic() < deadline, "nobody reads"
        fcntl.ioctl(pipe, termios.FIONREAD, unread)


@pytest.mark.parametrize("engine", ["rows", "columns"])
def test_the_summary_says_how_many_records_were_selected(engine: str, tmp_path: Path) -> None:
    capture = GOLDEN.parents[1] / "captures" / "pravega" / "write.pcap"
    for where, option in (("latency > 1ms", ()), ("latency > 1ms", ("-o", tmp_path / "t.parquet"))):
        if engine == "columns" and not option:
            continue  # text is for people, and in rows
        ended = run("decode", capture, "--engine", engine, "--where", where, *option)
        assert ended.returncode == 0
        assert ended.stderr.decode().startswith("wiretool: 2 of 2,041 records written; 2,041 frames in 2 connections")


@pytest.mark.parametrize("engine", ["rows", "columns"])
@pytest.mark.parametrize("is_tables", [False, True])
def test_with_a_count_the_summary_names_the_records_up_to_the_last_one_shown(
    engine: str, is_tables: bool, tmp_path: Path
) -> None:
    capture = GOLDEN.parents[1] / "captures" / "pravega" / "read.pcap"
    options = ["--where", 'message == "ReadSegment"', "--count", "1"]
    output = ["-o", str(tmp_path / "t.parquet")] if is_tables else []
    ended = run("decode", capture, "--engine", engine, *options, *output)
    assert ended.returncode == 0
    assert ended.stderr.decode().startswith("wiretool: 1 of 159 records written; 159 frames in 4 connections")
