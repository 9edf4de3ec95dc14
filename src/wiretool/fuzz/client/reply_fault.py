"""The test case of a client run: faults of single messages of the server."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from wiretool.errors import InputError
from wiretool.fuzz.sequences.json import edit_form, edit_from_form
from wiretool.fuzz.sequences.sequence import Change, Edit


class FaultKind(StrEnum):
    """The fault of one message of the server."""

    EDIT = "edit"
    DROP = "drop"
    DOUBLE = "double"
    SWAP = "swap"
    CLOSE = "close"
    RESET = "reset"
    DELAY = "delay"
    BYTEWISE = "byte-by-byte"


#: Faults of the network: every message that arrives is as the server sent it.
LEGAL_KINDS = frozenset({FaultKind.CLOSE, FaultKind.RESET, FaultKind.DELAY, FaultKind.BYTEWISE})


@dataclass(frozen=True, slots=True)
class ReplyFault:
    """One message of the server is changed, lost, repeated, late, or the last one of its connection."""

    #: The name of the message, and its number among those of that name in a run, from 1.
    message: str
    nth: int
    kind: FaultKind
    change: Change
    #: Changes of the message, for `edit`.
    edits: tuple[Edit, ...] = ()
    #: Bytes of the message that arrive before the connection ends, for `close` and `reset`.
    cut: int = 0
    #: Further copies of the message, for `double`.
    times: int = 1
    #: The delay in seconds, for `delay`.
    seconds: float = 0.0


#: The faults of one run.
Plan = tuple[ReplyFault, ...]


def fault_form(fault: ReplyFault) -> dict[str, Any]:
    """Return the JSON form of a fault."""
    return {
        "message": fault.message,
        "nth": fault.nth,
        "kind": str(fault.kind),
        "change": list(fault.change),
        "edits": [edit_form(each) for each in fault.edits],
        "cut": fault.cut,
        "times": fault.times,
        "seconds": fault.seconds,
    }


def plan_from_form(form: Any, *, name: str) -> Plan:
    """Return the faults of a JSON form. InputError for one that is not."""
    try:
        return tuple(_fault(each) for each in form)
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise InputError(f"{name}: not a list of faults ({err}); expected the file of a finding") from err


def _fault(form: Mapping[str, Any]) -> ReplyFault:
    return ReplyFault(
        str(form["message"]),
        int(form["nth"]),
        FaultKind(form["kind"]),
        Change(*map(str, form["change"])),
        tuple(edit_from_form(each) for each in form["edits"]),
        int(form["cut"]),
        int(form["times"]),
        float(form["seconds"]),
    )
