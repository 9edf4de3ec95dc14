"""The mock with mutated messages: without faults it is the mock; each fault does to its message what its name says."""

import random
from functools import cache
from itertools import count

import pytest

from tests.fuzz.helpers import PROTOCOLS, session_of
from wiretool.conformance.active.in_memory import InMemory
from wiretool.conformance.active.mock_run import mock_of
from wiretool.conformance.active.run import ConformanceCaller
from wiretool.conformance.levels import Verdict
from wiretool.conformance.registry import conformance_of
from wiretool.fuzz.client.campaign import reply_context
from wiretool.fuzz.client.mutated_mock import NS_PER_S, MutatedMock
from wiretool.fuzz.client.mutations import EditedReply, InnerLength, ReplyMutation, reply_mutations
from wiretool.fuzz.client.reply_fault import FaultKind, ReplyFault, fault_form, plan_from_form
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice
from wiretool.server.mock import Action, Close, Send

IDLE_NS = 2 * NS_PER_S
HELLO = bytes.fromhex("ffffff81 00000008 00000011 00000005")
#: The mock's own.
REPLY = bytes.fromhex("ffffff81 00000008 00000010 00000005")
KEEP_ALIVE = bytes.fromhex("00000064 00000000")


def wrapped(protocol: str, *faults: ReplyFault, keeps_replies: bool = False) -> MutatedMock:
    """Return the built-in mock with faults."""
    part = conformance_of(protocol)
    mock = mock_of(part, "", 0)
    return MutatedMock(mock, part.protocol_in(""), faults, idle_ns=IDLE_NS, keeps_replies=keeps_replies)


@cache
def replies_of(protocol: str) -> tuple[tuple[int, Sending], ...]:
    """Return the messages of the server in the conformance cases of a protocol, the cases passing."""
    part = conformance_of(protocol)
    mock = wrapped(protocol, keeps_replies=True)
    cases = [case for case in part.cases if not case.variant]
    caller = ConformanceCaller(cases, part, token="c", patience_s=5.0, numbers=count(1))
    InMemory(caller, mock).run()
    failed = [case for case, result in caller.results.items() if result.verdict is Verdict.FAIL]
    assert not failed
    assert not mock.log.acted
    assert mock.log.is_legal
    return tuple(mock.log.replies)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_faults_it_is_the_mock(protocol: str) -> None:
    names = {reply.message for _, reply in replies_of(protocol)}
    assert len(names) >= 5
    assert all(reply.record is not None and reply.record.side == "server" for _, reply in replies_of(protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_most_mutations_apply_to_messages_of_the_server(protocol: str) -> None:
    session = session_of(protocol)
    replies = replies_of(protocol)[:200]
    context = reply_context(session.protocol_in(""), replies)
    missing = []
    for mutation in reply_mutations(protocol):
        rng = random.Random(5)
        found = [fault for nth, reply in replies if (fault := mutation.fault(nth, reply, rng, context)) is not None]
        assert plan_from_form([fault_form(fault) for fault in found], name="test") == tuple(found)
        assert all(fault.change.mutation == mutation.name and fault.change.region for fault in found)
        if not found:
            missing.append(mutation.name)
    assert len(missing) <= 3, missing


def test_mutations_have_names_of_their_own() -> None:
    every: list[ReplyMutation] = list(reply_mutations("pravega"))
    assert len({each.name for each in every}) == len(every) >= 15
    assert all(each.description for each in every)


def test_a_length_inside_a_byte_array_is_recognized() -> None:
    """Of data with one event, these are the count of its bytes, which Pravega declares, and the length of the event."""
    protocol = session_of("pravega").protocol_in("")
    event = b"\x00\x00\x00\x00" + b"\x00\x00\x00\x06" + b"key0 0"
    begin, end = bytes([0, 1, 115]) + bytes(10), bytes(7) + b"\x01"
    payload = begin + len(event).to_bytes(4, "big") + event + end
    data = b"\x00\x00\x00\x0a" + len(payload).to_bytes(4, "big") + payload
    reply = Sending(1, data, "SegmentRead")
    mutation = EditedReply(InnerLength())
    rng, context = random.Random(5), reply_context(protocol, ((1, reply),))
    found = [mutation.fault(1, reply, rng, context) for _ in range(400)]
    edits = {edit for each in found if each is not None for edit in each.edits if isinstance(edit, Splice)}
    assert {(edit.offset, edit.removed) for edit in edits} == {(21, 4), (29, 4)}
    assert {b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", bytes(4), b"\x00\x01\x00\x00"} <= {
        edit.inserted for edit in edits
    }
    assert mutation.fault(1, Sending(1, REPLY, "Hello"), rng, context) is None


def greeted(*faults: ReplyFault) -> tuple[MutatedMock, list[Action]]:
    """Return the mock and its actions after the Hello of a client at 0 s."""
    mock = wrapped("pravega", *faults)
    mock.opened(1, mock.doors[0].name, 0)
    return mock, mock.received(1, HELLO, 0)


def fault(kind: FaultKind, **fields: object) -> ReplyFault:
    return ReplyFault("Hello", 1, kind, Change("test", "Hello"), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "actions"),
    [
        (fault(FaultKind.DROP), []),
        (fault(FaultKind.DOUBLE, times=2), [Send(1, REPLY)] * 3),
        (fault(FaultKind.EDIT, edits=(Splice(0, 1, b"\x01"),)), [Send(1, b"\x01" + REPLY[1:])]),
        (fault(FaultKind.CLOSE, cut=5), [Send(1, REPLY[:5]), Close(1)]),
        (fault(FaultKind.CLOSE), [Close(1)]),
        (fault(FaultKind.RESET, cut=16), [Send(1, REPLY), Close(1, is_abort=True)]),
        (fault(FaultKind.SWAP), []),
        (fault(FaultKind.DELAY, seconds=2.0), []),
    ],
    ids=lambda each: str(each.kind) if isinstance(each, ReplyFault) else "",
)
def test_faults_of_one_message(made: ReplyFault, actions: list[Action]) -> None:
    mock, found = greeted(made)
    assert found == actions
    assert mock.log.acted == ([] if made.kind is FaultKind.SWAP else [0])


def test_a_delayed_message_delays_all_after_it() -> None:
    mock, found = greeted(fault(FaultKind.DELAY, seconds=2.0))
    assert not mock.received(1, KEEP_ALIVE + HELLO, NS_PER_S)
    assert mock.wake_ns == 2 * NS_PER_S
    later = mock.woken(2 * NS_PER_S)
    assert not found
    assert b"".join(each.data for each in later if isinstance(each, Send))[:16] == REPLY
    assert mock.log.is_legal


def test_a_message_one_byte_at_a_time() -> None:
    mock, found = greeted(fault(FaultKind.BYTEWISE))
    now_ns = 0
    while mock.wake_ns is not None and mock.wake_ns < NS_PER_S:
        now_ns = mock.wake_ns
        found += mock.woken(now_ns)
    assert [each.data for each in found if isinstance(each, Send)] == [REPLY[at : at + 1] for at in range(16)]
    assert now_ns == 15_000_000


def test_a_message_that_nothing_overtakes_arrives_at_last() -> None:
    mock, _ = greeted(fault(FaultKind.SWAP))
    assert mock.wake_ns is not None
    assert mock.woken(mock.wake_ns) == [Send(1, REPLY)]
    assert mock.log.is_legal


def test_connections_are_closed_once_nothing_follows_an_illegal_message() -> None:
    mock, _ = greeted(fault(FaultKind.DROP))
    assert not mock.log.is_legal
    assert mock.wake_ns == IDLE_NS
    mock.note_late(IDLE_NS)
    assert (mock.log.open_when_late, mock.log.quiet_s) == (1, 2.0)
    assert mock.woken(IDLE_NS) == [Close(1)]
    assert mock.log.has_closed_idle
    mock.note_late(IDLE_NS)
    assert mock.log.open_when_late == 0
    assert not mock.received(1, HELLO, IDLE_NS)


def test_connections_of_other_protocols_count_and_are_closed_too() -> None:
    mock, _ = greeted(fault(FaultKind.DROP))
    other = next(each for each in mock.doors if each.protocol != "pravega")
    mock.opened(2, other.name, NS_PER_S)
    mock.note_late(IDLE_NS)
    assert mock.log.open_when_late == 2
    assert mock.wake_ns == NS_PER_S + IDLE_NS
    assert sorted(mock.woken(NS_PER_S + IDLE_NS)) == [Close(1), Close(2)]
    mock.note_late(IDLE_NS)
    assert mock.log.open_when_late == 0


def test_a_legal_run_stays_open() -> None:
    mock, _ = greeted(fault(FaultKind.DELAY, seconds=0.1))
    mock.woken(NS_PER_S)
    assert mock.log.is_legal
    assert not [each for each in mock.woken(10 * IDLE_NS) if isinstance(each, Close)]


def test_bytes_of_the_client_that_do_not_decode_are_noted() -> None:
    mock, _ = greeted()
    mock.received(1, bytes.fromhex("7fffffff ffffffff 00000000"), 1)
    mock.lost(1, 2)
    assert [name for name, _ in mock.log.problems] == [""]
    assert "frame-too-large" in mock.log.problems[0][1]
    broken, _ = greeted(fault(FaultKind.EDIT, edits=(Splice(0, 1, b"\x01"),)))
    broken.received(1, bytes.fromhex("7fffffff ffffffff 00000000"), 1)
    broken.lost(1, 2)
    assert not broken.log.problems
    half, _ = greeted()
    half.received(1, HELLO[:7], 1)
    half.lost(1, 2)
    assert not half.log.problems


@pytest.mark.parametrize(
    ("edit", "is_well_formed"),
    [
        (Splice(11, 1, b"\x20"), True),
        (Splice(7, 1, b"\x05"), False),
        (Splice(0, 1, b"\x01"), False),
        (Splice(0, 16, b""), True),
    ],
)
def test_messages_that_arrive_well_formed(edit: Splice, is_well_formed: bool) -> None:
    mock, _ = greeted(fault(FaultKind.EDIT, edits=(edit,)))
    mock.received(1, KEEP_ALIVE, 1)
    assert mock.log.acted == [0]
    assert mock.log.is_well_formed == is_well_formed


def test_edits_of_one_message_add_up() -> None:
    first = fault(FaultKind.EDIT, edits=(Splice(11, 1, b"\x20"),))
    second = fault(FaultKind.EDIT, edits=(Splice(15, 1, b"\x07"),))
    mock, found = greeted(first, second)
    assert found == [Send(1, REPLY[:11] + b"\x20" + REPLY[12:15] + b"\x07")]
    assert mock.log.acted == [0, 1]
