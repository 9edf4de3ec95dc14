"""Defects of the mock segment store."""

from wiretool.conformance.mutants import Mutant, Patcher
from wiretool.servers.pravega import appending


def _ack_repeats_number(patcher: Patcher) -> None:
    patcher.wrap(
        appending,
        "ack",
        lambda ack: lambda head, number, acked, request_id, length: ack(head, number, number, request_id, length),
    )


MUTANTS: tuple[Mutant, ...] = (
    Mutant("ack-previous", "DataAppended names its own number as the previous one.", _ack_repeats_number),
)
