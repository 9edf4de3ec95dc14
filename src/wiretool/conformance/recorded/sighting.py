"""Sightings: the places of a recording that show a case, with the verdict there."""

from dataclasses import dataclass

from wiretool.conformance.levels import Verdict


@dataclass(frozen=True, slots=True)
class Sighting:
    """A place in a recording where a case was exercised, and the verdict there."""

    verdict: Verdict
    why: str = ""
    expected: str = ""
    connection: int = 0
    #: The record that the verdict is about.
    n: int = 0
    time_ns: int = 0
    #: The number of the client's messages that match the case: on this connection, and on all of the case.
    matched: int = 0
    matched_in_all: int = 0
    #: Connections on which the client sent nothing else.
    explained: frozenset[int] = frozenset()

    @property
    def is_kept(self) -> bool:
        """Return whether the server kept the requirement here."""
        return self.verdict in (Verdict.PASS, Verdict.LENIENT)

    def is_longer_than(self, other: "Sighting") -> bool:
        """Return whether more messages of the client match here."""
        return self.matched_in_all > other.matched_in_all


class NotShown(Exception):
    """The recording does not show this case here."""


class Undecided(NotShown):
    """A gap, or the end of the capture, leaves open what the server replied."""


class Decided(Exception):
    """The server's reply decides the case."""

    def __init__(self, sighting: Sighting) -> None:
        super().__init__()
        self.sighting = sighting
