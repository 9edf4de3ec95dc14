"""Mutations of FlatBuffers: they change one number of a buffer, which no decoder follows out of it or for ever."""

import pytest

from tests.fuzz.helpers import session_of
from tests.fuzz.mutation_runs import Mutated, findings_with, mutated, reaching
from wiretool.fuzz.mutations.flatbuffers import MUTATIONS, BufferPlaces, buffers_in
from wiretool.fuzz.sequences.sequence import Splice
from wiretool.protocols.base.registry import PROTOCOLS

VERSIONS = ("sbp", "sbp-0.1")
NAMES = tuple(each.name for each in MUTATIONS)


def changed_number(each: Mutated, protocol: str) -> tuple[str, int, int, BufferPlaces]:
    """Return the path of the number that was changed, its place, its new value, and its buffer."""
    splice = each.after.edits[0]
    assert isinstance(splice, Splice)
    buffers = buffers_in(session_of(protocol).context(each.sequence.setup).spans(each.before.data))
    (found,) = [
        (span, buffer) for buffer in buffers for span in buffer.spans if span.offset == splice.offset and span.length
    ]
    span, buffer = found
    assert splice.removed == span.length == len(splice.inserted)
    return span.path, span.offset, int.from_bytes(splice.inserted, "little"), buffer


@pytest.mark.parametrize("protocol", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_one_number_of_a_buffer_is_changed(protocol: str, name: str) -> None:
    found = mutated(protocol, name)
    assert len(found) >= 20
    for each in found:
        path, at, _, _ = changed_number(each, protocol)
        assert path.rpartition(".(")[2] in {
            "root)", "offset)", "slot)", "count)", "vtable)", "vtable size)", "table size)"
        }  # fmt: skip
        assert len(each.after.data) == len(each.before.data)
        assert each.after.data[:at] == each.before.data[:at]
        assert each.after.data != each.before.data
    assert reaching(protocol, found) >= 5


@pytest.mark.parametrize("protocol", VERSIONS)
def test_offsets_lead_out_of_their_buffer(protocol: str) -> None:
    for each in mutated(protocol, "flatbuffers/outside"):
        path, at, value, buffer = changed_number(each, protocol)
        if path.endswith((".(root)", ".(offset)")):
            assert at + value + 4 > buffer.end
        elif path.endswith(".(vtable)"):
            back = value - 2**32 if value >= 2**31 else value
            assert at - back < buffer.start or at - back + 4 > buffer.end or abs(back) == 4


@pytest.mark.parametrize("protocol", VERSIONS)
def test_offsets_lead_back_to_tables(protocol: str) -> None:
    """All of the targets are in the buffer, and some are the offset itself or a place before it."""
    to_itself = backwards = 0
    for each in mutated(protocol, "flatbuffers/cycle", rounds=6):
        path, at, value, buffer = changed_number(each, protocol)
        signed = value - 2**32 if value >= 2**31 else value
        place = at - signed if path.endswith(".(vtable)") else at + signed
        assert buffer.start <= place < buffer.end
        to_itself += place == at
        backwards += place < at and not path.endswith(".(vtable)")
    assert to_itself >= 3
    assert backwards >= 3


@pytest.mark.parametrize("protocol", VERSIONS)
def test_counts_are_huge_and_vtables_odd(protocol: str) -> None:
    counts = [changed_number(each, protocol)[2] for each in mutated(protocol, "flatbuffers/count", rounds=10)]
    assert {2**30, 2**31, 2**32 - 1} <= set(counts)
    sizes = [
        value
        for path, _, value, _ in (
            changed_number(each, protocol) for each in mutated(protocol, "flatbuffers/vtable", rounds=10)
        )
        if path.endswith(".(vtable size)")
    ]
    assert {0, 1, 3, 65_535} <= set(sizes)


def test_checksums_of_batches_mostly_fit_again() -> None:
    """The buffers of record batches are in the payload, which the checksum covers."""
    conversation = PROTOCOLS["sbp"].open(False)
    kinds = {
        str(getattr(defect, "kind", ""))
        for name in NAMES
        for each in mutated("sbp", name)
        if each.after.changes[-1].region.startswith("payload")
        for defect in conversation.read("client", each.after.data, 0, len(each.after.data), 1).defects
    }
    assert len(kinds) > 1
    repaired = [each for name in NAMES for each in mutated("sbp", name) if len(each.after.edits) == 2]
    assert len(repaired) >= 20
    for each in repaired:
        defects = conversation.read("client", each.after.data, 0, len(each.after.data), 1).defects
        assert all(getattr(defect, "kind", "") != "checksum_mismatch" for defect in defects)


@pytest.mark.parametrize("protocol", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_clean_mocks_survive(protocol: str, name: str) -> None:
    assert findings_with(protocol, name) == []
