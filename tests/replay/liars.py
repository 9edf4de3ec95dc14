"""Stores that say one thing otherwise than they should."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.protocols.pravega.server.recorded import messages_in
from wiretool.codec.message import Message
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.server.mock import Action, Send

#: The message as it should be -> as it is said, or None for nothing at all.
Lie = Callable[[Message], Message | None]


class Liar(PravegaMock):
    """Lies once, or ever after: in the reply `name` that comes after `skip` others like it."""

    def __init__(self, name: str, lie: Lie, *, skip: int = 0, is_steady: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._name = name
        self._lie = lie
        self._skip = skip
        self._is_steady = is_steady
        self.has_lied = False
        #: Connections to the store: others speak another protocol.
        self._stores: set[int] = set()

    def opened(self, connection: int, door: str, now_ns: int) -> list[Action]:
        if door == self.doors[0].name:
            self._stores.add(connection)
        return super().opened(connection, door, now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        return list(self._told(super().received(connection, data, now_ns)))

    def _told(self, actions: Iterable[Action]) -> Iterable[Action]:
        for action in actions:
            if isinstance(action, Send) and action.connection in self._stores and self._may_lie:
                said = b"".join(map(self._frame, messages_in(action.data)))
                yield Send(action.connection, said)
            else:
                yield action

    @property
    def _may_lie(self) -> bool:
        return self._is_steady or not self.has_lied

    def _frame(self, message: Message) -> bytes:
        told: Message | None = message
        if message.declaration.name == self._name and self._may_lie:
            is_lie = self._skip <= 0
            self._skip -= 1
            self.has_lied = self.has_lied or is_lie
            told = self._lie(message) if is_lie else message
        return b"" if told is None else encode(told, "server")
