"""What a capture recorded: the order of things, and how connections began and ended."""

from tests.helpers.captures import tcp_packets
from wiretool.analysis.dialogues import Ended, Opened, Told, exchanges_of
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import Hello, KeepAlive
from wiretool.replay.recording import recording_of

HELLO = encode(Hello(high_version=17, low_version=5), "client")
STORE = ("10.0.0.2", 12345)


def test_the_events_of_a_connection_are_told_in_their_order() -> None:
    says = [("client", HELLO), ("server", HELLO), ("client", encode(KeepAlive(), "client"))]
    recording = recording_of(tcp_packets(says, server=STORE))  # type: ignore[arg-type]
    (dialogue,) = recording.dialogues
    assert (dialogue.protocol, dialogue.is_opened, dialogue.server) == ("pravega", True, "10.0.0.2:12345")
    names = [event.record.message if isinstance(event, Told) else type(event).__name__ for event in recording.events]
    assert names[:4] == ["Opened", "Hello", "Hello", "KeepAlive"]
    assert {type(event) for event in recording.events[4:]} <= {Ended}
    assert isinstance(recording.events[0], Opened)


def test_an_exchange_is_a_request_with_its_replies() -> None:
    says = [("client", HELLO), ("server", HELLO), ("client", encode(KeepAlive(), "client"))]
    recording = recording_of(tcp_packets(says, server=STORE))  # type: ignore[arg-type]
    hello, alive = exchanges_of(recording.dialogues[0].records)
    assert [reply.message for reply in hello.replies] == ["Hello"]
    assert (alive.request.message, alive.replies) == ("KeepAlive", [])


def test_a_part_of_a_recording_begins_in_the_middle() -> None:
    says = [("client", HELLO), ("server", HELLO), ("client", encode(KeepAlive(), "client"))]
    recording = recording_of(tcp_packets(says, server=STORE))  # type: ignore[arg-type]
    alive = next(event for event in recording.events if isinstance(event, Told) and event.record.message == "KeepAlive")
    part = recording.between(alive.time_ns, recording.events[-1].time_ns)
    (dialogue,) = part.dialogues
    assert not dialogue.is_opened
    assert [record.message for record in dialogue.records] == ["KeepAlive"]
    assert isinstance(part.events[0], Opened)
    assert part.events[0].time_ns == alive.time_ns
    assert recording.between(recording.events[0].time_ns, recording.events[-1].time_ns).dialogues[0].is_opened


def test_a_connection_begins_before_all_that_happens_on_it_where_times_go_back() -> None:
    packets = tcp_packets([("client", HELLO), ("server", HELLO)], server=STORE)
    turned = [packet._replace(time_ns=-packet.time_ns) for packet in packets]
    recording = recording_of(turned)
    assert isinstance(recording.events[0], Opened)
    assert recording.events[0].time_ns == min(event.time_ns for event in recording.events)


def test_whether_a_server_was_heard_is_told() -> None:
    says = [("client", HELLO), ("client", encode(KeepAlive(), "client"))]
    for end, is_heard in (("", False), ("rst", False), ("fin", True)):
        recording = recording_of(tcp_packets(says, server=STORE, end=end))  # type: ignore[arg-type]
        assert [dialogue.is_heard for dialogue in recording.dialogues] == [is_heard]
        part = recording.between(recording.events[0].time_ns, recording.events[-1].time_ns)
        assert [dialogue.is_heard for dialogue in part.dialogues] == [is_heard]
    answered = recording_of(tcp_packets([*says, ("server", HELLO)], server=STORE, end=""))  # type: ignore[list-item]
    assert answered.dialogues[0].is_heard
