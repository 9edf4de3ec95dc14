"""The state of one comparison of a case with a recording: bindings, progress on each connection, and time."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wiretool.conformance.case import Case, Conformance, Reply, Send
from wiretool.conformance.recorded.observed import Closing, Item, Missing, Observed, ObservedConnection
from wiretool.conformance.recorded.sighting import NotShown, Undecided
from wiretool.conformance.recorded.traffic_index import TrafficIndex
from wiretool.conformance.values import Bindings, first_difference
from wiretool.protocols.base.protocol import Protocol


@dataclass(slots=True)
class FollowedConnection:
    """The progress along one connection."""

    connection: ObservedConnection
    #: The next item of each side.
    client_at: int = 0
    server_at: int = 0
    #: The number of the client's messages that match.
    matched: int = 0
    #: The rest of a frame whose beginning matched.
    raw_left: bytes = b""
    #: Whether the last message left together with the next one.
    is_held: bool = False

    @property
    def items(self) -> list[Item]:
        """The messages, gaps and ends of both sides."""
        return self.connection.items

    def next_of_client(self, is_skipped: Callable[[Observed], bool], until: int | None = None) -> int | None:
        """Return the position of the client's next message, gap or end, before a position."""
        for at in range(self.client_at, len(self.items) if until is None else until):
            item = self.items[at]
            if item.side == "client" and not (isinstance(item, Observed) and is_skipped(item)):
                return at
        return None

    def next_of_server(self, is_skipped: Callable[[Observed], bool]) -> int | None:
        """Return the position of the server's next message or end."""
        for at in range(self.server_at, len(self.items)):
            item = self.items[at]
            if item.side != "server":
                continue
            if isinstance(item, Missing):
                raise Undecided
            if not (isinstance(item, Observed) and is_skipped(item)):
                return at
        return None


@dataclass(slots=True)
class MatchState:
    """All that the steps of a case share while a recording is compared with them."""

    case: Case
    part: Conformance
    protocol: Protocol
    index: TrafficIndex
    bindings: Bindings = field(default_factory=lambda: Bindings(None))
    followed: dict[str, FollowedConnection] = field(default_factory=dict)
    #: The record with which the conversation begins.
    start_n: int = 0
    #: When the previous step was done, and how long the client then has to wait.
    now_ns: int = 0
    waits_until_ns: int = 0
    #: Whether an outcome has ended the case before its last step.
    is_over: bool = False
    #: The last outcome that is not a plain pass.
    graded: Reply | None = None

    def begin(self, connection: ObservedConnection) -> None:
        """Let the conversation begin with a connection."""
        self.start_n = next((message.n for message in connection.messages if message.side == "client"), 0)
        self.now_ns = connection.opened_ns

    @property
    def unsent(self) -> frozenset[str]:
        """Messages that may come at any time, and that no step sends."""
        return self.part.ignore - {step.message for step in self.case.steps if isinstance(step, Send)}

    def is_automatic(self, message: Observed, step: Send | None = None) -> bool:
        """Return whether a message of the client belongs to no step: it only reacts, or has no meaning here."""
        if message.n in self.index.automatic:
            return step is None or not self._is_sent_by(step, message)
        return message.name in self.unsent

    def _is_sent_by(self, step: Send, message: Observed) -> bool:
        bindings = self.bindings.copy()
        return step.message == message.name and all(
            first_difference(expected, message.fields.get(name), bindings, name) is None
            for name, expected in step.fields.items()
        )

    def unmatched(self, followed: FollowedConnection, until: int | None = None) -> Item | None:
        """Return the client's next message, gap or end that no step has taken, before a position."""
        at = followed.next_of_client(self.is_automatic, until)
        return None if at is None else followed.items[at]

    def take_sent(self, followed: FollowedConnection, step: Send | None = None) -> Observed:
        """Return the client's next message."""
        at = followed.next_of_client(lambda message: self.is_automatic(message, step))
        item = None if at is None else followed.items[at]
        if isinstance(item, Missing):
            raise Undecided
        if at is None or not isinstance(item, Observed) or item.time_ns < self.waits_until_ns:
            raise NotShown
        if followed.is_held and any(each.side == "server" for each in followed.items[followed.client_at : at]):
            raise NotShown
        followed.client_at = at + 1
        self.now_ns = max(self.now_ns, item.time_ns)
        followed.matched += 1
        return item

    def has_explained(self, followed: FollowedConnection) -> bool:
        """Return whether the client sent no message that the case does not send."""
        later = followed.items[followed.client_at :]
        return not followed.raw_left and not any(
            each.side == "client" and not isinstance(each, Closing) and not self._is_skipped(each) for each in later
        )

    def _is_skipped(self, item: Item) -> bool:
        return isinstance(item, Observed) and self.is_automatic(item)
