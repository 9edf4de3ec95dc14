"""Holds what wiretool reads in a capture against the truth file beside it: `NAME.pcap*` with `NAME.truth.json`.

Truth files come in three forms, one for each family of protocols; `check_capture` tells them apart by their keys.
"""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.examples import ABSENT, parts
from wiretool.capture.tls.keylog import KeyLog
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.records import Record
from wiretool.sinks.ndjson import json_record

SIDE = {"c2s": "client", "s2c": "server"}
Truth = Mapping[str, Any]


def captures_below(folder: Path) -> list[tuple[Path, Path | None]]:
    """Every capture below a folder, with its truth file where there is one."""
    found = []
    for path in sorted(folder.rglob("[!.]*.pcap*")):  # beside them an index may be kept
        truth = path.parent / (re.sub(r"\.pcap(ng)?(\.gz|\.zst)?$", "", path.name) + ".truth.json")
        found.append((path, truth if truth.exists() else None))
    return found


def check_capture(path: Path, truth_path: Path | None) -> None:
    """Read a capture; AssertionError where the ledger does not add up or the records are not those of the truth."""
    truth: Truth = json.loads(truth_path.read_text()) if truth_path else {}
    paths = [path.parent / name for name in truth.get("files", [])] or [path]
    ledger = Ledger()
    records, is_whole = _readable(paths, ledger)
    check_ledger(records, ledger)
    if "schema" in truth:
        if truth["schema"].startswith(("S1", "S2")) and "sbp-0.1" in ABSENT:
            pytest.skip("needs the protocol sbp-0.1")
        check_sbp(records, truth)
    elif "totals" in truth:
        check_pravega(records, truth)
    elif "tls_keylog" in truth:
        check_tls(records, truth)
    elif truth_path:
        parts("truth", "check_capture")["offramp"](records, truth, truth_path, is_whole)
    check_twin(path)


def _readable(paths: Sequence[Path], ledger: Ledger) -> tuple[list[Record], bool]:
    """The records up to where a file is cut short, and whether none is."""
    records: list[Record] = []
    try:
        for record in read(paths, ledger=ledger):
            records.append(record)  # noqa: PERF402  (what came before an error is wanted too)
    except CaptureError:
        return records, False
    return records, True


def check_ledger(records: Sequence[Record], ledger: Ledger) -> None:
    """Every payload byte is in one frame, problem or stranger, and the records say the same as the ledger."""
    for row in [*ledger.connections, None]:
        account = row.account if row else ledger.total
        mine = [record for record in records if row is None or record.connection == row.connection]
        assert account.payload_bytes == account.frame_bytes + account.problem_bytes + account.other_bytes
        sums = Counter[str]()
        for record in mine:
            sums[record.kind] += record.length
        counts = Counter(record.kind for record in mine)
        told = (account.frame_bytes, account.problem_bytes, account.other_bytes, account.gap_bytes)
        assert told == (sums["frame"], sums["problem"], sums["other"], sums["gap"])
        assert (account.frames, account.problems, account.gaps) == (counts["frame"], counts["problem"], counts["gap"])
    assert [record.n for record in records] == list(range(1, len(records) + 1))


# -- Pravega ---------------------------------------------------------------------------------------------------------


def check_pravega(records: Sequence[Record], truth: Truth) -> None:
    """Commands of each connection and direction, what is left over, and the events of the client's appends."""
    mine = [record for record in records if record.server.endswith((":12345", ":12346"))]
    by_client: dict[str, list[Record]] = defaultdict(list)
    for record in mine:
        by_client[record.client].append(record)
    for expected in truth["connections"]:
        got = by_client.pop(expected["client"], [])
        for direction, side in SIDE.items():
            check_commands([record for record in got if record.side == side], expected, direction)
    assert not by_client, f"connections that the truth does not know: {sorted(by_client)}"
    clients = {connection["client"] for connection in truth["connections"] if connection["owner"] == "client"}
    check_events([record for record in mine if record.client in clients], truth["events_sent_on_the_wire"])
    check_grpc([record for record in records if record.protocol == "pravega-controller"], truth.get("grpc", []))


#: Our names of HTTP/2's frames that the truth names otherwise; what is none of these is the message of a call.
FRAME_TYPES = {"Settings": "SETTINGS", "WindowUpdate": "WINDOW_UPDATE", "Headers": "HEADERS", "Data": "DATA"}
FRAME_TYPES |= {"Ping": "PING", "GoAway": "GOAWAY", "RstStream": "RST_STREAM", "Preface": ""}


def check_grpc(records: Sequence[Record], expected: Sequence[Truth]) -> None:
    """The controller's connections: frames by type, calls by method with an answer each, status, who asks."""
    by_client: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_client[record.client].append(record)
    for truth in expected:
        check_grpc_connection(by_client.pop(truth["client"], []), truth)
    assert not by_client, f"controller connections that the truth does not know: {sorted(by_client)}"


def check_grpc_connection(records: Sequence[Record], expected: Truth) -> None:
    """One of them."""
    assert {record.kind for record in records} == {"frame"}
    for direction, side in SIDE.items():
        mine = [FRAME_TYPES.get(record.message, "DATA") for record in records if record.side == side]
        assert Counter(filter(None, mine)) == Counter(expected[f"frames_{direction}"])
    calls = [record for record in records if record.message not in FRAME_TYPES]
    asked = {record.n: record.message for record in calls if record.side == "client"}
    assert Counter(asked.values()) == Counter(expected["calls"])
    for record in calls:
        assert record.side == "client" or asked.pop(record.reply_to or 0) == record.message
    headers = [json_record(record)["fields"] for record in records if record.message == "Headers"]
    assert Counter(fields["method"] for fields in headers if fields["method"]) == Counter(expected["calls"])
    statuses = Counter(value for fields in headers for name, value in fields["headers"] if name == "grpc-status")
    assert statuses == Counter(expected["grpc_status"])
    assert len(asked) == statuses.total() - statuses["0"], "calls without an answer are those that failed"
    named = [dict(fields["headers"]) for fields in headers if fields["method"]]
    assert {each.get("user-agent") for each in named} == {expected["user_agent"]}
    kinds = {each["authorization"].split()[0] for each in named if "authorization" in each}
    assert kinds == ({expected["authorization"]} if "authorization" in expected else set())


def check_commands(records: Sequence[Record], expected: Truth, direction: str) -> None:
    """The commands of one direction by name, and nothing else but what the truth calls left over."""
    frames = Counter(enum_name(record.message) for record in records if record.kind == "frame")
    assert frames == Counter(expected["commands"].get(direction, {})), expected["client"]
    problems = [record for record in records if record.kind != "frame"]
    left = expected["leftover_bytes"].get(direction, 0)
    assert sum(record.length for record in problems) == left, problems
    assert len(problems) == (1 if left else 0), problems


def enum_name(message: str) -> str:
    """`SetupAppend` as `SETUP_APPEND`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", message).upper()


def check_events(records: Sequence[Record], expected: Truth) -> None:
    """The events that clients appended to their own streams: number, bytes and content; a resent one counts once."""
    bodies: dict[tuple[str, str, Any], bytes] = {}
    for record in records:
        append = record.append or {}
        if record.kind != "frame" or "/_" in str(append.get("segment", "")):
            continue
        for index, event in enumerate(record.events or ()):
            number = event.get("event_number", f"{append['event_number']}.{index}")
            bodies[append["segment"], append["writer_id"], number] = bytes.fromhex(event["data"])
    digests = sorted(hashlib.sha256(body).hexdigest() for body in bodies.values())
    got = {
        "events": len(bodies),
        "bytes": sum(map(len, bodies.values())),
        "sha256_of_sorted_sha256": hashlib.sha256("".join(digests).encode()).hexdigest(),
    }
    assert got == expected


# -- SBP -------------------------------------------------------------------------------------------------------------


def check_sbp(records: Sequence[Record], truth: Truth) -> None:
    """Each frame with all its fields, and the defects that the truth names."""
    by_place: dict[tuple[str, str, int], Record] = {}
    defects: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    for record in records:
        place = (record.client, record.side, record.offset)
        if record.kind == "frame":
            by_place[place] = record
        elif record.kind == "problem":
            defects[place].add(record.error)
    client = {connection["conn"]: connection["client"] for connection in truth["connections"]}
    for frame in truth["frames"]:
        expected = (client[frame["conn"]], SIDE[frame["dir"]], frame["off"])
        assert expected in by_place, f"no frame at {expected}"
        check_sbp_frame(json_record(by_place[expected])["fields"], frame, defects[expected])
    check_unparsed(records, truth, client)


def check_sbp_frame(fields: Truth, frame: Truth, defects: set[str]) -> None:
    """One frame of ours against the truth's."""
    for name in ("frame_length", "magic", "opcode", "flags", "stream_id", "header_format", "header_length"):
        assert fields[name] == frame[name], (name, fields, frame)
    for name in ("payload_length", "checksum", "total_bytes"):
        assert fields[name] == frame[name], (name, fields, frame)
    if fields["payload_length"]:
        assert ("checksum_mismatch" in defects) == (not frame["checksum_ok"]), (defects, frame)
    header, expected = fields["header"], frame["header"]
    if expected and "raw_sha256" in expected:
        assert header, frame
        assert hashlib.sha256(bytes.fromhex(header["raw_hex"])).hexdigest() == expected["raw_sha256"]
    else:
        assert header == expected, (header, expected)
    assert ("missing_required_field" in defects) == bool(frame.get("missing_required")), (defects, frame)
    if (
        expected is not None
    ):  # an absent header is an error where the operation needs one; the truth does not judge that
        assert ("bad_flatbuffer_header" in defects) == ("header_error" in frame), (defects, frame)
    check_entries(fields, frame, defects)


def check_entries(fields: Truth, frame: Truth, defects: set[str]) -> None:
    """The record batches in the payload."""
    expected = frame.get("entries")
    if expected is None:
        return
    entries = (fields["payload"] or {}).get("entries", [])
    got = [(entry["meta"], entry["payload_len"]) for entry in entries]
    assert got == [(entry["meta"], entry["payload_length"]) for entry in expected], frame


def check_unparsed(records: Sequence[Record], truth: Truth, client: Mapping[int, str]) -> None:
    """Where the truth's framing stopped, a problem of ours begins."""
    for connection in truth["connections"]:
        for direction, side in SIDE.items():
            unparsed = connection[direction].get("unparsed")
            if not unparsed:
                continue
            place = (client[connection["conn"]], side, unparsed["off"])
            at = [record for record in records if (record.client, record.side, record.offset) == place]
            assert any(record.kind in ("problem", "other") for record in at), (unparsed, at)


def check_twin(path: Path) -> None:
    """A TLS capture with secrets, in a key log beside it or in itself, has the messages of its twin in the clear."""
    name = path.name.split(".")[0]
    keylog, twin = path.with_name(f"{name}.keylog.txt"), path.with_name(f"{name.removesuffix('_dsb')}_clear.pcap")
    if not keylog.exists() and not twin.exists():
        return
    if "offramp" in ABSENT:
        pytest.skip("needs the protocol offramp")
    secrets = keylog.read_bytes() if keylog.exists() else b""
    messages = messages_in(path, secrets)
    assert messages == messages_in(twin, b"")
    assert messages


def messages_in(path: Path, secrets: bytes) -> list[tuple[str, str, bytes]]:
    """Return side, name and bytes of each message, in order; AssertionError for bytes that are not read."""
    ledger = Ledger()
    records = list(read(path, ledger=ledger, keys=KeyLog.of(secrets)))
    assert all(row.is_decrypted for row in ledger.connections if row.tls)
    assert not [record for record in records if record.kind in ("problem", "gap")]
    return [(record.side, record.message, record.raw) for record in records if record.kind == "frame"]


# -- TLS --------------------------------------------------------------------------------------------------------------


def check_tls(records: Sequence[Record], truth: Truth) -> None:
    """An encrypted stream is one record of a stranger, whose reason says TLS."""
    mine = [record for record in records if record.server.endswith(f":{truth['server_port']}")]
    assert mine
    assert all(record.kind == "other" and "TLS" in record.why for record in mine)
    assert len({(record.connection, record.side) for record in mine}) == len(mine)
