"""A field of a message as the user names it, `SegmentRead.at_tail`, and which differences are there."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.jsonform import nearest
from wiretool.errors import UsageError
from wiretool.faults.adapter import fault_adapter_of
from wiretool.faults.words import Words
from wiretool.filter import Names, names_for
from wiretool.filter.names import spelt
from wiretool.protocols.base.protocol import Protocol
from wiretool.replay.adapter import Difference, Steps
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report.data import message_of


class Spot(NamedTuple):
    """A field; no steps stand for the message itself. A field of a list's elements is one of every element."""

    message: str
    steps: Steps

    def holds(self, outcome: Outcome, difference: Difference) -> bool:
        """Whether a difference is in this field, or in what is inside it."""
        steps = difference.steps if any(type(step) is int for step in self.steps) else named(difference.steps)
        is_there = steps[: len(self.steps)] == self.steps if self.steps else not steps
        return is_there and message_of(outcome, difference) == self.message


def named(steps: Steps) -> Steps:
    """Steps without the places in lists."""
    return tuple(step for step in steps if type(step) is not int)


def spot_of(text: str, protocols: Iterable[Protocol]) -> Spot:
    """What `MESSAGE.FIELD`, or `MESSAGE` alone, names; UsageError where no message, or none so called, has it."""
    words = Words(text)
    try:
        steps = words.path()
        words.expect_end()
    except UsageError as err:
        raise UsageError(f"{text!r}: not a field; expected MESSAGE.FIELD, such as SegmentRead.at_tail") from err
    spot = Spot(str(steps[0]), tuple(steps[1:]))
    check_spot(spot, protocols)
    return spot


def field_of(text: str) -> Steps:
    """The steps of a field as expressions spell it; UsageError for what is none."""
    words = Words(text)
    try:
        steps = words.path()
        words.expect_end()
    except UsageError as err:
        raise UsageError(f"{text!r} is not a field") from err
    return tuple(steps)


def check_spot(spot: Spot, protocols: Iterable[Protocol]) -> None:
    """UsageError where no message is called so, or none that is has such a field."""
    every = list(protocols)
    having = [
        protocol for protocol in every if any(name == spot.message for _, name in fault_adapter_of(protocol).kinds)
    ]
    if not having:
        known = {name for protocol in every for _, name in fault_adapter_of(protocol).kinds}
        raise UsageError(f"no message is called {spot.message!r}{nearest(spot.message, known)}")
    whys = [_why_not(spot, protocol) for protocol in having]
    if all(whys):
        raise UsageError(whys[0])


def _why_not(spot: Spot, protocol: Protocol) -> str:
    """Why messages of a protocol have no such field; empty where they have."""
    here = _names_of(spot.message, protocol)
    for at, step in enumerate(spot.steps):
        while isinstance(step, str) and here.element is not None and not here.members:
            here = here.element
        found = here.at(step)
        if found is None:
            near = nearest(str(step), here.members)
            return f"{spot.message} has no field {spelt(spot.steps[: at + 1])!r}{near}"
        here = found
    return ""


@cache
def _names_of(message: str, protocol: Protocol) -> Names:
    """The fields of what is called so; where a message is a table in a frame, those of any frame."""
    if any(issubclass(cls, Table) for cls in protocol.messages):
        return names_for([protocol]).members["fields"]
    names = Names()
    for (_, name), cls in fault_adapter_of(protocol).declared.items():
        if name == message:
            names.add_fields(cls)
    return names
