"""Plays a recording to mocks in memory, one of which may lie, and captures what was said."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from tests.replay.rewriting import RewritingStage
from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.errors import EncodeError
from wiretool.faults.adapter import FaultAdapter, Form
from wiretool.net.calling.caller import Abort, Act, Dial, Finish, Send
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.pravega_controller.calls import CALLS
from wiretool.records import Record
from wiretool.replay.adapters import manners
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.mocks import mocks_for
from wiretool.replay.playing.connection import Line
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.server.mock import Action, Close, Mock
from wiretool.server.mock import Send as MockSend
from wiretool.server.options import MockOptions
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import Recording as Pcapng

#: Frames without fields of their own.
_OPAQUE = frozenset({"Unknown", "Fragment", "Empty", "Deflated"})
_FIRST_PORT = 40_000


@dataclass(frozen=True, slots=True)
class Reply:
    """One message of a live server."""

    #: Its place among all of the run, from 0.
    at: int
    protocol: str
    record: Record
    form: Form
    #: The live request that it answers.
    request: Record | None
    #: The number of the recorded connection.
    dialogue: int
    #: How many bytes the client had sent on its connection, and how many messages of the server came before it.
    heard: int
    turn: int


#: The bytes to send in place of a message.
Rewrite = Callable[[Reply, FaultAdapter, Conversation], bytes]


@dataclass(slots=True)
class Played:
    """A run: what became of each exchange, what the servers said, and a capture of it."""

    outcomes: list[Outcome]
    replies: list[Reply]
    capture: Recording
    requests: list[Record] = field(default_factory=list)


class Censor(RewritingStage):
    """Captures a run and counts the messages of its servers."""

    def __init__(self, player: Player, mocks: Mapping[str, Mock], rewrite: Rewrite | None) -> None:
        super().__init__(player, mocks)
        self.replies: list[Reply] = []
        self.requests: list[Record] = []
        self._rewrite_reply = rewrite
        self._asked: dict[int, Record] = {}
        self._sent: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._file = BytesIO()
        self._pcapng = Pcapng(Output(self._file))
        self._captured: set[int] = set()
        self.ports: dict[int, str] = {}

    def capture(self) -> Recording:
        """Return the recording of the run."""
        self._pcapng.begin()
        self._file.seek(0)
        return recording_of(read_packets([self._file]), ports=self.ports)

    # -- what is captured ----------------------------------------------------------------------------------------------

    def _carry_out(self, act: Act) -> None:
        number = act.connection
        if isinstance(act, Dial) and not act.is_aside:
            host, port = _address(self.line(number).dialogue.server)
            self.ports[port] = act.protocol
            self._captured.add(number)
            self._pcapng.opened(number, ("127.0.0.1", _FIRST_PORT + number), (host, port), self.now_ns)
        elif number in self._captured and isinstance(act, Send) and act.data:
            self._sent[number] = self._sent.get(number, 0) + len(act.data)
            self._pcapng.sent(number, "client", act.data, self.now_ns)
        elif number in self._captured and isinstance(act, Finish):
            self._pcapng.finished(number, "client", self.now_ns)
        elif number in self._captured and isinstance(act, Abort):
            self._pcapng.lost(number, "client", self.now_ns)
        super()._carry_out(act)

    def _rewritten(self, action: Action) -> Action:
        made = super()._rewritten(action)
        if isinstance(made, MockSend) and made.connection in self._captured and made.data:
            self._pcapng.sent(made.connection, "server", made.data, self.now_ns)
        elif isinstance(made, Close) and made.connection in self._captured:
            self._pcapng.finished(made.connection, "server", self.now_ns)
        return made

    # -- what is said --------------------------------------------------------------------------------------------------

    def read_request(self, record: Record) -> None:
        self._asked[record.n] = record
        if record.kind == "frame":
            self.requests.append(record)

    def rewrite(self, record: Record, line: Line) -> bytes:
        dialect = line.manner.dialect
        if not is_message(record, dialect):
            return record.raw
        number = record.connection
        reply = Reply(
            at=len(self.replies),
            protocol=line.manner.protocol.name,
            record=record,
            form=dialect.form(record),
            request=self._asked.get(record.reply_to or 0),
            dialogue=line.dialogue.number,
            heard=self._sent.get(number, 0),
            turn=self._turns.get(number, 0),
        )
        self._turns[number] = reply.turn + 1
        self.replies.append(reply)
        if self._rewrite_reply is None:
            return record.raw
        return self._rewrite_reply(reply, dialect, self.watch(number).conversation)


def is_message(record: Record, dialect: FaultAdapter) -> bool:
    """Return whether it is a message whose fields can be written again."""
    if record.kind != "frame" or record.message in _OPAQUE or dialect.why_fixed("server", record.raw):
        return False
    if record.protocol == "pravega-controller":
        return (record.message, "server") in CALLS
    return record.fields is not None


def encoded(reply: Reply, form: Form, dialect: FaultAdapter, conversation: Conversation) -> bytes | None:
    """Return the message with other fields; None where it cannot be written."""
    try:
        return dialect.frame(reply.record, form, reply.record.raw, conversation, random.Random(1))
    except EncodeError:
        return None


def play(recording: Recording, rewrite: Rewrite | None = None, *, seed: int = 0, prepare: bool = True) -> Played:
    """Replay to fresh mocks, as `replay` does without a target, or as with one where nothing is prepared."""
    known = manners()
    script = script_of(recording, known)
    spoken = {dialogue.protocol for dialogue in script.dialogues}
    mocks = mocks_for(recording, {name: known[name] for name in spoken}, MockOptions(seed=seed))
    player = Player(script, known, prepare=recording if prepare else None)
    stage = Censor(player, mocks, rewrite)
    stage.play()
    return Played(player.outcomes(), stage.replies, stage.capture(), stage.requests)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]") or "127.0.0.1", int(port)


def as_text(steps: Sequence[Any]) -> str:
    """Return a place as users write it."""
    return ".".join(str(step) for step in steps)


def differing(forms: Iterable[tuple[Any, Any]]) -> int:
    """Return how many pairs differ."""
    return sum(one != other for one, other in forms)
