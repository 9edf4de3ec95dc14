"""The sweep: each field takes each odd value once, and a seed repeats it."""

import random
from collections import Counter

from tests.fuzz.helpers import session_of
from tests.helpers.examples import needs_protocol
from wiretool.fuzz.mutations.numbers import boundaries
from wiretool.fuzz.seeds.places import SeedPlaces
from wiretool.fuzz.sequences.sequence import FuzzSequence, SetField, Splice
from wiretool.fuzz.sweep import Sweep


def swept(*names: str, seed: int = 0, protocol: str = "pravega-draft") -> list[FuzzSequence]:
    """Return all sequences of a sweep with mutations of these names."""
    session = session_of(protocol)
    sweep = Sweep(session.seeds, session.context, random.Random(seed), names)
    found = []
    while (sequence := sweep.next()) is not None:
        found.append(sequence)
    return found


def test_each_boundary_of_a_number_is_swept_once() -> None:
    found = swept("number/boundary")
    values: dict[tuple[str, str, bytes], Counter[bytes]] = {}
    for sequence in found:
        (step,) = [step for step in sequence.sendings if step.changes]
        (edit,) = step.edits
        assert isinstance(edit, Splice)
        assert step.record is not None
        key = step.message, step.changes[0].region, step.record.raw
        values.setdefault(key, Counter())[edit.inserted] += 1
    lengths = [counts for (name, region, _), counts in values.items() if region.endswith("suggested_length")]
    assert lengths
    for counts in lengths:
        assert set(counts.values()) == {1}
        assert b"\x80\0\0\0" in counts
        assert len(counts) >= len(boundaries(32, 0)) - 4


def test_fields_are_swept_by_their_values() -> None:
    found = swept("field/value")
    edits = [step.edits[0] for sequence in found for step in sequence.sendings if step.changes]
    assert {edit.value for edit in edits if isinstance(edit, SetField) and edit.steps == ("offset",)} >= {-1, 2**63 - 1}
    assert all(isinstance(edit, SetField) for edit in edits)


def test_only_mutations_in_use_are_swept() -> None:
    assert swept("order/drop") == []
    assert {change.mutation for each in swept("number/boundary") for change in each.all_changes()} == {
        "number/boundary"
    }


def test_a_seed_repeats_the_sweep() -> None:
    first = [each.sendings for each in swept("number/boundary", seed=3)]
    assert first == [each.sendings for each in swept("number/boundary", seed=3)]
    assert first != [each.sendings for each in swept("number/boundary", seed=4)]


@needs_protocol("sbp-0.1")
def test_numbers_of_flatbuffers_are_swept_in_their_byte_order() -> None:
    """The number of streams that follow an offset is little-endian in SBP, the length of its frame is not."""
    found = swept("number/boundary", protocol="sbp-0.1")
    inserted = {
        edit.inserted
        for sequence in found
        for step in sequence.sendings
        for edit in step.edits
        if isinstance(edit, Splice) and step.changes[0].region.endswith("stream_id") and edit.removed == 8
    }
    assert (2**63).to_bytes(8, "little") in inserted
    assert (255).to_bytes(8, "little") in inserted


@needs_protocol("sbp-0.1")
def test_a_field_is_swept_where_the_server_accepts_the_message_first() -> None:
    """A trim of streams without a header is a valid frame as well, and shows nothing of the offset."""
    session = session_of("sbp-0.1")
    places = SeedPlaces(session.protocol_in("").exchanges)
    target = session.reference()
    for seed in session.seeds:
        for outcome in target.run_fresh([seed]):
            places.note(seed, outcome)
    sweep = Sweep(session.seeds, session.context, random.Random(0), ["field/value", "number/boundary"], places)
    values: list[int] = []
    for _ in range(14_000):
        sequence = sweep.next()
        assert sequence is not None
        (step,) = [step for step in sequence.sendings if step.changes]
        if step.message == "TRIM_STREAMS" and step.changes[0].region.endswith("trim_offset"):
            values += [edit.value for edit in step.edits if isinstance(edit, SetField)]
    assert {2**62, 2**63 - 1, -1} <= set(values)
