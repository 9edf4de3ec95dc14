"""Sequences as JSON, for findings, corpora and their replay."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

import msgspec

from wiretool.codec.message import Issued, Position
from wiretool.errors import InputError, WiretoolError
from wiretool.faults.adapter import FaultAdapter
from wiretool.fuzz.sequences.rewriting import form_of
from wiretool.fuzz.sequences.sequence import (
    Change,
    Connect,
    Edit,
    Finish,
    FuzzSequence,
    IssuedValue,
    Pause,
    Reset,
    Sending,
    SetField,
    Splice,
    Step,
)
from wiretool.protocols.base.conversation import let_go
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record


def sequence_form(sequence: FuzzSequence, adapter: FaultAdapter) -> dict[str, Any]:
    """Return the JSON form of a sequence."""
    return {
        "origin": sequence.origin,
        "setup": sequence.setup,
        "changes": [list(change) for change in sequence.changes],
        **({"stays_open": True} if sequence.stays_open else {}),
        "steps": [_step_form(step, adapter) for step in sequence.steps],
    }


def _step_form(step: Step, adapter: FaultAdapter) -> dict[str, Any]:
    if isinstance(step, Connect):
        return {"connect": step.connection, "endpoint": step.endpoint}
    if isinstance(step, Finish):
        return {"finish": step.connection}
    if isinstance(step, Reset):
        return {"reset": step.connection}
    if isinstance(step, Pause):
        return {"pause": step.seconds}
    form: dict[str, Any] = {"send": step.connection, "message": step.message, "data": step.data.hex()}
    if not step.waits:
        form["waits"] = False
    if step.changes:
        form["changes"] = [list(change) for change in step.changes]
    if step.record is not None and (step.depends or step.edits or step.issued):
        form["recorded"] = step.record.raw.hex()
        form["fields"] = form_of(adapter, step.record)
        form["edits"] = [edit_form(edit) for edit in step.edits]
        form["issued"] = {name: [_value_form(value) for value in values] for name, values in step.issued.items()}
    return form


def edit_form(edit: Edit) -> dict[str, Any]:
    """Return the JSON form of an edit."""
    if isinstance(edit, SetField):
        return {"field": list(edit.steps), "value": edit.value}
    return {"offset": edit.offset, "removed": edit.removed, "inserted": edit.inserted.hex()}


def _value_form(value: IssuedValue) -> dict[str, Any]:
    role = value.role
    return {
        "at": list(value.steps),
        "role": "position" if isinstance(role, Position) else "issued",
        "kind": role.kind,
        "besides": list(role.besides),
        "scope": value.scope,
        "recorded": value.recorded,
    }


def sequence_from_form(form: Any, protocol: Protocol, *, name: str) -> FuzzSequence:
    """Return the sequence of a JSON form. InputError for one that is not."""
    try:
        return FuzzSequence(
            tuple(_step(each, protocol) for each in form["steps"]),
            str(form["origin"]),
            tuple(Change(*map(str, each)) for each in form["changes"]),
            str(form["setup"]),
            stays_open=bool(form.get("stays_open", False)),
        )
    except WiretoolError as err:
        raise InputError(f"{name}: not a sequence of steps: {err}; expected the file of a finding") from err
    except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as err:
        raise InputError(f"{name}: not a sequence of steps; expected the file of a finding") from err


def _step(form: Mapping[str, Any], protocol: Protocol) -> Step:
    if "connect" in form:
        return Connect(int(form["connect"]), str(form["endpoint"]))
    if "finish" in form:
        return Finish(int(form["finish"]))
    if "reset" in form:
        return Reset(int(form["reset"]))
    if "pause" in form:
        return Pause(_seconds(form["pause"]))
    message, data = str(form["message"]), bytes.fromhex(form["data"])
    changes = tuple(Change(*map(str, each)) for each in form.get("changes", ()))
    connection, waits = int(form["send"]), bool(form.get("waits", True))
    if "recorded" not in form:
        return Sending(connection, data, message, changes=changes, waits=waits)
    issued = {str(key): tuple(_value(each) for each in values) for key, values in form["issued"].items()}
    return Sending(
        connection,
        data,
        message,
        record_of(message, bytes.fromhex(form["recorded"]), form["fields"], protocol),
        tuple(edit_from_form(each) for each in form["edits"]),
        issued,
        depends=bool(issued.get("")),
        changes=changes,
        waits=waits,
    )


def record_of(message: str, raw: bytes, fields: Any, protocol: Protocol) -> Record:
    """Return the record of a frame as it is read alone, or with the noted fields if it depends on earlier frames."""
    reading = protocol.open(True).read("client", raw, 0, len(raw), 1)
    let_go(reading.defects)
    made = reading.fields if reading.message == message else fields
    return Record(1, "frame", 0, 0, "", "", "client", (0, 0), 0, len(raw), protocol.name, message, made, raw=raw)


def edit_from_form(form: Mapping[str, Any]) -> Edit:
    """Return the edit of a JSON form. KeyError or ValueError for one that is not."""
    if "field" in form:
        return SetField(tuple(form["field"]), form["value"])
    return Splice(int(form["offset"]), int(form["removed"]), bytes.fromhex(form["inserted"]))


def _seconds(value: Any) -> float:
    """Return the seconds of a pause. ValueError for a number that is not a duration."""
    seconds = float(value)
    if not 0 <= seconds < inf:
        raise ValueError(f"{value}: expected a finite number of seconds")
    return seconds


def _value(form: Mapping[str, Any]) -> IssuedValue:
    """Return an issued value. TypeError for a kind or scope that is a list or an object: a replay looks them up."""
    hash((form["kind"], form["scope"]))
    role: Issued | Position = Position(form["kind"]) if form["role"] == "position" else Issued(form["kind"])
    if "besides" in form:  # files of earlier versions have the default
        role = replace(role, besides=tuple(form["besides"]))
    return IssuedValue(tuple(form["at"]), role, form["scope"], form["recorded"])
