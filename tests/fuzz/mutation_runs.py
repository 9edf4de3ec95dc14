"""Runs of single mutations, for their tests: what they send, and whether clean mocks survive it."""

import random
from typing import NamedTuple

from tests.fuzz.helpers import session_of
from wiretool.codec.message import Side
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.mutations.base import Mutation
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.fuzz.session import all_mutations

#: Mutated sequences after which a clean mock counts as sound.
CLEAN_RUNS = 300


class Mutated(NamedTuple):
    """A message before and after a mutation, and the sequence with it."""

    before: Sending
    after: Sending
    sequence: FuzzSequence


def mutation_named(protocol: str, name: str) -> Mutation:
    """Return a mutation of a protocol."""
    (found,) = [each for each in all_mutations(protocol) if each.name == name]
    return found


def mutated(protocol: str, name: str, *, rounds: int = 3, seed: int = 5) -> list[Mutated]:
    """Apply a mutation to each seed some times; return the messages that it changed, steps in their place aside."""
    session = session_of(protocol)
    mutation, rng = mutation_named(protocol, name), random.Random(seed)
    found = []
    for sequence in session.seeds * rounds:
        made = mutation.apply(sequence, rng, session.context(sequence.setup))
        if made is None:
            continue
        pairs = [
            (before, after)
            for before, after in zip(sequence.steps, made.steps, strict=False)
            if before != after and isinstance(before, Sending) and isinstance(after, Sending)
        ]
        if pairs:
            found.append(Mutated(*pairs[-1], made))
    return found


class _Heard:
    """A recording that keeps only the bytes of clients."""

    def __init__(self) -> None:
        self.data = b""

    def opened(self, connection: int, client: tuple[str, int], server: tuple[str, int], now_ns: int) -> None:
        """A client connected."""

    def sent(self, connection: int, side: Side, data: bytes, now_ns: int, *, comment: str = "") -> None:
        """Keep bytes of a client."""
        if side == "client":
            self.data += data

    def finished(self, connection: int, side: Side, now_ns: int) -> None:
        """A side has sent its last byte."""

    def lost(self, connection: int, side: Side, now_ns: int) -> None:
        """A side reset the connection."""

    def forget(self, connection: int) -> None:
        """Nothing more comes of a connection."""


def reaches_server(protocol: str, each: Mutated) -> bool:
    """Run a sequence on a fresh mock; return whether that received the changed message."""
    heard = _Heard()
    session_of(protocol).mock_target().record(each.sequence, heard)  # type: ignore[arg-type]
    return each.after.data in heard.data


def reaching(protocol: str, found: list[Mutated], *, tries: int = 30) -> int:
    """Return how many of the first changed messages reach the server; those without live values come first."""
    fixed = sorted(found, key=lambda each: each.after.depends)
    return sum(reaches_server(protocol, each) for each in fixed[:tries])


def findings_with(protocol: str, name: str, *, runs: int = CLEAN_RUNS, seed: int = 11) -> list[str]:
    """Fuzz the clean mock with one mutation alone; return the titles of findings."""
    session = session_of(protocol)
    target = session.mock_target()
    found: list[str] = []
    campaign = session.campaign(
        target,
        session.investigation(target, is_reference=True),
        Limits(runs=runs, seeds=0),
        mutations=[mutation_named(protocol, name)],
        on_finding=lambda finding: found.append(finding.title),
    )
    campaign.cases = ()
    campaign.rng.seed(seed)
    campaign.run()
    return found
