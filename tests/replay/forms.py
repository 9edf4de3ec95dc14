"""Messages as JSON forms, and the same messages with one value of them changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wiretool.errors import EncodeError
from wiretool.faults.places import with_value
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.replay.adapter import ReplayAdapter, Steps
from wiretool.replay.judging.field_selector import Spot, named
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report.data import message_of

#: No more known of any protocol than it declares.
PLAIN_MANNERS = {name: ReplayAdapter(protocol) for name, protocol in PROTOCOLS.items()}


def places_in(form: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every place, and what stands there."""
    parts = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list | tuple) else ()
    for step, inner in parts:
        yield (*steps, step), inner
        yield from places_in(inner, (*steps, step))


def leaves_of(form: Any) -> list[tuple[Steps, Any]]:
    """Every place in which there is no other; the form itself where there are none."""
    found = [
        (steps, value) for steps, value in places_in(form) if not (isinstance(value, dict | list | tuple) and value)
    ]
    return found or [((), form)]


def spots_in(outcomes: Sequence[Outcome]) -> set[Spot]:
    """The fields in which outcomes differ, whatever element of a list; messages that are missing or too much too."""
    return {
        Spot(message_of(outcome, difference), named(difference.steps))
        for outcome in outcomes
        for difference in outcome.differences
    }


def is_declared(record: Record) -> bool:
    """Whether it is a message whose fields are declared."""
    if record.kind != "frame":
        return False
    return (record.side, record.message) in PLAIN_MANNERS[record.protocol].dialect.declared


def changed(record: Record, steps: Steps, value: Any) -> Record | None:
    """The message with another value there, as its writer fills in the rest; None where none such is written."""
    for other in _others(value):
        made = _with(record, steps, other)
        if made is not None and made.fields != record.fields:
            return made
    return None


def _with(record: Record, steps: Steps, value: Any) -> Record | None:
    manner = PLAIN_MANNERS[record.protocol]
    try:
        made = with_value(manner.form(record), steps, value)
        fields = manner.protocol.from_json(record.message, record.side, made)
    except EncodeError:
        return None
    fields = made if isinstance(record.fields, Mapping) else fields
    return msgspec.structs.replace(record, fields=fields, raw=record.raw + b"!")


def _others(value: Any) -> list[Any]:
    """Values that are not that one: of flags, numbers, bytes, texts, ids and enumerations."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, str):
        return [value + "61", f"{value}x", "00000000-0000-0000-0000-000000000099", "FAILURE", "ABORTED"]
    return [7, "x"]
