"""The recorded clients of the original server, spoken to the mock: it says the same, less what servers make up.

The roads hold what the original delivered from them. When it did is a matter of its clock: so messages are held
against messages, in their order, and everything else against everything else, in its order.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import SHARED
from tests.protocols.offramp.server.network import Network
from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message
from wiretool.dissect.dissector import read
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.messages import HandshakeRequest, MessageEvent, RebalanceEvent
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.records import Record

HERE = Path(__file__).parents[4] / "captures" / "offramp"
#: Those that are not among the captures of the project are played where they are at hand.
NAMES = (
    "big_mtu1500",
    "commit_storm",
    "deflate_context_takeover",
    "deflate_no_context_takeover",
    "err_counts",
    "err_handshake",
    "err_malformed",
    "err_tcp_end",
    "err_unknown_road",
    "framing",
    "mixed_noise",
    "payloads_intl",
    "plain",
    "plain_resume",
    "rebalance3",
    "unbounded_2000",
)
LAX = "an event that only the original's lax decoder takes ends the connection (decision 25)"
MEMORY = "the original in memory assigns its one partition at the first REQUEST of any count (reference 3.9)"
CLOCK = "messages came at a rate between the other events, and are all there at once here"
#: Where the mock says otherwise, and why: by capture and connection, in what.
DIFFERS: Mapping[tuple[str, int], tuple[set[str], str]] = {
    ("commit_storm", 0): (
        {"messages", "rebalances", "rest", "closer"},
        f"COMMIT before any demand fails (decision 15); {LAX}; all roads of a mock have as many partitions",
    ),
    ("err_counts", 0): ({"messages", "rebalances", "rest", "closer"}, f"{LAX}; {MEMORY}"),
    ("err_counts", 1): ({"rebalances"}, MEMORY),
    ("err_malformed", 6): ({"closer"}, "members come in any order (decision 5): it is the client that ends it"),
    ("err_malformed", 18): ({"messages", "rebalances"}, "a REQUEST is served before the malformed event behind it"),
    ("payloads_intl", 0): ({"rest"}, "half a surrogate pair in a correlationId comes back as it was, not as `?`"),
    ("rebalance3", 0): ({"messages"}, CLOCK),
    ("rebalance3", 1): ({"messages"}, CLOCK),
    ("rebalance3", 2): ({"messages"}, CLOCK),
}


#: Who says it, its name and its fields.
Frame = tuple[str, str, Any]


class Said(NamedTuple):
    """What a server said on one connection."""

    handshake: list[Any]
    messages: list[Any]
    rebalances: list[Any]
    #: Everything else: events and closes, in order.
    rest: list[Any]
    #: Pongs come between the others wherever they fit.
    pongs: list[Any]
    #: Who has sent the first Close.
    closer: list[str]


def said(frames: Sequence[Frame]) -> Said:
    """Sorts the frames of a connection."""
    out = Said([], [], [], [], [], [])
    for side, name, fields in frames:
        if name == "Close":
            out.closer[:] = out.closer or [side]
        if side == "client":
            continue
        fields = json_form(fields) if isinstance(fields, Message) else fields
        if name == "HandshakeResponse":
            out.handshake.append((fields["status"], fields["extensions"]))
        elif name == "MESSAGE":
            out.messages.append(fields)
        elif name == "REBALANCE":
            out.rebalances.append(fields)
        elif name == "Pong":
            out.pongs.append(fields)
        elif name == "Close":
            out.rest.append(("Close", fields["code"]))
        elif name not in ("Fragment", "Empty"):
            out.rest.append((name, fields))
    return out


def feed_of(records: Sequence[Record]) -> list[FeedMessage]:
    """What was on the roads, as far as anybody was told; the offsets that nobody was told are filled."""
    roads: dict[str, str] = {}
    found: dict[tuple[str, int], dict[int, MessageEvent]] = defaultdict(dict)
    for record in records:
        if isinstance(record.fields, HandshakeRequest) and record.fields.road is not None:
            roads[record.client] = record.fields.road
        elif isinstance(record.fields, MessageEvent) and record.side == "server":
            found[roads[record.client], record.fields.partition][record.fields.offset] = record.fields
    feed = []
    for (road, partition), messages in found.items():
        filler = MessageEvent(partition=partition, offset=0, schema=1, payload=None)
        for offset in range(max(messages) + 1):
            event = messages.get(offset, filler)
            feed.append(
                FeedMessage(
                    road=road,
                    partition=partition,
                    schema=event.schema,
                    timestamp=event.timestampMs,
                    payload=event.payload,
                )
            )
    return feed


def partitions_of(records: Sequence[Record]) -> int:
    """How many partitions the roads had, as far as it shows."""
    assigned = [record.fields.assignment for record in records if isinstance(record.fields, RebalanceEvent)]
    return 1 + max((partition for assignment in assigned for partition in assignment), default=0)


class Talk:
    """One recorded client, spoken to the mock."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.number = network.connect()
        #: What both have said.
        self.frames: list[Frame] = []
        self._connection = Connection(from_start=True)
        self._splitter = Splitter(self._connection, "server")
        self._read = 0

    def say(self, record: Record) -> None:
        """One more frame of the client, and what comes of it."""
        self._connection.read("client", record.raw, 0, len(record.raw), 1)
        self.frames.append(("client", record.message, None))
        self.network.send(self.number, record.raw)
        self.listen()

    def end(self, *, is_reset: bool) -> None:
        """The client is gone."""
        if self.number not in self.network.closed:
            (self.network.lose if is_reset else self.network.end)(self.number)
            self.listen()

    def listen(self) -> None:
        """Take what the mock has said since."""
        data = bytes(self.network.got[self.number][self._read :])
        self._read += len(data)
        for piece in self._splitter.feed(data) if data else ():
            assert piece.kind == "frame"
            reading = self._connection.read("server", piece.data, piece.at, piece.end, 2)
            assert not reading.defects
            self.frames.append(("server", reading.message, reading.fields))


def play(records: Sequence[Record], truth: Mapping[str, Any]) -> Mapping[str, list[Frame]]:
    """Speak all client sides to one mock in the order in which they were recorded; its answers by client."""
    feed = feed_of(records)
    roads = sorted({message.road or "" for message in feed} | {"bookings", "clicks"})
    network = Network(
        OfframpMock(roads=roads, feed=feed, partitions=partitions_of(records), agent_name="offramp-0", like_real=True)
    )
    resets = {each["client"] for each in truth["connections"] if each["close"]["tcp_end"] == "client-rst"}
    asked = [record for record in records if record.side == "client" and record.kind == "frame"]
    last = {record.client: record.n for record in asked}
    talks: dict[str, Talk] = {}
    for record in asked:
        if record.client not in talks:
            talks[record.client] = Talk(network)
        talk = talks[record.client]
        talk.say(record)
        if last[record.client] == record.n:
            talk.end(is_reset=record.client in resets)
    for talk in talks.values():
        talk.listen()
    return {client: talk.frames for client, talk in talks.items()}


@pytest.mark.parametrize("name", NAMES)
def test_recorded_clients_are_answered_as_by_the_original(name: str) -> None:
    paths = [folder / f"{name}.pcap" for folder in (HERE, SHARED / "captures" / "offramp")]
    path = next(path for path in paths if path.exists())
    truth = json.loads(path.with_suffix(".truth.json").read_text())
    port = f":{truth['server_port']}"
    records = [record for record in read(path) if record.server.endswith(port)]
    ours = play(records, truth)
    for connection in truth["connections"]:
        frames = [record for record in records if record.client == connection["client"] and record.kind == "frame"]
        theirs = said([(record.side, record.message, record.fields) for record in frames])
        got = said(ours[connection["client"]])
        differs = {aspect for aspect in Said._fields if getattr(got, aspect) != getattr(theirs, aspect)}
        excused, why = DIFFERS.get((path.stem, connection["conn"]), (set(), ""))
        assert differs == excused, (connection["conn"], why)
