"""A scripted server in memory: the replies to each message of a client, for tests of the engine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message
from wiretool.conformance.active.in_memory import InMemory
from wiretool.conformance.active.run import ConformanceCaller
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.results import CaseResult
from wiretool.protocols.pravega import PROTOCOL
from wiretool.server.mock import Door, Link, Mock

#: What the server does about a message: replies by name and fields, `close`, or a pair of seconds and such an act.
Act = Any
Script = Callable[[str, Mapping[str, Any]], Sequence[Act]]
NS_PER_S = 1_000_000_000


class ScriptedLink(Link):
    """Decodes messages of the client and does what the script says."""

    def __init__(self, mock: "ScriptedMock", connection: int) -> None:
        self._mock = mock
        self._connection = connection
        self._conversation = PROTOCOL.open(True)
        self._splitter = Splitter(self._conversation, "client")

    def feed(self, data: bytes, now_ns: int) -> None:
        for piece in self._splitter.feed(data):
            reading = self._conversation.read("client", piece.data, piece.at, piece.end, 1)
            assert isinstance(reading.fields, Message)
            for act in self._mock.script(reading.message, json_form(reading.fields)):
                self._mock.act(self._connection, act, now_ns)

    def end(self, now_ns: int) -> None:
        self._mock.outbox.close(self._connection)


class ScriptedMock(Mock):
    """A server with one door that follows a script."""

    doors = (Door("store", 12345, "pravega"),)

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        return ScriptedLink(self, connection)

    def forget(self) -> None:
        """There is no state."""

    def act(self, connection: int, act: Act, now_ns: int) -> None:
        """Do one act, at once or later."""
        match act:
            case "close":
                self.outbox.close(connection)
            case bytes():
                self.outbox.send(connection, act)
            case (str() as name, dict() as fields):
                self.outbox.send(connection, PROTOCOL.encode(PROTOCOL.from_json(name, "server", fields), "server"))
            case (float() as seconds, later):
                self.timers.at(now_ns + round(seconds * NS_PER_S), lambda now_ns: self.act(connection, later, now_ns))
            case _:
                raise AssertionError(act)


def run_case(case: Case, script: Script, part: Conformance | None = None) -> CaseResult:
    """Run one case against a scripted server."""
    part = part or Conformance(protocol="pravega", server="pravega", cases=(case,))
    caller = ConformanceCaller([case], part, token="t", patience_s=2.0)
    InMemory(caller, ScriptedMock(script)).run()
    return caller.results[0]
