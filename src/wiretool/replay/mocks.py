"""The mocks to which a recording can be spoken again."""

from collections.abc import Mapping, Sequence

from wiretool.analysis.dialogues import Recording
from wiretool.replay.adapter import ReplayAdapter
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for


def mocks_for(
    recording: Recording, manners: Mapping[str, ReplayAdapter], options: MockOptions, copies: Sequence[Recording] = ()
) -> dict[str, Mock]:
    """By the protocol of its first door; one mock may have doors for several of the protocols.

    `copies` are played to them as well.
    """
    made: dict[str, MockOptions] = {}
    for manner in manners.values():
        made[manner.server] = manner.options_with_copies(recording, copies, made.get(manner.server, options))
    return {name: mock_for(name, each) for name, each in made.items()}
