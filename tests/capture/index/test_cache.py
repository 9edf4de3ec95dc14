"""The index of a capture is kept beside it, and used as long as it is that of this very file."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.dissect.columns.made import Spoken, packets_made
from tests.helpers.captures import packets_of, pcap_bytes
from tests.helpers.tools import needs_root_to
from wiretool.capture.index import build as index_module
from wiretool.capture.index import cache as index_cache
from wiretool.capture.index.build import JOINT_BYTES, FileIndex, index_of, read_range
from wiretool.capture.index.cache import cache_path
from wiretool.errors import CaptureError

RAW = pcap_bytes(packets_made([Spoken("pravega")], frozenset(["fragments"]), 3, 300))
LONG_AGO_NS = 1_700_000_000_123_456_789


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A capture, of those that are worth a file beside them."""
    monkeypatch.setattr(index_cache, "KEPT_BYTES_MIN", len(RAW) // 2)
    return renewed(tmp_path / "a capture.pcap", RAW)


def renewed(path: Path, raw: bytes, time_ns: int = LONG_AGO_NS) -> Path:
    path.write_bytes(raw)
    os.utime(path, ns=(time_ns, time_ns))
    return path


def is_kept(path: Path, every_bytes: int = JOINT_BYTES) -> bool:
    """Whether the index is found without a look at the file."""

    def indexed(*_: object) -> None:
        raise LookupError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_indexed", indexed)
        try:
            index_of(path, every_bytes=every_bytes)
        except LookupError:
            return False
    return True


def test_it_is_kept(made: Path) -> None:
    index = index_of(made, every_bytes=500)
    assert sum(len(joint.fragments) for joint in index.joints)
    assert cache_path(made).name == ".a capture.pcap.wiretool-index"
    assert is_kept(made, every_bytes=500)
    assert index_of(made, every_bytes=500) == index == index_of(made, every_bytes=500, cache=False)
    assert not is_kept(made, every_bytes=501)
    assert [path.name for path in sorted(made.parent.iterdir())] == [cache_path(made).name, made.name]


def test_that_of_a_small_file_is_not_kept(made: Path) -> None:
    small = renewed(made.with_name("small.pcap"), RAW[:500])
    index_of(small)
    assert not cache_path(small).exists()


def test_it_is_not_kept_unless_that_is_asked(made: Path) -> None:
    index_of(made, cache=False)
    assert not cache_path(made).exists()
    index_of(renewed(made, RAW[:-1]), is_growing=True)
    assert not cache_path(made).exists()
    index_of(renewed(made, RAW), is_growing=True)
    assert is_kept(made)


def test_a_damage_may_only_be_what_is_still_being_written(made: Path) -> None:
    assert "ends early" in index_of(renewed(made, RAW[:-1])).damage
    assert is_kept(made)
    assert index_of(made, is_growing=True).damage == ""
    assert "ends early" in index_of(made).damage


@pytest.mark.parametrize("how", ["longer", "later", "another file", "another beginning"])
def test_another_file_has_another_index(made: Path, how: str) -> None:
    index_of(made)
    match how:
        case "longer":
            renewed(made, RAW + RAW[24:])
        case "later":
            os.utime(made, ns=(LONG_AGO_NS, LONG_AGO_NS + 1))
        case "another file":
            renewed(made.with_name("other"), RAW).rename(made)
        case "another beginning":
            renewed(made, RAW[:30] + b"x" + RAW[31:])
    assert not is_kept(made)
    assert index_of(made) == index_of(made, cache=False)
    assert is_kept(made)


def test_a_file_that_may_have_been_written_since_is_looked_at_again(made: Path) -> None:
    """In the same tick of the clock its size and time stay as they are."""
    index_of(made)
    kept_ns, changed_ns = cache_path(made).stat().st_mtime_ns, made.stat().st_ctime_ns
    os.utime(made, ns=(kept_ns, kept_ns))
    raw = cache_path(made).read_bytes()
    changed = raw.partition(b"\n")[2].replace(b"%d" % LONG_AGO_NS, b"%d" % kept_ns)
    changed = changed.replace(b"%d" % changed_ns, b"%d" % made.stat().st_ctime_ns)
    cache_path(made).write_bytes(index_cache._line(changed) + b"\n" + changed)
    os.utime(cache_path(made), ns=(kept_ns, kept_ns))
    assert not is_kept(made)
    os.utime(cache_path(made), ns=(kept_ns, kept_ns + 1))
    assert is_kept(made)


@pytest.mark.parametrize("at", [0, 3, 16, 20, 60, 200, -1])
def test_a_damaged_one_is_replaced(made: Path, at: int) -> None:
    index = index_of(made)
    kept = cache_path(made)
    whole = kept.read_bytes()
    other = bytearray(whole)
    other[at] ^= 1
    for raw in (bytes(other), whole[:at], b"", b"\n", b"foreign" * 9):
        kept.write_bytes(raw)
        assert not is_kept(made)
        assert index_of(made) == index
        assert kept.read_bytes() == whole


def test_a_foreign_one_is_replaced(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(made)
    kept = cache_path(made)
    for body in (b"{}", b"[]", b"\xff", msgspec.json.encode({"every_bytes": "x", "index": None})):
        kept.write_bytes(index_cache._line(body) + b"\n" + body)
        assert index_of(made) == index
        assert is_kept(made)
    kept.unlink()
    kept.mkdir()
    assert index_of(made) == index
    kept.rmdir()
    os.mkfifo(kept)
    assert index_of(made) == index
    monkeypatch.setattr(index_cache, "VERSION", index_cache.VERSION + 1)
    assert not is_kept(renewed(made, RAW))


def test_one_that_is_very_large_is_not_kept(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as small:
        small.setattr(index_cache, "INDEX_CACHE_BYTES_MAX", 1000)
        assert len(index_of(made, every_bytes=1).joints) > 10
        assert not cache_path(made).exists()
    index_of(made, every_bytes=1)
    assert is_kept(made, every_bytes=1)
    monkeypatch.setattr(index_cache, "INDEX_CACHE_BYTES_MAX", 1000)
    assert not is_kept(made, every_bytes=1)


def test_a_folder_that_cannot_be_written(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    for place, name in ((os, "open"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, refused)
            assert isinstance(index_of(made), FileIndex)
        assert [path.name for path in made.parent.iterdir()] == [made.name]


# -- planted ones ------------------------------------------------------------------------------------------------------


def planted(path: Path, change: Callable[[FileIndex], FileIndex], every_bytes: int = 500) -> FileIndex:
    """The true index of a file, in whose place another one is put: bound to the file, with a checksum that is right."""
    index = index_of(path, every_bytes=every_bytes)
    kept = cache_path(path)
    body = kept.read_bytes().partition(b"\n")[2]
    lie = msgspec.json.decode(body, type=index_cache.Kept)
    body = msgspec.json.encode(msgspec.structs.replace(lie, index=change(lie.index)))
    kept.write_bytes(index_cache._line(body) + b"\n" + body)
    return index


def one_later(index: FileIndex) -> FileIndex:
    first, *others = index.joints[1:]
    return replace(index, joints=(replace(first, number=1), *others))


LIES_AT_THE_ENDS: dict[str, Callable[[FileIndex], FileIndex]] = {
    "begins later": lambda index: replace(index, joints=index.joints[1:]),
    "begins later, and counts from 1": one_later,
    "begins inside a packet": lambda index: replace(
        index, joints=(replace(index.joints[0], at=index.joints[0].at + 1), *index.joints[1:])
    ),
    "ends earlier": lambda index: replace(index, joints=index.joints[:-2], tail=index.joints[-2]),
    "ends inside a packet": lambda index: replace(index, tail=replace(index.tail, at=index.tail.at - 1)),
    "has no packets": lambda index: replace(index, joints=(), tail=replace(index.joints[0], at=0)),
    "is of no capture": lambda index: replace(index, kind="", joints=()),
    "counts 10^8 packets": lambda index: replace(index, tail=replace(index.tail, number=10**8)),
    "counts 2^63 packets": lambda index: replace(index, tail=replace(index.tail, number=(1 << 63) - 1)),
    "counts 2^70 packets": lambda index: replace(index, tail=replace(index.tail, number=1 << 70)),
    "counts 2^62 packets in the middle": lambda index: replace(
        index, joints=(index.joints[0], replace(index.joints[1], number=1 << 62), *index.joints[2:])
    ),
    "is packed": lambda index: replace(index, is_packed=True),
    "is damaged": lambda index: replace(index, damage="byte 99: a record with nonsense in it"),
    "has another form": lambda index: replace(index, kind="pcapng"),
}


@pytest.mark.parametrize("lie", LIES_AT_THE_ENDS.values(), ids=list(LIES_AT_THE_ENDS))
def test_one_that_leaves_out_packets_is_not_taken(made: Path, lie: Callable[[FileIndex], FileIndex]) -> None:
    true = planted(made, lie)
    assert index_of(made, every_bytes=500) == true
    assert is_kept(made, every_bytes=500)


def in_the_middle(**values: Any) -> Callable[[FileIndex], FileIndex]:
    def change(index: FileIndex) -> FileIndex:
        joints = list(index.joints)
        place = next(place for place in range(2, len(joints)) if joints[place].fragments)
        joint = joints[place]
        joints[place] = replace(joint, **{name: lie(getattr(joint, name)) for name, lie in values.items()})
        return replace(index, joints=tuple(joints))

    return change


LIES_BETWEEN: dict[str, Callable[[FileIndex], FileIndex]] = {
    "numbers": in_the_middle(number=lambda number: number + 1),
    "places": in_the_middle(at=lambda at: at + 16),
    "times": in_the_middle(before_ns=lambda before_ns: before_ns + 10**18),
    "packet times": in_the_middle(packet_ns=lambda packet_ns: packet_ns + 1),
    "blocks": in_the_middle(blocks=lambda blocks: (0,)),
    "fragments": in_the_middle(fragments=lambda fragments: ()),
}


@pytest.mark.parametrize("lie", LIES_BETWEEN.values(), ids=list(LIES_BETWEEN))
def test_ranges_that_do_not_meet(made: Path, lie: Callable[[FileIndex], FileIndex]) -> None:
    planted(made, lie)
    assert is_kept(made, every_bytes=500)
    index = index_of(made, every_bytes=500)
    with pytest.raises(CaptureError):
        [list(read_range(made, index, first, first + 1)) for first in range(len(index.joints))]


def test_one_that_others_may_write_to_is_not_taken(made: Path) -> None:
    true = planted(made, lambda index: index)
    for mode in (0o666, 0o660, 0o602):
        cache_path(made).chmod(mode)
        assert not is_kept(made, every_bytes=500)
        assert index_of(made, every_bytes=500) == true
        assert cache_path(made).stat().st_mode & 0o777 == 0o600


@needs_root_to("give a file to another user")
def test_that_of_somebody_else_is_not_taken(made: Path) -> None:
    true = planted(made, lambda index: index)
    os.chown(cache_path(made), 12_345, -1)
    assert not is_kept(made, every_bytes=500)
    assert index_of(made, every_bytes=500) == true
    assert cache_path(made).stat().st_uid == os.geteuid()


def test_one_that_was_made_for_a_copy_is_not_taken(made: Path) -> None:
    """A file may be given any time, but not that of its last change."""
    planted(made, LIES_AT_THE_ENDS["ends earlier"])
    raw, kept = made.read_bytes(), cache_path(made).read_bytes()
    renewed(made, raw)
    cache_path(made).write_bytes(kept)
    assert not is_kept(made, every_bytes=500)


def test_no_link_is_followed(made: Path) -> None:
    victim = made.parent / "victim"
    victim.write_bytes(b"precious")
    part = cache_path(made).with_name(f"{cache_path(made).name}.{os.getpid()}")
    part.symlink_to(victim)
    cache_path(made).symlink_to(victim)
    true = index_of(made, every_bytes=500)
    part.unlink(missing_ok=True)
    assert index_of(made, every_bytes=500) == true
    assert victim.read_bytes() == b"precious"
    assert not cache_path(made).is_symlink()
    cache_path(made).rename(victim)
    cache_path(made).symlink_to(victim)
    assert not is_kept(made, every_bytes=500)


def test_a_long_name(tmp_path: Path) -> None:
    """A name that is too long for one with more behind it has no index beside it."""
    path = renewed(tmp_path / ("n" * 250), pcap_bytes(packets_of([b"x"])))
    assert index_of(path).packets == 1
    assert list(tmp_path.iterdir()) == [path]
