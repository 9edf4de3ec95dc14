"""A replay against a mock in memory: no sockets, and time passes as fast as nobody needs it."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.net.calling.caller import Abort, Act, Dial, Finish, Send
from wiretool.replay.adapter import ReplayAdapter, Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.mocks import mocks_for
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import Script, script_of
from wiretool.server.mock import Action, Close, Mock
from wiretool.server.mock import Send as MockSend
from wiretool.server.options import MockOptions

START_NS = 1_800_000_000_000_000_000


@dataclass
class Replayed:
    """What came of a replay."""

    recording: Recording
    script: Script
    outcomes: list[Outcome]
    player: Player

    @property
    def findings(self) -> list[Outcome]:
        return [each for each in self.outcomes if each.verdict.is_finding]


class Stage:
    """Joins a player and mocks, one for each protocol, under one clock."""

    def __init__(self, player: Player, mocks: Mapping[str, Mock]) -> None:
        self.player = player
        self.mocks = mocks
        self.now_ns = START_NS
        self._mock_of: dict[int, Mock] = {}
        #: What the player wants done, in turn.
        self._acts: deque[Act] = deque()
        self._is_acting = False

    def play(self) -> None:
        self.play_until(inf)

    def play_until(self, end_ns: float) -> None:
        """To its end, or until that time."""
        self._act(self.player.start(self.now_ns))
        while not self.player.is_over and self.now_ns < end_ns:
            wakes = [self.player.wake_ns, *(mock.wake_ns for mock in self.mocks.values())]
            self.now_ns = max(min(wake for wake in wakes if wake is not None), self.now_ns)
            for mock in self.mocks.values():
                if mock.wake_ns is not None and mock.wake_ns <= self.now_ns:
                    self._answer(mock, mock.woken(self.now_ns))
            if self.player.wake_ns is not None and self.player.wake_ns <= self.now_ns:
                self._act(self.player.woken(self.now_ns))

    def _act(self, acts: Iterable[Act]) -> None:
        """Carry out acts, and those that come of them, one after the other."""
        self._acts.extend(acts)
        if self._is_acting:
            return
        self._is_acting = True
        while self._acts:
            self._carry_out(self._acts.popleft())
        self._is_acting = False

    def _carry_out(self, act: Act) -> None:
        now_ns, number = self.now_ns, act.connection
        if isinstance(act, Dial):
            mock, door = self._found(act.protocol)
            self._mock_of[number] = mock
            self._answer(mock, mock.opened(number, act.door or door, now_ns))
            self._act(self.player.opened(number, now_ns))
            return
        mock = self._mock_of[number]
        if isinstance(act, Send):
            self._answer(mock, mock.received(number, act.data, now_ns))
        elif isinstance(act, Finish):
            self._answer(mock, mock.ended(number, now_ns))
        elif isinstance(act, Abort):
            self._answer(mock, mock.lost(number, now_ns))

    def _found(self, protocol: str) -> tuple[Mock, str]:
        """Where a protocol is spoken: at the first door of its mock, or at that of another's mock."""
        mock = self.mocks.get(protocol)
        if mock is not None:
            return mock, mock.doors[0].name
        return next(
            (mock, door.name) for mock in self.mocks.values() for door in mock.doors if door.protocol == protocol
        )

    def _answer(self, mock: Mock, actions: Iterable[Action]) -> None:
        sent = set()
        for action in actions:
            if isinstance(action, MockSend):
                sent.add(action.connection)
                self._act(self.player.received(action.connection, action.data, self.now_ns))
            elif isinstance(action, Close):
                self._act(self.player.ended(action.connection, self.now_ns))
        for number in sent:
            if more := mock.drained(number, self.now_ns):
                self._answer(mock, more)


def counts(replayed: Replayed) -> Counter[Verdict]:
    """How many outcomes have which verdict."""
    return Counter(outcome.verdict for outcome in replayed.outcomes)


def check_no_finding(replayed: Replayed) -> None:
    """Something came of it, no finding, and what is not simply the same has a reason."""
    assert replayed.outcomes
    assert not replayed.findings
    for outcome in replayed.outcomes:
        assert outcome.reasons or outcome.verdict not in (Verdict.EXPLAINED, Verdict.UNKNOWN)


def replay(
    path: Path,
    *,
    options: MockOptions | None = None,
    mocks: Mapping[str, Mock] | None = None,
    speed: float = inf,
    prepare: bool = True,
    every: Mapping[str, ReplayAdapter] | None = None,
) -> Replayed:
    """Replay a capture against mocks: those given, or fresh ones such as the recording wants."""
    known = every or manners()
    recording = recording_of(read_packets([path]))
    script = script_of(recording, known)
    if mocks is None:
        spoken = {dialogue.protocol for dialogue in script.dialogues}
        mocks = mocks_for(recording, {name: known[name] for name in spoken}, options or MockOptions())
    player = Player(script, known, speed=speed, prepare=recording if prepare else None)
    Stage(player, mocks).play()
    return Replayed(recording, script, player.outcomes(), player)
