"""One lie of a Pravega store seen three ways: by a replay, beside an honest server, and by `diff`."""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.replay.liars import Liar
from tests.replay.stage import Replayed, Stage
from wiretool.analysis.dialogues import Dialogue, Recording, Told
from wiretool.codec.message import Message
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.records import Record
from wiretool.replay.adapters import manners
from wiretool.replay.compare_servers import Row, grid
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.playing.player import Player
from wiretool.replay.script import script_of
from wiretool.server.options import MockOptions

#: The message as it should be -> as the server tells it.
Lie = Callable[[Any], Message]


def changed(**fields: Any) -> Lie:
    """Return a lie that sets fields; a function as a value makes the new value from the old one."""

    def lie(message: Any) -> Message:
        now = {name: new(getattr(message, name)) if callable(new) else new for name, new in fields.items()}
        told: Message = msgspec.structs.replace(message, **now)
        return told

    return lie


def play(recording: Recording, mock: PravegaMock, *, prepare: bool = True) -> Replayed:
    """Replay a recording against a store and its controller."""
    known = manners()
    script = script_of(recording, known)
    player = Player(script, known, prepare=recording if prepare else None)
    Stage(player, {"pravega": mock}).play()
    return Replayed(recording, script, player.outcomes(), player)


def server_of(recording: Recording) -> dict[str, Any]:
    """Return the options of a mock of the recorded wire version."""
    version = manners()["pravega"].mock_options(recording, MockOptions()).wire_version
    return {"wire_version": version} if version else {}


def find_in_replay(recording: Recording, name: str, lie: Lie, *, skip: int = 0, prepare: bool = True) -> list[Outcome]:
    """Return the findings of a replay in which the server lies, from the message on that follows `skip` like it."""
    liar = Liar(name, lie, skip=skip, is_steady=True, **server_of(recording))
    found = play(recording, liar, prepare=prepare).findings
    assert liar.has_lied
    return found


def find_beside_honest(recording: Recording, name: str, lie: Lie, *, skip: int = 0) -> list[Row]:
    """Return the rows in which the lying server is unlike an honest one."""
    liar = Liar(name, lie, skip=skip, is_steady=True, **server_of(recording))
    honest = play(recording, PravegaMock(**server_of(recording)))
    return list(grid(honest.outcomes, play(recording, liar).outcomes))


def find_in_diff(recording: Recording, name: str, lie: Lie, *, skip: int = 0) -> list[Outcome]:
    """Return the findings of a comparison with the same recording, in which the server lies."""
    other = alter(recording, name, lie, skip=skip)
    return [outcome for outcome in compare(recording, other, manners()) if outcome.verdict.is_finding]


def alter(recording: Recording, name: str, lie: Lie, *, skip: int = 0) -> Recording:
    """Return a recording in which the server lies."""
    told = 0
    dialogues: dict[Dialogue, Dialogue] = {}
    for each in recording.dialogues:
        dialogues[each] = Dialogue(each.number, each.client, each.server, each.protocol, each.is_opened, each.is_heard)
    other = Recording(list(dialogues.values()), is_cut=recording.is_cut)
    lies: dict[int, Record] = {}
    for event in recording.events:
        if isinstance(event, Told):
            record = event.record
            if record.side == "server" and record.message == name:
                told += 1
                if told > skip:
                    said = lie(record.fields)
                    message = said.declaration.name
                    record = msgspec.structs.replace(record, fields=said, message=message, raw=encode(said, "server"))
            lies[record.n] = record
            event = event._replace(record=record)
        other.events.append(event._replace(dialogue=dialogues[event.dialogue]))
    for each, copy in dialogues.items():
        copy.records += [lies.get(record.n, record) for record in each.records]
    assert told > skip
    return other
