"""The declaration of a case: a requirement, its source, and a conversation that shows whether a server keeps it.

This is the interface module of the engine: the parts in `protocols/NAME/conformance/` import it, and `values`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wiretool.codec.message import Side
from wiretool.conformance.clients.case import ClientCase
from wiretool.conformance.levels import MUST as MUST
from wiretool.conformance.levels import OBSERVED as OBSERVED
from wiretool.conformance.levels import SHOULD as SHOULD
from wiretool.conformance.levels import Level as Level
from wiretool.conformance.levels import Verdict as Verdict
from wiretool.conformance.recorded.rules import Rule
from wiretool.conformance.values import Bindings, Value, described
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import protocol_named

#: The label of the connection that a step is on where it names none.
FIRST = "a"
#: How long nothing may come where a case expects silence, in seconds.
SILENCE_S = 0.3
#: Names that stand for outcomes other than a message.
CLOSED = "(connection closed)"
NOTHING = "(no reply)"


# -- steps -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a connection; other steps open theirs at the first endpoint where this step did not."""

    on: str = FIRST
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message of the client. `change` alters the bytes of its frame, as to make it invalid or to cut it."""

    message: str
    fields: Mapping[str, Any]
    on: str = FIRST
    change: Callable[[bytes], bytes] | None = None
    #: Whether its bytes wait for those of the next message on the connection, to leave in one write.
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class SendBytes:
    """Send bytes as they are, or as a function of the bindings makes them; `words` describe them in reports."""

    data: bytes | Callable[[Bindings], bytes]
    words: str
    on: str = FIRST
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """One accepted outcome: a message with these fields (others are free), or the end of the connection, or silence."""

    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    verdict: Verdict = Verdict.PASS
    #: For a verdict other than pass: why.
    why: str = ""
    #: Words of the problem that the message has, for a known fault of real servers; a message with another one fails.
    problem: str = ""
    #: Whether the case is over with this outcome, and its later steps belong to other ones.
    is_last: bool = False
    #: The key of an earlier value, and the pattern that it must match for the outcome to be accepted.
    given: tuple[str, Value] | None = None

    def is_possible(self, bindings: Bindings) -> bool:
        """Return whether the values that are bound so far allow the outcome."""
        return self.given is None or self.given[1].matches(bindings.values.get(self.given[0]), bindings)

    def describe(self, bindings: Bindings) -> str:
        """Return the outcome in words."""
        if self.message in (CLOSED, NOTHING):
            return self.message
        pairs = ", ".join(f"{name}={described(value, bindings)}" for name, value in self.fields.items())
        return f"{self.message}({pairs})"


@dataclass(frozen=True, slots=True)
class Expect:
    """Wait for the next message on a connection, or its end; the first outcome that fits decides."""

    outcomes: tuple[Reply, ...]
    on: str = FIRST
    #: Seconds to wait; None for the run's own patience.
    within_s: float | None = None
    #: Seconds that must pass before the outcome may come, as where a server has to wait.
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ExpectAll:
    """Wait for one message for each of these, in any order."""

    replies: tuple[Reply, ...]
    on: str = FIRST
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long; what comes meanwhile is kept for the next steps."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Finish:
    """Send no more on a connection (FIN)."""

    on: str = FIRST


@dataclass(frozen=True, slots=True)
class Reset:
    """Break a connection off (RST)."""

    on: str = FIRST


Step = Connect | Send | SendBytes | Expect | ExpectAll | Wait | Finish | Reset
#: Steps, or sequences of them, which helpers of a protocol return.
Steps = Step | Sequence["Steps"]


# -- the words of cases ------------------------------------------------------------------------------------------------


def send(message: str, /, *, on: str = FIRST, change: Callable[[bytes], bytes] | None = None, **fields: Any) -> Send:
    """Return a step that sends a message with these fields, in the JSON form of records."""
    return Send(message, fields, on, change)


def together(*sends: Send | SendBytes) -> Steps:
    """Return steps that send messages on one connection in one write, so that they arrive together."""
    assert len({each.on for each in sends}) == 1, "messages on several connections do not leave in one write"
    return (*(replace(each, is_held=True) for each in sends[:-1]), sends[-1])


def reply(message: str, /, **fields: Any) -> Reply:
    """Return an accepted message; fields that are not named are free."""
    return Reply(message, fields)


def final(message: str, /, **fields: Any) -> Reply:
    """Return an accepted message that ends the case: the steps that follow belong to its other outcomes."""
    return Reply(message, fields, is_last=True)


def given(key: str, pattern: Value, outcome: Reply) -> Reply:
    """Return an outcome that is accepted only where the value that is bound to a key matches a pattern."""
    return replace(outcome, given=(key, pattern))


def flawed(message: str, problem: str, /, **fields: Any) -> Reply:
    """Return an accepted message with a problem that real servers have; `problem` is a part of its text."""
    return Reply(message, fields, problem=problem)


def lenient(message: str, why: str, /, **fields: Any) -> Reply:
    """Return an outcome that the protocol forbids and servers are known to have."""
    return Reply(message, fields, Verdict.LENIENT, why)


def unsupported(message: str, why: str, /, **fields: Any) -> Reply:
    """Return an outcome that says that the server lacks the capability."""
    return Reply(message, fields, Verdict.UNSUPPORTED, why)


def not_exercised(message: str, why: str, /, **fields: Any) -> Reply:
    """Return an outcome that says that the server has not what the case is about, as a resource of its setup."""
    return Reply(message, fields, Verdict.NOT_EXERCISED, why)


def expect(message: str, /, *, on: str = FIRST, within_s: float | None = None, **fields: Any) -> Expect:
    """Return a step that waits for one message with these fields; fields that are not named are free."""
    return Expect((Reply(message, fields),), on, within_s)


def expect_any(*outcomes: Reply, on: str = FIRST, within_s: float | None = None, after_s: float = 0.0) -> Expect:
    """Return a step that waits for any of several outcomes; the first that fits counts."""
    return Expect(outcomes, on, within_s, after_s)


def expect_all(*replies: Reply, on: str = FIRST, within_s: float | None = None) -> ExpectAll:
    """Return a step that waits for all of these messages, in any order."""
    return ExpectAll(replies, on, within_s)


def expect_close(*, on: str = FIRST, within_s: float | None = None) -> Expect:
    """Return a step that waits for the server to close the connection, with nothing sent before."""
    return Expect((Reply(CLOSED),), on, within_s)


def expect_nothing(*, on: str = FIRST, seconds: float = SILENCE_S) -> Expect:
    """Return a step that requires the server to stay silent for so long, with the connection open."""
    return Expect((Reply(NOTHING),), on, seconds)


def flat(steps: Steps) -> tuple[Step, ...]:
    """Return nested sequences of steps as one."""
    if isinstance(steps, Sequence):
        return tuple(step for each in steps for step in flat(each))
    return (steps,)


# -- cases -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """One requirement on a server and the conversation that exercises it."""

    #: After the clause, as `pravega/append/3`.
    id: str
    level: Level
    #: The requirement in our own words, one sentence.
    requirement: str
    #: The clause of the specification, or the section of the reference.
    source: str
    steps: tuple[Step, ...]
    #: The setup of the server that the case requires, by its name in `Conformance.variants`; empty for the usual one.
    variant: str = ""
    #: Messages that may come at any time and mean nothing here.
    ignore: frozenset[str] = frozenset()
    #: Of a case that no mutant fails: why none can.
    unkilled: str = ""


def case(
    id: str,
    level: Level,
    requirement: str,
    source: str,
    *steps: Steps,
    variant: str = "",
    ignore: Sequence[str] = (),
    unkilled: str = "",
) -> Case:
    """Declare a case; its steps may be nested sequences."""
    return Case(id, level, requirement, source, flat(steps), variant, frozenset(ignore), unkilled)


def requires_nothing(case: Case) -> Sequence[str]:
    """Return that a case depends on no part of the setup of which there is a probe."""
    return ()


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message of the peer that arrived, as the conversation read it."""

    name: str
    side: Side
    fields: Mapping[str, Any]
    #: What is wrong with it, in words.
    problems: tuple[str, ...] = ()


#: Messages that a client sends by itself when one arrives, as acknowledgements of settings: name and fields.
AutoReply = Callable[[Incoming], Sequence[tuple[str, Mapping[str, Any]]]]


def never_ends(incoming: Incoming) -> bool:
    """Return that a server keeps the connection open after any message."""
    return False


def no_auto_reply(incoming: Incoming) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Send nothing by itself."""
    return ()


@dataclass(frozen=True, slots=True)
class Conformance:
    """The conformance part of one protocol: `CONFORMANCE` of the module that `Protocol.conformance` names."""

    protocol: str
    #: The mock server that speaks it, by the protocol of its first endpoint, and the endpoint.
    server: str
    endpoint: str = ""
    cases: tuple[Case, ...] = ()
    #: Options of mock servers (fields of `MockOptions`), by the name of the setup; the usual one is the empty name.
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Messages that may come at any time in every case.
    ignore: frozenset[str] = frozenset()
    auto_reply: AutoReply = no_auto_reply
    #: Whether a server may close the connection after a message of its own; else each case names the end it expects.
    may_end_after: Callable[[Incoming], bool] = never_ends
    #: Steps that every server of this protocol answers, to recognise a peer of another protocol.
    greeting: tuple[Step, ...] = ()
    #: Probes of parts of a target's setup, and those that a case depends on: where a probe ends with `not-exercised`,
    #: so do the cases.
    probes: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    required_probes: Callable[[Case], Sequence[str]] = requires_nothing
    #: Requirements that every recording is judged by.
    rules: tuple[Rule, ...] = ()
    #: Requirements on clients.
    client_cases: tuple[ClientCase, ...] = ()
    #: The module that declares defects of the mock server in its `MUTANTS`; empty for none.
    mutants: str = ""
    #: The protocol as it is spoken in a setup, where the setup decides which revision that is.
    revisions: Mapping[str, Protocol] = field(default_factory=dict)

    def __post_init__(self) -> None:
        every: tuple[Case | ClientCase | Rule, ...] = (*self.cases, *self.rules, *self.client_cases)
        ids = [each.id for each in every]
        assert len(ids) == len(set(ids)), f"case ids are used twice: {sorted({i for i in ids if ids.count(i) > 1})}"
        assert all(each.source for each in every), "a requirement names no source"
        for each in self.cases:
            assert each.id.startswith(f"{self.protocol}/"), each.id
            assert each.variant in ("", *self.variants), f"{each.id}: no setup {each.variant!r}"

    def protocol_in(self, variant: str) -> Protocol:
        """Return the protocol as it is spoken in a setup."""
        return self.revisions.get(variant) or protocol_named(self.protocol)
