"""The load part of a protocol: all that the load engine must know of it.

Importing a user class imports Locust, which changes the standard library. So a part names its user classes as places,
`module:Class`, and only load processes and locustfiles import them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from wiretool.errors import UsageError
from wiretool.load.events import Head
from wiretool.load.link import Link
from wiretool.load.planning.plan import Place, Plan
from wiretool.protocols.base.encoder import ConnectionEncoder
from wiretool.protocols.base.registry import PROTOCOLS, parts_of, protocol_named, protocols_with


class SegmentReader(Protocol):
    """A connection over which segments are read."""

    link: Link

    def read(self, segment: str) -> Iterator[bytes]:
        """Yield all bytes that a segment has now, in pieces. Unmet where it has lost its first ones."""


class StoredFormat(NamedTuple):
    """How events are stored, and how they are read back."""

    #: The bytes before each event.
    head: Head
    #: Make a reader on a connection, with the token that the store requires, empty for none.
    reader: Callable[[Link, str], SegmentReader]


# -- recordings --------------------------------------------------------------------------------------------------------


class JoinedAppends(NamedTuple):
    """Appends in recordings that several frames make up: `Record.append` of the last of them."""

    #: The field of `Record.append` that identifies the writer.
    writer: str


class CarriedBatch(NamedTuple):
    """The content of one append that is a message of its own."""

    #: The stream that it goes to, empty where the message does not show it.
    stream: str
    events: int
    #: Sizes of its events, each with its count.
    sizes: Sequence[tuple[int, int]]


class CarriedAppends(NamedTuple):
    """Appends in recordings that are one message each."""

    message: str
    #: The field that carries the events, and the names inside it that `read` looks at.
    field: str
    kept: frozenset[str]
    #: Read that field in its JSON form; bytes may be there as their length alone. Empty where it cannot be read.
    read: Callable[[Any], CarriedBatch]


class Consumption(NamedTuple):
    """Names in recordings of clients that only read: a message, and the request for so many of them."""

    message: str
    request: str
    #: The field of the request with the number of messages.
    number: str
    #: The message after which no more of them will come.
    cancel: str


# -- a stream of its own for a run -------------------------------------------------------------------------------------


class StreamSegments(NamedTuple):
    """The segments of a stream, and the token that their stores require."""

    places: tuple[Place, ...]
    #: Empty where they require none.
    token: str
    #: Seconds from the issue of the token to its expiry; None where it does not tell.
    token_s: float | None = None


class RunStream(Protocol):
    """A stream on a real server for the time of one run. PeerError, with the controller's address, if that refuses."""

    def make(self, segments: int) -> StreamSegments:
        """Create the stream, with so many segments for all of its time."""

    def renewed(self, plan: Plan) -> Plan:
        """Return the plan with a new token, if it has one: that may be too old by now."""

    def remove(self) -> str:
        """Delete what was created; return why something is left, empty where nothing is. May be repeated."""

    def left(self, why: str) -> str:
        """Return a remark that something is left, and why; empty where nothing is."""


# -- the part ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LoadPart:
    """What `Protocol.load` names. The defaults are those of a store to which clients append."""

    #: Places of the user classes (`module:Class`) that append and that read; no appender where clients only read.
    appender: str = ""
    fetcher: str = ""
    #: None where nothing is appended.
    stored: StoredFormat | None = None
    #: The measured operations; the one of appenders; those of fetchers, of which one at least has to be measured.
    operations: tuple[str, ...] = ("append", "fetch", "tail")
    writes: str = "append"
    reads: tuple[str, ...] = ("fetch", "tail")
    #: The default of `--batch`: events of one append, or messages of one request.
    batch: int = 1
    #: Whether appenders share segments; otherwise each has a stream of its own.
    has_shared_segments: bool = True
    has_conditional_appends: bool = False
    #: Whether an acknowledgement covers all that its writer sent before.
    is_cumulative: bool = True
    #: Whether a message contains the number of bytes before it on its connection.
    is_positional: bool = False
    #: The load in recordings: how appends, or messages, are found; the message by which a client reads.
    recorded: JoinedAppends | CarriedAppends | Consumption | None = None
    read_message: str = ""
    #: Whether appenders send the request of `--message` again and again.
    has_message: bool = False
    #: Options that the mock of a run requires, as `wiretool serve` has them.
    mock_options: tuple[str, ...] = ()
    #: The place of the class of its `RunStream`, called with the address of a controller, the run and headers; empty
    #: where servers have no controller.
    run_stream: str = ""

    @property
    def is_read_only(self) -> bool:
        """Whether clients only read."""
        return not self.appender


#: The part of a protocol without one, from its declarations alone.
EXCHANGES = LoadPart(
    appender="wiretool.load.users.exchanger:Exchanger",
    operations=("exchange",),
    writes="exchange",
    reads=(),
    has_message=True,
)


def loadable() -> list[str]:
    """Return the names of the protocols that have a load part, in order."""
    return protocols_with("load")


def load_part(name: str) -> LoadPart:
    """Return the load part of a protocol, `EXCHANGES` where it has none.

    UsageError where its frames depend on those before them, so that none can be sent again.
    """
    if name in loadable():
        part: LoadPart = protocol_named(name).part("load", LoadPart)
        return part
    if name in PROTOCOLS and PROTOCOLS[name].encoder is ConnectionEncoder:
        return EXCHANGES
    protocol_named(name)
    raise UsageError(f"--protocol {name}: the protocol has no load part; expected {', '.join(loadable())}")


def describe_owners(what: str, is_owner: Callable[[LoadPart], bool]) -> str:
    """Return which protocols have something, by their load part, for an error message."""
    names = [name for name, part in parts_of("load", LoadPart) if is_owner(part)]
    if not names:
        return f"no protocol has {what}"
    return f"only {' and '.join(names)} {'has' if len(names) == 1 else 'have'} {what}"


def user_places() -> Mapping[str, str]:
    """Return the places of all user classes by the name of the class; a broken plugin has none."""
    found: dict[str, str] = {}
    for _, part in parts_of("load", LoadPart):
        for place in filter(None, (part.appender, part.fetcher)):
            found.setdefault(place.rpartition(":")[2], place)
    return found
