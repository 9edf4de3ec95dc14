"""The index of a capture is kept beside it, and used as long as it is that of this very file."""

import os
from pathlib import Path

import msgspec
import pytest
from tests.bulk.made import Spoken, packets_made
from tests.helpers.captures import packets_of, pcap_bytes

from wiretool.capture import index as index_module
from wiretool.capture import index_cache
from wiretool.capture.index import JOINT_BYTES, FileIndex, index_of
from wiretool.capture.index_cache import cache_path

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
    kept_ns = cache_path(made).stat().st_mtime_ns
    os.utime(made, ns=(kept_ns, kept_ns))
    raw = cache_path(made).read_bytes()
    changed = raw.partition(b"\n")[2].replace(b"%d" % LONG_AGO_NS, b"%d" % kept_ns)
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
    monkeypatch.setattr(index_cache, "VERSION", 2)
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

    for name in ("write_bytes", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, name, refused)
            assert isinstance(index_of(made), FileIndex)
        assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_a_long_name(tmp_path: Path) -> None:
    """A name that is too long for one with more behind it has no index beside it."""
    path = renewed(tmp_path / ("n" * 250), pcap_bytes(packets_of([b"x"])))
    assert index_of(path).packets == 1
    assert list(tmp_path.iterdir()) == [path]
