"""What a stream finds in its folder: files that move, are written anew, go away, or are no captures."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.captures import pcap_bytes, pcapng_bytes
from tests.helpers.closed import LONG, shut
from tests.helpers.spark import needs_pyspark

needs_pyspark()


from tests.helpers.stream_query import Query, appended, numbers, of_batch, some_packets  # noqa: E402
from wiretool.errors import CaptureError, UsageError  # noqa: E402
from wiretool.pipeline.spark import stream_looks  # noqa: E402
from wiretool.pipeline.spark.stream_offsets import Offset  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    return folder


# -- names and rings ---------------------------------------------------------------------------------------------------


def test_a_renamed_file_is_the_same(folder: Path) -> None:
    raw = pcap_bytes(some_packets())
    (folder / "now").write_bytes(raw[:3000])
    query = Query(folder)
    found = query.batch()
    for before, after in (("now", "a-1"), ("a-1", "b-2")):
        (folder / before).rename(folder / after)
        assert query.batch() == []
        query.begin()
    appended(folder / "b-2", raw[3000:])
    (folder / "now").write_bytes(pcap_bytes(some_packets(5)))
    end = query.end()
    (folder / "b-2").rename(folder / "c")  # between planning and reading
    tasks = query.tasks(end)
    (folder / "c").rename(folder / "d")
    found += query.rows(tasks)
    assert numbers(found) == [*range(1, 61), *range(1, 6)]


def test_a_link_is_no_other_file(folder: Path) -> None:
    (folder / "caps-1").write_bytes(pcap_bytes(some_packets()))
    (folder / "a-latest").symlink_to("caps-1")
    assert len(Query(folder).batches()) == 60


@pytest.mark.parametrize("form", [pcap_bytes, pcapng_bytes], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("is_begun_again", [False, True])
def test_a_name_of_a_ring_is_used_again(
    folder: Path, form: Any, is_begun_again: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The same inode, and of pcapng the same first bytes; the new capture may be the longer one."""
    old, new = some_packets(40), some_packets(55, start_ns=1_800_000_000_000_000_000)
    (folder / "ring0").write_bytes(form(old))
    (folder / "ring1").write_bytes(form(old[:3]))
    query = Query(folder)
    found = query.batch()
    inode = (folder / "ring0").stat().st_ino
    (folder / "ring0").write_bytes(form(new)[:50])  # not a packet yet
    assert (folder / "ring0").stat().st_ino == inode
    if is_begun_again:
        query.begin()
    assert query.batch() == []
    (folder / "ring0").write_bytes(form(new))
    found += query.batch()
    assert numbers(found) == [*range(1, 41), *range(1, 4), *range(1, 56)]
    assert f"{folder}/ring0 was rewritten; its unread packets are lost" in caplog.messages


def test_what_could_not_be_read_in_time_is_told(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "a").write_bytes(pcap_bytes(some_packets(100)))
    query = Query(folder, maxBytesPerTrigger="2000")
    read = len(query.batch())
    assert 0 < read < 50
    (folder / "a").unlink()
    (folder / "b").write_bytes(pcap_bytes(some_packets(5)))
    assert numbers(query.batch()) == [1, 2, 3, 4, 5]
    why = f"was deleted or rewritten; {100 - read} unread packets are lost"
    assert caplog.messages == [f"{folder}/a {why}"]
    assert query.batch() == []
    query = Query(folder, maxBytesPerTrigger="100", mode="failfast")
    query.batch()
    (folder / "b").unlink()
    with pytest.raises(CaptureError, match=r"/b: was deleted or rewritten; \d unread packets are lost"):
        query.batch()


def test_what_was_read_may_go(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in "abc":
        (folder / name).write_bytes(pcap_bytes(some_packets()))
    query = Query(folder, mode="failfast")
    assert len(query.batch()) == 180
    (folder / "a").unlink()
    assert query.batch() == []
    (folder / "d").write_bytes(pcap_bytes(some_packets(5)))
    assert len(query.batch()) == 5
    assert [each["path"][-1] for each in json.loads(query.start or "")["files"].values()] == ["b", "c", "d"]
    assert caplog.messages == []


def test_a_folder_that_is_away_comes_back(folder: Path) -> None:
    """Nothing of it is read again."""
    (folder / "a").write_bytes(pcap_bytes(some_packets()))
    query = Query(folder)
    assert len(query.batch()) == 60
    end = query.start or ""
    folder.rename(folder.with_name("away"))
    assert query.batch() == []
    query.start = None
    with pytest.raises(UsageError, match="captures is not there: expected a folder in which captures arrive"):
        query.begin()
    query.start = json.dumps(Offset().json())
    with pytest.raises(CaptureError, match="captures: cannot be read: No such file"):
        query.tasks(end)
    query.start = end
    folder.with_name("away").rename(folder)
    appended(folder / "a", pcap_bytes(some_packets(7))[24:])
    assert numbers(query.batch()) == list(range(61, 68))


# -- what is no capture, or not yet ------------------------------------------------------------------------------------


def test_packed_captures_are_awaited(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    raw = gzip.compress(pcap_bytes(some_packets()), mtime=0)
    query = Query(folder)
    for piece in (b"", raw[:5], raw[5:70], raw[70:-1]):
        appended(folder / "a.gz", piece)
        assert query.batch() == []
    appended(folder / "a.gz", raw[-1:])
    assert query.batch() == []  # it may grow again
    assert numbers(query.batch()) == list(range(1, 61))
    assert caplog.messages == [f"{folder}/a.gz is skipped until it changes: the gzip data ends early"]
    query.begin()
    assert query.batch() == []
    appended(folder / "a.gz", raw)
    assert query.batch() == []
    assert caplog.messages[1:] == [f"{folder}/a.gz has grown since it was read; the new packets are not read"]


def test_a_named_pipe_is_no_capture(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.mkfifo(folder / "pipe")
    for place in (folder, folder / "*"):
        assert Query(place).batch() == []
    assert caplog.messages == []
    with pytest.raises(CaptureError, match="pipe: not a seekable file; expected a regular file"):
        Query(folder / "pipe").batch()


def test_others_in_a_folder_are_left_out(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "notes.txt").write_text("no capture\n")
    (folder / "empty").touch()
    (folder / ".hidden").write_bytes(pcap_bytes(some_packets()))
    raw = pcap_bytes(some_packets(3))
    (folder / "head").write_bytes(raw[:3])
    query = Query(folder, mode="failfast")
    assert query.batch() == []
    appended(folder / "head", raw[3:20])
    assert query.batch() == []
    appended(folder / "head", raw[20:])
    assert numbers(query.batch()) == [1, 2, 3]
    why = "is skipped until it changes: neither pcap nor pcapng: starts with 6e 6f 20 63"
    assert caplog.messages == [f"{folder}/notes.txt {why}"]
    with pytest.raises(CaptureError, match=r"notes\.txt: byte 0: neither pcap nor pcapng"):
        Query(folder / "notes.txt").batch()
    assert len(Query(folder / "h*").batch()) == 3
    assert Query(folder / "later-*.pcap").batch() == []


def test_the_good_part_of_a_damaged_one(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    raw = pcap_bytes(some_packets(10))
    (folder / "a").write_bytes(raw + b"\xff" * 40)
    query = Query(folder)
    assert len(query.batch()) == 10
    appended(folder / "a", raw)
    assert query.batch() == []
    (told,) = caplog.messages
    assert told.startswith(f"{folder}/a is damaged; the part before the damage is used: byte {len(raw)}: ")
    with pytest.raises(CaptureError, match=rf"/a: byte {len(raw)}: "):
        Query(folder, mode="failfast").batch()


def test_a_storage_that_fails_is_no_other_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was read is not read again, and what was not is read later."""
    raw = pcap_bytes(some_packets())
    (folder / "a").write_bytes(raw[:3000])
    query = Query(folder)
    found = query.batch()
    appended(folder / "a", raw[3000:])

    def fails(path: Path, *args: Any, **options: Any) -> str:
        raise CaptureError(str(path), "cannot be read: Input/output error", offset=0) from OSError(5, "")

    with monkeypatch.context() as patch:
        patch.setattr(stream_looks, "seal_of", fails)
        assert query.batch() == []
    assert caplog.messages == [f"{folder}/a is skipped for now: cannot be read: Input/output error"]
    assert found + query.batch() == of_batch(folder)


@pytest.mark.parametrize("name", ["a", "*"])
def test_what_we_may_not_look_at(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a").write_bytes(pcap_bytes(some_packets(5)))
    begun = Query(folder / name)
    assert len(begun.batch()) == 5
    shut(folder, monkeypatch)
    why = rf"/captures/{'a' if name == 'a' else '.'}: cannot be looked at: permission denied"
    with pytest.raises(CaptureError, match=why):
        begun.end()
    with pytest.raises(CaptureError, match=why):
        Query(folder / name).end()


def test_a_name_that_is_too_long(folder: Path) -> None:
    with pytest.raises(CaptureError, match=": cannot be looked at: File name too long"):
        Query(folder / LONG).end()
    assert Query(folder / f"{LONG}*").batch() == []
