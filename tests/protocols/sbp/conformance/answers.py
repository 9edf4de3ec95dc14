"""Kinds of answers: of a real server in a recording, and of the cases that accept them."""

from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.conformance.case import Conformance, Expect, ExpectAll
from wiretool.conformance.values import Check, Free, Saved, Subset, Value

#: An operation, the flags, the table of the header, and its status or that of one of its results.
Kind = tuple[str, int, str, int]
#: Flags of a response.
RESPONSE = 0x01
#: The code of a status where there is none.
NO_STATUS = -1
#: Codes that patterns may stand for.
CODES = (1200, 1204, 1400, 1404, 1460, 1462, 1464, 1465, 1466, 1470, 1471, 1498, 1499, 1500, 1502, 1503, 1510)


def answers_in(truth: Mapping[str, Any]) -> set[Kind]:
    """Return the kinds of responses of servers in a truth file."""
    found: set[Kind] = set()
    for frame in truth["frames"]:
        is_of_server = frame["dir"] == "s2c" and frame["flags"] & RESPONSE
        if is_of_server and not _is_of_peer(truth, frame["conn"]):
            name = frame["opcode_name"] or "Unknown"
            header = frame["header"] or {}
            codes = set(_codes(header.get("fields", {}))) or {NO_STATUS}
            found |= {(name, frame["flags"], header.get("table", ""), code) for code in codes}
    return found


def _is_of_peer(truth: Mapping[str, Any], number: int) -> bool:
    """Return whether the server of a connection is a Python program that stood in for a real one."""
    return any(each["conn"] == number and "Python" in each["server_role"] for each in truth["connections"])


def _codes(value: Any) -> Iterator[int]:
    """Yield every status code in a header."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name == "status" and isinstance(each, Mapping):
                yield each.get("code", 0)
            else:
                yield from _codes(each)
    elif isinstance(value, list):
        for each in value:
            yield from _codes(each)


def accepted_by(part: Conformance) -> set[Kind]:
    """Return the kinds of responses that cases of a protocol accept."""
    return {
        kind
        for case in part.cases
        for step in case.steps
        if isinstance(step, Expect | ExpectAll)
        for outcome in (step.outcomes if isinstance(step, Expect) else step.replies)
        for kind in _kinds(outcome.message, outcome.fields)
    }


def _kinds(name: str, fields: Mapping[str, Any]) -> Iterator[Kind]:
    header = _plain(fields.get("header"))
    flags = fields.get("flags", 0)
    table = header.get("table", "") if isinstance(header, Mapping) else ""
    codes = list(_expected_codes(header.get("fields", {}))) if isinstance(header, Mapping) else []
    accepted = [each for each in range(8) if flags.holds(each, {})] if isinstance(flags, Check) else [flags]
    for code in codes or [NO_STATUS]:
        yield from ((name, each, table, code) for each in accepted)


def _plain(value: Any) -> Any:
    """Return an object without the patterns that leave fields free."""
    if isinstance(value, Subset):
        value = value.fields
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _expected_codes(value: Any) -> Iterator[int]:
    for code in _codes(value):
        if isinstance(code, Check):
            yield from (each for each in CODES if code.holds(each, {}))
        else:
            assert not isinstance(code, Value | Free | Saved), code
            yield code
