"""How captures are shared out between tasks: all of each, once, in order, whatever the size of a share."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.captures import START_NS, STEP_NS, packets_of, pcap_bytes, pcapng_bytes
from wiretool.capture.index.build import index_of
from wiretool.capture.index.ranges import read_span_packets
from wiretool.errors import CaptureError
from wiretool.pipeline.spark.planning import STRETCH_BYTES, Part, Window, planned

PACKETS = 300
FRAMES = [bytes([number % 251]) * (number % 97 + 20) for number in range(PACKETS)]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of the same packets, the second one of another form, the third one ten seconds later."""
    folder = tmp_path_factory.mktemp("captures")
    later = packets_of(FRAMES, start_ns=START_NS + 10**10)
    for name, raw in (
        ("a.pcap", pcap_bytes(packets_of(FRAMES))),
        ("b.pcapng", pcapng_bytes(packets_of(FRAMES))),
        ("c.pcap", pcap_bytes(later)),
    ):
        (folder / name).write_bytes(raw)
    return sorted(folder.iterdir())


def numbers_of(parts: list[Part]) -> list[tuple[int, int]]:
    """The place of the capture and the number of each packet."""
    return [
        (part.place, table.first_number + row)
        for part in parts
        for table in read_span_packets(Path(part.path), part.span)
        for row in range(len(table.starts))
    ]


@settings(max_examples=15)
@given(st.integers(300, 200_000))
def test_every_packet_comes_once_and_in_order(captures: list[Path], split_bytes: int) -> None:
    tasks = planned(captures, split_bytes)
    assert all(tasks)
    found = [number for parts in tasks for number in numbers_of(parts)]
    assert found == [(place, number) for place in range(3) for number in range(1, PACKETS + 1)]


@settings(max_examples=20)
@given(st.integers(2_000, 100_000))
def test_a_task_takes_no_more_than_its_share(captures: list[Path], split_bytes: int) -> None:
    # Ranges are about as large as a share: one of them, and that of the next that fits.
    for parts in planned(captures, split_bytes):
        assert sum(part.span.end - part.span.since.at for part in parts) <= split_bytes + 200


def test_small_captures_go_together(captures: list[Path]) -> None:
    assert [len(parts) for parts in planned(captures, 64 * 1024 * 1024)] == [3]


def test_what_follows_in_one_capture_is_one_stretch(captures: list[Path]) -> None:
    """Joints are no closer than shares are large; those that lie within one are joined."""
    index = index_of(captures[0], every_bytes=1000, cache=False)
    assert len(index.joints) > 5
    (parts,) = planned(captures[:1], 10 * STRETCH_BYTES)
    assert len(parts) == 1


def test_many_small_files_are_not_all_one_task(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.pcap" for number in range(40)]
    for path in paths:
        path.write_bytes(pcap_bytes(packets_of([b"abc"])))
    assert len(planned(paths, STRETCH_BYTES * 16)) == 3


def test_what_is_out_of_the_window_is_not_read(captures: list[Path]) -> None:
    early = Window(last_ns=START_NS + 10**9)
    assert {part.place for parts in planned(captures, 5000, window=early) for part in parts} == {0, 1}
    late = Window(first_ns=START_NS + 250 * STEP_NS)
    found = [number for parts in planned(captures, 5000, window=late) for number in numbers_of(parts)]
    assert {place for place, _ in found} == {0, 1, 2}
    assert PACKETS < len(found) < 2 * PACKETS
    assert {(0, number) for number in range(250, 301)} <= set(found)
    only = Window(files=frozenset([str(captures[1])]))
    assert {part.place for parts in planned(captures, 5000, window=only) for part in parts} == {1}


def test_a_packed_capture_is_one_part(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(pcap_bytes(packets_of(FRAMES))))
    ((part,),) = planned([path], 1000)
    assert len(numbers_of([part])) == PACKETS


def test_the_good_part_of_a_damaged_capture_is_used_unless_all_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap_bytes(packets_of(FRAMES))[:-5])
    ((part,),) = planned([path], 10**6)
    assert len(numbers_of([part])) == PACKETS - 1
    with pytest.raises(CaptureError, match=r"a\.pcap: byte \d+: the record of packet 300 ends early"):
        planned([path], 10**6, is_strict=True)


def test_what_is_no_capture(tmp_path: Path, captures: list[Path]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no capture")
    with pytest.raises(CaptureError, match=r"notes\.txt: byte 0: neither pcap nor pcapng"):
        planned([path, *captures], 10**6)
    (parts,) = planned([path, *captures], 10**6, optional=[path])
    assert [part.place for part in parts] == [1, 2, 3]
    with pytest.raises(CaptureError, match="gone: no such file"):
        planned([tmp_path / "gone"], 10**6)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CaptureError, match="pipe: not a seekable file; expected a regular file"):
        planned([tmp_path / "pipe"], 10**6)


def test_the_place_holds_everywhere_and_the_name_is_as_it_was_given(
    captures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(captures[0].parent)
    ((part,),) = planned([Path("a.pcap")], 10**6)
    monkeypatch.chdir("/")
    assert (part.name, Path(part.path)) == ("a.pcap", captures[0])
    assert len(numbers_of([part])) == PACKETS


def test_nothing_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(b"")
    assert planned([path], 10**6) == []
    assert planned([], 10**6) == []


def test_a_file_that_has_changed_since_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap_bytes(packets_of(FRAMES)))
    ((part,),) = planned([path], 10**6)
    path.write_bytes(pcap_bytes(packets_of(FRAMES[:10])))
    with pytest.raises(CaptureError, match="the file changed after it was indexed"):
        numbers_of([part])
