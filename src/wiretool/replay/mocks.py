"""The mocks to which a recording can be spoken again."""

from collections.abc import Mapping

from wiretool.replay.manners.manner import Manner
from wiretool.servers.choose import mock_for
from wiretool.servers.mock import Mock
from wiretool.servers.options import MockOptions
from wiretool.sessions.dialogues import Recording


def mocks_for(recording: Recording, manners: Mapping[str, Manner], options: MockOptions) -> dict[str, Mock]:
    """By the protocol of its first door; one mock may have doors for several of the protocols."""
    made: dict[str, MockOptions] = {}
    for manner in manners.values():
        made[manner.server] = manner.mock_options(recording, made.get(manner.server, options))
    return {name: mock_for(name, each) for name, each in made.items()}
