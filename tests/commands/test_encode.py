import json
import os
from pathlib import Path

import pytest

from tests.helpers.forked import run

GOLDEN = Path(__file__).parent.parent / "golden"
HELLO = '{"message": "Hello", "fields": {"high_version": 17, "low_version": 5}}'


def test_a_message_is_hex_or_bytes() -> None:
    raw = run("encode", "--protocol", "pravega", given=HELLO.encode())
    assert raw.stdout == bytes.fromhex("ffffff81000000080000001100000005")
    shown = run("encode", "--protocol", "pravega", "--format", "hex", given=HELLO.encode())
    assert shown.stdout == raw.stdout.hex().encode() + b"\n"


@pytest.mark.parametrize("session", ["pravega", "sbp", "offramp"])
def test_what_is_decoded_encodes_to_the_same_again(session: str) -> None:
    script = (GOLDEN / f"{session}.jsonl").read_bytes()
    capture = run("encode", "--protocol", session, "--format", "pcap", given=script).stdout
    records = run("decode", "-", "--protocol", session, "--format", "ndjson", given=capture).stdout
    again = run("encode", "--format", "pcap", given=records)
    assert again.returncode == 0, again.stderr
    once_more = run("decode", "-", "--protocol", session, "--format", "ndjson", given=again.stdout).stdout
    assert [json.loads(line).get("fields") for line in once_more.splitlines()] == [
        json.loads(line).get("fields") for line in records.splitlines()
    ]


def test_what_is_no_frame_is_passed_over_with_a_word() -> None:
    given = b'{"kind": "gap"}\n' + HELLO.encode()
    ended = run("encode", "--protocol", "pravega", "--format", "hex", given=given)
    assert ended.returncode == 0
    assert ended.stderr == b"wiretool: stdin: line 1: a record of kind gap has no bytes to encode\n"


def test_records_without_a_frame_are_named_by_their_kinds() -> None:
    given = b'{"kind": "problem"}\n{"kind": "other"}\n'
    ended = run("encode", "--protocol", "pravega", given=given)
    assert ended.returncode == 1
    why = b"only records of kind other and problem; expected records of kind frame"
    assert ended.stderr.splitlines()[-1] == b"wiretool: stdin: nothing was encoded: " + why


@pytest.mark.parametrize("end", [HELLO, "no JSON"])
def test_of_many_records_without_bytes_the_first_are_named(end: str) -> None:
    """As `decode` writes them of a damaged capture; also where a line ends it early."""
    given = '{"kind": "problem"}\n' * 1_203 + end
    ended = run("encode", "--protocol", "pravega", "--format", "hex", given=given.encode())
    *lines, rest = ended.stderr.decode().splitlines()[:4]
    assert lines == [f"wiretool: stdin: line {n}: a record of kind problem has no bytes to encode" for n in (1, 2, 3)]
    assert rest == "wiretool: and 1,200 more records like these"
    assert (ended.returncode, ended.stderr.count(b"\n")) == ((0, 4) if end == HELLO else (3, 5))


@pytest.mark.parametrize(
    ("line", "why"),
    [(b'{"message": "Helo"}', b"did you mean Hello?"), (b"{}", b"wiretool: stdin: line 1: has no message\n")],
)
def test_a_line_that_makes_no_message_is_wrong_usage(line: bytes, why: bytes) -> None:
    ended = run("encode", "--protocol", "pravega", given=line)
    assert ended.returncode == 2
    assert why in ended.stderr
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hello\n", "line 1: not JSON: unexpected byte 0"),
        (f"{HELLO}\n{HELLO}x\n", "line 2: not JSON: unexpected byte 71"),
        ("[" * 100_000, "line 1: not JSON: nested too deeply"),
        ("[]", "line 1: not a JSON object"),
    ],
)
def test_a_file_that_is_not_json_is_bad_input(text: str, why: str, tmp_path: Path) -> None:
    script = tmp_path / "text.txt"
    script.write_text(text)
    for name, given in ((str(script), b""), ("stdin", text.encode())):
        ended = run("encode", "-" if given else name, "--protocol", "pravega", "--format", "raw", given=given)
        expected = f'wiretool: {name}: {why}; expected {{"message": ..., "fields": {{...}}}}\n'
        assert (ended.returncode, ended.stderr.decode()) == (3, expected)


@pytest.mark.parametrize("form", ["hex", "raw", "pcap"])
def test_an_error_leaves_no_part_of_the_output(form: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    given = HELLO.encode() + b"\n{broken\n"
    words = ["encode", "--protocol", "pravega", "--format", form, "-o", str(path)]
    assert run(*words, given=given).returncode == 3
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"of the last run")
    assert run(*words, given=given).returncode == 3
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"of the last run"]
    assert run(*words, given=HELLO.encode()).returncode == 0
    assert path.read_bytes() != b"of the last run"


def test_a_file_is_kept_where_nothing_is_encoded(tmp_path: Path) -> None:
    path = tmp_path / "kept.hex"
    path.write_text("precious\n")
    for form in ("hex", "raw", "pcap"):
        ended = run("encode", os.devnull, "--format", form, "-o", path)
        assert ended.returncode == 1
        assert b"nothing was encoded: no messages; expected one JSON object a line" in ended.stderr
        assert path.read_text() == "precious\n"
        assert run("encode", os.devnull, "--format", form).stdout == b""
