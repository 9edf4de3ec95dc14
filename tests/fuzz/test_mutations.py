"""Mutations: each applies to some message, changes it, and depends on nothing but the seed."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.helpers import PROTOCOLS, session_of
from tests.helpers.examples import needs_protocol
from wiretool.errors import DecodeError, UsageError
from wiretool.fuzz.mutations import MUTATIONS, select_mutations
from wiretool.fuzz.mutations.base import Mutation
from wiretool.fuzz.mutations.numbers import boundaries
from wiretool.fuzz.mutations.order import Double, SameObjects, SpliceSessions
from wiretool.fuzz.sequences.call_streams import STREAM_MAX
from wiretool.fuzz.sequences.rewriting import spliced
from wiretool.fuzz.sequences.sequence import Connect, FuzzSequence, Sending, Splice
from wiretool.protocols.pravega_controller.fuzz import on_stream, stream_of


def applied_to_seeds(mutation: Mutation, protocol: str, *, seed: int = 1) -> list[tuple[FuzzSequence, FuzzSequence]]:
    """Return seeds of a protocol with what the mutation makes of each."""
    session = session_of(protocol)
    rng = random.Random(seed)
    pairs = []
    for sequence in session.seeds[:80]:
        made = mutation.apply(sequence, rng, session.context(sequence.setup))
        if made is not None:
            pairs.append((sequence, made))
    return pairs


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_a_mutation_changes_what_is_sent(mutation: Mutation) -> None:
    pairs = applied_to_seeds(mutation, "pravega")
    assert len(pairs) >= 10
    for before, after in pairs:
        assert (after.steps, after.stays_open, after.setup) != (before.steps, before.stays_open, before.setup)
        assert after.all_changes()
        assert after.all_changes()[-1].mutation == mutation.name
        assert after.all_changes()[-1].region
    assert pairs == applied_to_seeds(mutation, "pravega")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_most_mutations_apply_to_each_protocol(protocol: str) -> None:
    missing = [mutation.name for mutation in MUTATIONS if not applied_to_seeds(mutation, protocol)]
    assert len(missing) <= 3, missing


@needs_protocol("sbp-0.1")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_connections_are_opened_before_they_are_used(mutation: Mutation) -> None:
    """A connection that no step opens goes to the main endpoint: no mutation loses the endpoint of another one."""
    for _, after in applied_to_seeds(mutation, "sbp-0.1"):
        opened = {step.connection for step in after.steps if isinstance(step, Connect)}
        assert opened
        used = {step.connection for step in after.steps if isinstance(step, Sending)}
        assert used <= opened


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_fields_of_broken_messages_can_be_listed(protocol: str) -> None:
    """`decode -v` lists the fields of frames that mutations broke: their spans tile the frame, and nothing raises."""
    session = session_of(protocol)
    rng = random.Random(3)
    count = 0
    for sequence in session.seeds:
        context = session.context(sequence.setup)
        for step in sequence.sendings:
            for _ in range(3):
                at = rng.randrange(len(step.data))
                data = spliced(step.data, [Splice(at, 1, rng.randbytes(1))])
                conversation = context.protocol.open(False)
                try:
                    if conversation.extent("client", data, 0, len(data)) != len(data):
                        continue
                except DecodeError:
                    continue
                spans = conversation.annotate("client", data, 0, len(data))
                assert sum(span.length for span in spans) == len(data)
                count += 1
    assert count > 100


@given(st.integers(1, 8), st.data())
@settings(max_examples=50)
def test_boundaries_are_other_values_of_the_type(size: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, 256**size - 1))
    found = boundaries(8 * size, value)
    assert value not in found
    assert all(0 <= each < 256**size for each in found)
    assert found == sorted(set(found))
    assert {0, 256**size - 1} - {value} <= set(found)


@given(st.binary(max_size=40), st.integers(0, 60), st.integers(0, 60), st.binary(max_size=9))
def test_a_splice_replaces_bytes(data: bytes, offset: int, removed: int, inserted: bytes) -> None:
    made = spliced(data, [Splice(offset, removed, inserted)])
    assert made == data[:offset] + inserted + data[offset + removed :]


def test_mutations_are_chosen_by_globs() -> None:
    assert {each.name for each in select_mutations(["number/*", "!number/kind"], MUTATIONS)} == {
        "number/boundary",
        "number/length",
    }
    assert select_mutations([], MUTATIONS) == MUTATIONS
    with pytest.raises(
        UsageError, match=r"--case nummer/kind: no mutation of that name \(did you mean number/kind\?\)"
    ):
        select_mutations(["nummer/kind"], MUTATIONS)
    with pytest.raises(UsageError, match="no mutation is left"):
        select_mutations(["number/kind", "!number/*"], MUTATIONS)


def test_names_are_unique_and_described() -> None:
    names = [each.name for each in MUTATIONS]
    assert len(names) == len(set(names)) >= 20
    assert all(each.description for each in MUTATIONS)


@needs_protocol("sbp-0.1")
def test_a_session_in_another_setup_has_its_endpoints_there() -> None:
    (mutation,) = [each for each in MUTATIONS if each.name == "order/other-setup"]
    pairs = applied_to_seeds(mutation, "sbp-0.1")
    setups = session_of("sbp-0.1").context("").setups
    assert {after.setup for _, after in pairs} >= {"", "S2"}
    for _, after in pairs:
        needed = {step.endpoint for step in after.steps if isinstance(step, Connect)} - {""}
        assert needed <= set(setups[after.setup])


def streams_begun(sequence: FuzzSequence, connection: int) -> list[int]:
    """Return the HTTP/2 streams of the HEADERS on a connection, in their order."""
    sent = [step for step in sequence.sendings if step.connection == connection and step.message == "Headers"]
    return [stream_of(step.data) for step in sent]


@pytest.mark.parametrize("mutation", [SpliceSessions(), SameObjects(), Double()])
def test_calls_of_another_session_have_later_streams(mutation: Mutation) -> None:
    """Frames of HTTP/2 on an old stream end the connection, so that no call of the other session would be tried."""
    session = session_of("pravega-controller")
    seeds = [each for each in session.seeds if each.origin.split("/")[1] in ("scope", "stream", "txn")]
    rng, made, is_rising = random.Random(3), 0, 0
    for seed in seeds * 4:
        mutated = mutation.apply(seed, rng, session.context(seed.setup))
        if mutated is None:
            continue
        begun = streams_begun(mutated, seed.sendings[0].connection)
        if len(begun) > len(streams_begun(seed, seed.sendings[0].connection)):
            made += 1
            is_rising += begun == sorted(set(begun))
    assert made >= 40
    assert is_rising > (0.6 if mutation.name == Double.name else 0.9) * made


def test_calls_stay_whole_where_a_session_goes_on_as_another() -> None:
    """DATA of a call whose HEADERS were left out would end the connection at the splice."""
    session = session_of("pravega-controller")
    rng, are_whole = random.Random(3), []
    for seed in [each for each in session.seeds if "/scope/" in each.origin] * 8:
        mutated = SpliceSessions().apply(seed, rng, session.context(seed.setup))
        assert mutated is not None
        for connection in {step.connection for step in mutated.sendings}:
            used = {stream_of(step.data) for step in mutated.sendings if step.connection == connection}
            are_whole.append(used <= {*streams_begun(mutated, connection), 0})
    assert len(are_whole) > 50
    assert sum(are_whole) > 0.9 * len(are_whole)


def test_a_stream_without_room_for_a_later_one_stays() -> None:
    """The number of a stream ends at 2^31-1; a frame that a mutation put there has no later stream."""
    session = session_of("pravega-controller")
    context = session.context("")
    assert context.streams is not None
    seed = next(each for each in session.seeds if each.origin.endswith("scope/2"))
    at = next(at for at, step in enumerate(seed.steps) if isinstance(step, Sending) and step.message == "Headers")
    last = seed.steps[at]
    assert isinstance(last, Sending)
    last = replace(last, data=on_stream(last.data, STREAM_MAX))
    connection = seed.sendings[0].connection
    again = context.streams.appended([*seed.steps, last], seed.steps, connection, context.protocol)
    assert [step.data for step in again if isinstance(step, Sending)] == [step.data for step in seed.sendings]
    moved = context.streams.appended(seed.steps[:at], [last], connection, context.protocol)
    assert [stream_of(step.data) for step in moved if isinstance(step, Sending)] == [1]
