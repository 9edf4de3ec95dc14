"""A capture cut at a moment: what is before the cut is what was captured until then."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dissect.columns.made import HARMS, Spoken, files_of, packets_made
from wiretool.capture.index.build import FileIndex, Joint, index_of, read_span
from wiretool.capture.index.cuts import cut_after, known_before


def turns_of(path: Path, index: FileIndex, since: Joint, until: Joint) -> list[tuple[int, int]]:
    """The number and the turn of each segment between two joints."""
    return [
        (number, turn)
        for segments in read_span(path, index.between(since, until))
        for number, turn in zip(segments.table.numbers.tolist(), segments.turns.tolist(), strict=True)
    ]


@settings(max_examples=30)
@given(
    form=st.sampled_from(["pcap", "nano", "pcapng"]),
    harms=st.frozensets(st.sampled_from(HARMS), max_size=2),
    every=st.sampled_from([500, 4_000, 1 << 20]),
    seed=st.integers(0, 1 << 16),
)
def test_all_before_it_and_nothing_else(form: str, harms: frozenset[str], every: int, seed: int) -> None:
    rng = random.Random(seed)
    packets = packets_made([Spoken("pravega"), Spoken("sbp", ipv6=True)], harms, seed, 60)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made.pcap"
        path.write_bytes(files_of(packets, form, seed)[0])
        index = index_of(path, every_bytes=every, cache=False)
        whole = turns_of(path, index, Joint(0, 1), index.tail)
        since, taken = Joint(0, 1), []
        for moment in sorted(rng.choice(packets).time_ns // 1000 * 1000 for _ in range(4)):
            cut = cut_after(path, index, since, moment)
            assert known_before(index, since, moment).number <= cut.number
            assert cut.before_ns <= moment or cut == since
            taken += turns_of(path, index, since, cut)
            assert taken == [each for each in whole if each[1] <= moment]
            since = cut
        assert taken + turns_of(path, index, since, index.tail) == whole
