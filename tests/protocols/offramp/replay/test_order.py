"""Tests of the order in which a consumer may hear the messages of a stream."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.replay.stage import replay
from wiretool.analysis.dialogues import Dialogue, in_turn
from wiretool.capture.files.reading import read_packets
from wiretool.cli import app
from wiretool.codec.message import Message, Side
from wiretool.protocols.offramp.handshake import request
from wiretool.protocols.offramp.messages import (
    CommitEvent,
    CommitResponseEvent,
    ConnectionEvent,
    MessageEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.replay.consumer_trace import course_of
from wiretool.protocols.offramp.replay.known_differences import Excuses
from wiretool.protocols.offramp.replay.order import Deliveries, breaches_in
from wiretool.protocols.offramp.replay.roads import is_decided
from wiretool.records import Record
from wiretool.replay.adapter import Difference
from wiretool.replay.adapters import manners
from wiretool.replay.compare_servers import grid
from wiretool.replay.recording import recording_of
from wiretool.server.mock import Outbox
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

CAPTURES = Path(__file__).parents[4] / "captures" / "offramp"
Said = tuple[int, Side, Message]
HEAD = "/offramp/v2/roads/bookings/streams/{}/messages?defaultOffset={}"


def opened(connection: int, *, stream: str = "s", default: str = "EARLIEST", count: int = 100) -> list[Said]:
    """A consumer connects and asks for messages."""
    return [
        (connection, "client", request(HEAD.format(stream, default), ())),
        (connection, "server", ConnectionEvent(agentName="a")),
        (connection, "client", RequestEvent(count=count)),
    ]


def assigned(connection: int, *partitions: int) -> Said:
    return connection, "server", RebalanceEvent(assignment=partitions)


def heard(connection: int, *offsets: int, partition: int = 0) -> list[Said]:
    events = (MessageEvent(partition=partition, offset=at, schema=1, payload={"id": at}) for at in offsets)
    return [(connection, "server", event) for event in events]


def commit(connection: int, offset: int, *, success: bool | None = True) -> list[Said]:
    """A COMMIT, and its answer unless there is none."""
    said: list[Said] = [(connection, "client", CommitEvent(correlationId="c", offsets={"0": offset}))]
    answer = CommitResponseEvent(correlationId="c", success=bool(success))
    return said if success is None else [*said, (connection, "server", answer)]


def records(*said: Said | Sequence[Said]) -> list[Record]:
    """The records of a run; a COMMIT_RESPONSE answers the COMMIT before it."""
    told: list[Said] = []
    for each in said:
        told += [each] if isinstance(each, tuple) else each
    return [
        Record(
            n=n,
            kind="frame",
            time_ns=n,
            connection=connection,
            client="c",
            server="s",
            side=side,
            packets=(n, n),
            offset=0,
            length=1,
            protocol="offramp",
            message=message.declaration.name,
            fields=message,
            reply_to=n - 1 if isinstance(message, CommitResponseEvent) else None,
        )
        for n, (connection, side, message) in enumerate(told, 1)
    ]


ONE = [*opened(1), assigned(1, 0)]
#: What a stream may say, each with the rule that lets it.
LAWFUL: dict[str, list[Any]] = {
    "offsets rise": [ONE, heard(1, 4, 5, 6)],
    "offsets rise in each partition": [
        opened(1),
        assigned(1, 0, 1),
        heard(1, 4),
        heard(1, 0, partition=1),
        heard(1, 5),
    ],
    "without a commit it begins anew": [ONE, heard(1, 0, 1, 2), assigned(1, 0), heard(1, 0, 1)],
    "it begins at the commit": [ONE, heard(1, 0, 1, 2, 3), commit(1, 2), assigned(1, 0), heard(1, 2, 3)],
    "it goes on where it was": [ONE, heard(1, 0, 1, 2, 3), commit(1, 2), assigned(1, 0), heard(1, 4)],
    "a commit under way counts or not": [
        *(ONE, heard(1, 0, 1, 2, 3), commit(1, 1), commit(1, 3, success=None)),
        *(opened(2), assigned(2, 0), heard(2, 3)),
    ],
    "a reconnection hears again": [ONE, heard(1, 0, 1), opened(2), assigned(2, 0), heard(2, 0, 1)],
    "another stream hears all": [ONE, heard(1, 0, 1), opened(2, stream="t"), assigned(2, 0), heard(2, 0, 1)],
    "LATEST without a commit jumps": [
        opened(1, default="LATEST"),
        assigned(1, 0),
        heard(1, 7),
        assigned(1, 0),
        heard(1, 9),
    ],
    "a commit beyond the end is none": [ONE, heard(1, 0, 1), commit(1, 90), assigned(1, 0), heard(1, 0)],
}
#: What it may not, and where that shows.
UNLAWFUL: dict[str, tuple[str, list[Any]]] = {
    "an offset goes back": ("offset", [ONE, heard(1, 4, 6, 5)]),
    "a message is repeated": ("offset", [ONE, heard(1, 4, 4)]),
    "a message is repeated to one of two": ("offset", [ONE, opened(2), assigned(2, 1), heard(1, 4, 5, 4)]),
    "nothing is assigned yet": ("partition", [opened(1), heard(1, 0)]),
    "another has the partition": ("partition", [ONE, assigned(1, 1), heard(1, 3)]),
    "what was committed is heard again": (
        "offset",
        [ONE, heard(1, 0, 1, 2, 3), commit(1, 3), assigned(1, 0), heard(1, 1)],
    ),
    "what was not committed is lost": (
        "offset",
        [ONE, heard(1, 0, 1, 2, 3), commit(1, 1), opened(2), assigned(2, 0), heard(2, 3)],
    ),
    "a refused commit counts": (
        "offset",
        [ONE, heard(1, 0, 1, 2, 3), commit(1, 3, success=False), assigned(1, 0), heard(1, 3)],
    ),
    "it goes on without a commit": ("offset", [ONE, heard(1, 0, 1, 2), opened(2), assigned(2, 0), heard(2, 3)]),
    "more than was asked for": ("", [opened(1, count=2), assigned(1, 0), heard(1, 0, 1, 2)]),
}


@pytest.mark.parametrize("said", LAWFUL.values(), ids=LAWFUL)
def test_what_a_stream_allows_breaks_no_rule(said: list[Any]) -> None:
    assert breaches_in(records(*said)) == {}


@pytest.mark.parametrize(("field", "said"), UNLAWFUL.values(), ids=UNLAWFUL)
def test_what_it_does_not_allow_is_the_last_message(field: str, said: list[Any]) -> None:
    told = records(*said)
    ((n, breach),) = breaches_in(told).items()
    assert n == told[-1].n
    assert breach.difference.steps == ((field,) if field else ())
    assert "offramp.md" in breach.why


@pytest.mark.parametrize("side", ["client", "server"])
def test_behind_a_hole_nobody_knows(side: Side) -> None:
    """A REBALANCE of the server may be in it, or a commit of the client."""
    first = records(ONE, heard(1, 0, 1, 2), commit(1, 2))
    hole = Record(len(first) + 1, "gap", 0, 1, "c", "s", side, (0, 0), 0, 9)
    deliveries = Deliveries()
    assert not any(deliveries.follow(record) for record in [*first, hole])
    rest = records(*([assigned(1, 0)] if side == "client" else []), heard(1, 1))
    assert not any(deliveries.follow(record) for record in rest)


def test_recordings_break_no_rule() -> None:
    paths = [path for path in CAPTURES.glob("*.pcap*") if not path.name.startswith("java_tls13")]
    assert len(paths) > 10
    for path in paths:
        assert breaches_in(in_turn(recording_of([*read_packets([path])]).of("offramp"))) == {}, path.name


# -- replayed, against another, and compared ---------------------------------------------------------------------------

FAULTS = ('message == "MESSAGE" every=2: reorder', 'message == "MESSAGE" every=4: duplicate 2')


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words])
    return done.exit_code, done.output


@pytest.mark.parametrize("name", ["plain.pcap", "rebalance3.pcap"])
@pytest.mark.parametrize("fault", FAULTS, ids=("reorder", "duplicate"))
def test_a_server_that_says_it_in_another_order_is_found(name: str, fault: str, tmp_path: Path) -> None:
    """In a replay, and where what two servers said is compared."""
    path, twisted = str(CAPTURES / name), str(tmp_path / "twisted.pcapng")
    plain = str(tmp_path / "plain.pcapng")
    status, text = run("replay", path, "--causal", "--fault", fault, "--record", twisted)
    assert status == 1
    assert "without a REBALANCE in between" in text
    assert run("replay", path, "--causal", "--record", plain)[0] == 0
    status, text = run("diff", plain, twisted)
    assert status == 1
    assert "without a REBALANCE in between" in text


class Repeating(Outbox):
    """Sends the first MESSAGE three times."""

    is_done = False

    def send(self, connection: int, data: bytes) -> None:
        super().send(connection, data)
        if not self.is_done and b'"MESSAGE"' in data:
            self.is_done = True
            for _ in range(2):
                super().send(connection, data)


@pytest.mark.parametrize("name", ["plain.pcap", "rebalance3.pcap"])
def test_one_that_repeats_a_message_does_not_answer_like_another(name: str) -> None:
    options = manners()["offramp"].mock_options(recording_of(read_packets([CAPTURES / name])), MockOptions())
    mock = mock_for("offramp", options)
    mock.outbox = Repeating()
    plain, twisted = replay(CAPTURES / name), replay(CAPTURES / name, mocks={"offramp": mock})
    assert not plain.findings
    assert len(twisted.findings) >= 2
    assert list(grid(plain.outcomes, twisted.outcomes))


# -- a commit that came too late ---------------------------------------------------------------------------------------


def dialogues(*said: Said | Sequence[Said]) -> list[Dialogue]:
    found: dict[int, Dialogue] = {}
    for record in records(*said):
        number = record.connection
        found.setdefault(number, Dialogue(number, "c", "s", "offramp", is_opened=True)).records.append(record)
    return list(found.values())


@pytest.mark.parametrize(("comes", "has_deferred"), [(True, True), (True, False), (False, True)])
def test_a_commit_between_two_rebalances_is_stale_only_where_others_came(comes: bool, has_deferred: bool) -> None:
    """The REBALANCE that follows shows it; neither alone does."""
    other = [*opened(2), assigned(2, 1)] if comes else []
    behind = [assigned(1, 0)] if has_deferred else []
    told = dialogues(ONE, heard(1, 0, 1), other, commit(1, 2, success=False), behind)
    courses = [course_of(dialogue) for dialogue in told]
    refusal = next(record for record in told[0].records if record.message == "COMMIT_RESPONSE")
    accepted = Difference(("success",), False, True)
    excuse = Excuses(courses[0], courses).difference(accepted, refusal, refusal)
    assert (excuse is not None) is (comes and has_deferred)
    if excuse is not None:
        assert excuse.why.endswith(f"record {told[0].records[-1].n} shows it")
    turned = Difference(("success",), True, False)
    assert Excuses(courses[0], courses).difference(turned, refusal, refusal) is None


# -- which server it was -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("received", "is_server_decided"),
    [([0, 1], True), ([0], False), ([], False)],
    ids=["no demand left", "some left", "all left"],
)
def test_a_server_that_sends_a_rebalance_without_demand_speaks_as_decided(
    received: list[int], is_server_decided: bool
) -> None:
    """The original polls only while there is demand (decision 16); its mock would keep the REBALANCE back."""
    said = dialogues(opened(1, count=2), assigned(1, 0, 1), heard(1, *received), opened(2), assigned(1, 0))
    assert is_decided(map(course_of, said)) is is_server_decided


def test_without_the_beginning_of_a_connection_its_demand_is_not_known() -> None:
    said = dialogues(assigned(1, 0, 1), heard(1, 0, 1), assigned(1, 0))
    assert not is_decided(map(course_of, said))
