"""Which answers a server of the newest schema may give to a request, whatever it holds (sbp.md §1.5, §2, §4.5)."""

from collections.abc import Mapping
from typing import Any

from wiretool.protocols.sbp.messages import FLATBUFFERS
from wiretool.protocols.sbp.replay.recorded_facts import OK
from wiretool.protocols.sbp.replay.servers import code_of, fields_in, is_system_error
from wiretool.records import Record

#: Codes that servers were seen to send; others are of clients, or of no code at all (§2, error codes).
_ON_THE_WIRE = frozenset(
    (1, 2, OK, 1204, 1400, 1404, 1460, 1462, 1464, 1465, 1466, 1470, 1471, 1498, 1499, 1500, 1502, 1503, 2500, 2502)
)
#: What success says: a placement driver and most answers nothing, a range server this (§4.5).
_OK_WORDS = (None, "OK")
#: A FETCH that found batches has no throttling to tell of, in these words.
_NOT_THROTTLED = -1
#: What a server takes over from a request: the table, and its fields.
_ECHOED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "CREATE_STREAM": ("stream", ("replica", "ack_count", "retention_period_ms")),
    "CREATE_RANGE": ("range", ("index", "epoch", "start")),
}


def is_well_formed(live: Record, request: Record | None = None) -> bool:
    """Return whether the format of a header is the one that is defined, or that of a PING, which is sent back."""
    if not isinstance(live.fields, Mapping):
        return False
    known = {FLATBUFFERS}
    if request is not None and request.message == "PING" and isinstance(request.fields, Mapping):
        known.add(request.fields["header_format"])
    return live.fields["header_format"] in known


def may_answer(request: Record, live: Record) -> bool:
    """Return whether a server may give this answer, of which there is no recorded one to compare it with."""
    if live.message != request.message or not is_well_formed(live, request):
        return False
    if live.protocol != "sbp":
        return True
    said, code = fields_in(live), code_of(live)
    status = said.get("status")
    if isinstance(status, Mapping) and code not in _ON_THE_WIRE:
        return False
    if is_system_error(live) or live.message == "PING":
        return True
    is_found = live.message == "FETCH" and code == OK
    is_throttled = said.get("throttle_time_ms") not in (None, _NOT_THROTTLED if is_found else 0)
    return not is_throttled and (code != OK or _is_success(request, said))


def _is_success(request: Record, said: Mapping[str, Any]) -> bool:
    """Return whether success says what it always says, and has what was asked for."""
    if (said.get("status") or {}).get("message") not in _OK_WORDS:
        return False
    table, names = _ECHOED.get(request.message, ("", ()))
    made, asked = said.get(table) or {}, fields_in(request).get(table) or {}
    return all(made.get(name) == asked.get(name) for name in names)
