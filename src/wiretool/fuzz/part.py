"""The part of a protocol in fuzzing: mutations of its own, and problems that real servers show, too.

This is the interface module of the engine: `protocols/NAME/fuzz.py` declares a `FuzzPart` in `FUZZ`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from wiretool.codec.message import Message, Side
from wiretool.fuzz.mutations.base import Mutation
from wiretool.fuzz.sequences.call_streams import CallStreams
from wiretool.protocols.base.registry import protocol_named

_Phase = TypeVar("_Phase", bound=str)


class SessionTable(NamedTuple):
    """The messages that a client may send, by the phase of the session."""

    #: The phase in which a session begins.
    start: str
    #: The phase after a message, by the phase before it and the name of the message; after a call, by its last message.
    following: Mapping[tuple[str, str], str]
    #: The streams of calls, where a connection has any.
    streams: CallStreams | None = None

    @classmethod
    def of_clients(
        cls, start: _Phase, table: Mapping[tuple[_Phase, Side, type[Message]], _Phase], *, without: _Phase
    ) -> "SessionTable":
        """Return the messages of clients in the session table of a protocol; the phase `without` is left out."""
        following: dict[tuple[str, str], str] = {
            (phase, message.declaration.name): after
            for (phase, side, message), after in table.items()
            if side == "client" and phase != without
        }
        return cls(start, following)


@dataclass(frozen=True, slots=True)
class FuzzPart:
    """The part of one protocol."""

    mutations: tuple[Mutation, ...] = ()
    #: The messages of clients in the session table, from which seeds are generated; None for no such seeds.
    table: SessionTable | None = None
    #: Problems of replies that a server may show, by the name of the reply: the beginnings of their texts, without
    #: numbers.
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def fuzz_part_of(protocol: str) -> FuzzPart:
    """Return the part of a protocol; an empty one where it declares none."""
    part: FuzzPart | None = protocol_named(protocol).part("fuzz", FuzzPart)
    return FuzzPart() if part is None else part
