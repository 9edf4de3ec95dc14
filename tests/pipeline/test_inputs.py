"""Which files are read, and what is said of each that is not, or not to its end."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from tests.helpers.closed import LONG, shut
from wiretool import limits
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline import inputs
from wiretool.pipeline.inputs import captures_in, indexed, unpacked
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import read_manifest
from wiretool.pipeline.local import run_local
from wiretool.pipeline.stream import following
from wiretool.pipeline.stream.local import read_here
from wiretool.pipeline.stream.run import Ears, StreamJob, run_stream

CAPTURES = Path(__file__).parents[2] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
APPEND = CAPTURES / "sbp" / "rs_append.pcap"


@pytest.fixture
def told() -> list[str]:
    return []


def test_it_is_told_as_it_was_when_it_was_indexed(tmp_path: Path, told: list[str]) -> None:
    packed, gone = tmp_path / "a.pcap.gz", tmp_path / "b.pcap"
    packed.write_bytes(gzip.compress(WRITE.read_bytes(), 1))
    shutil.copy(APPEND, gone)
    stats = packed.stat(), gone.stat()
    captures = [unpacked(each, tmp_path / "copy") for each in indexed([packed, gone], [], told.append)]
    packed.write_bytes(b"")
    gone.unlink()
    assert [(each.input.size, each.input.mtime_ns) for each in captures] == [
        (stat.st_size, stat.st_mtime_ns) for stat in stats
    ]


def closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody open a file, nor root."""
    whole = Path.open

    def refusing(self: Path, *args: object, **kwargs: object) -> object:
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return whole(self, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refusing)


def test_a_file_that_cannot_be_opened_is_an_input_with_damage(
    tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    shutil.copy(APPEND, folder / "a.pcap")
    shutil.copy(APPEND, folder / "shut.pcap")
    (folder / "text").write_text("no capture")
    (folder / "loop.pcap").symlink_to(folder / "loop.pcap")
    (folder / "vanished.pcap").symlink_to(folder / "nothing")
    closed(folder / "shut.pcap", monkeypatch)
    manifest = run_local(Job([folder], tmp_path / "tables"), told.append, lambda step: None)
    assert [(Path(each.path).name, each.damage, each.packets > 0) for each in manifest.inputs] == [
        ("a.pcap", "", True),
        ("shut.pcap", "cannot be read: permission denied", False),
        ("vanished.pcap", "cannot be read: No such file or directory", False),
    ]
    assert told == [f"{folder / 'text'} skipped: not a capture"]


@pytest.mark.parametrize("name", ["b.pcap", "b.PCAPNG", "b.pcap.gz", "b.pcapng.zst"])
def test_what_is_named_like_a_capture_and_is_none_is_damaged(tmp_path: Path, told: list[str], name: str) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    shutil.copy(APPEND, folder / "a.pcap")
    (folder / name).write_bytes(b"????" + APPEND.read_bytes()[4:])
    manifest = run_local(Job([folder], tmp_path / "tables"), told.append, lambda step: None)
    assert [(Path(each.path).name, each.damage[:45], each.packets > 0) for each in manifest.inputs] == [
        ("a.pcap", "", True),
        (name, "cannot be read: byte 0: neither pcap nor pcap", False),
    ]
    assert told == []
    (folder / "a.pcap").unlink()
    with pytest.raises(CaptureError, match="neither pcap nor pcapng") as refused:
        run_local(Job([folder], tmp_path / "tables"), told.append, lambda step: None)
    assert refused.value.exit_code == 3


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (1, "0 skipped: not a capture"),
        (3, "0, 1, 2 skipped: not captures"),
        (4, "0, 1, 2 and 1 other file skipped: not captures"),
        (5, "0, 1, 2 and 2 other files skipped: not captures"),
    ],
)
def test_the_first_files_that_are_skipped_are_named(count: int, line: str) -> None:
    assert inputs.skipped([Path(str(at)) for at in range(count)]) == line


def test_where_none_can_be_opened(tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shut = tmp_path / "shut.pcap"
    shutil.copy(APPEND, shut)
    closed(shut, monkeypatch)
    for given in (tmp_path, shut):
        with pytest.raises(CaptureError, match="permission denied") as refused:
            list(indexed([shut], [given], told.append))
        assert refused.value.exit_code == 2


def test_a_folder_that_cannot_be_listed_is_among_the_files(
    tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shut = tmp_path / "shut"
    shut.mkdir()
    shutil.copy(APPEND, tmp_path / "a.pcap")
    scan = os.scandir

    def refusing(path: str) -> object:
        if Path(path) == shut:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert captures_in([tmp_path], told.append) == [tmp_path / "a.pcap", shut]


def test_who_opens_it_tells_why_it_is_closed(tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "shut" / "a.pcap"
    inside.parent.mkdir()
    shutil.copy(APPEND, inside)
    shut(inside.parent, monkeypatch)
    closed(inside, monkeypatch)
    for path, why in ((inside, "permission denied"), (tmp_path / LONG, "cannot be read: File name too long")):
        assert captures_in([path], told.append) == [path]
        with pytest.raises(CaptureError, match=rf"{path}: {why}"):
            list(indexed([path], [path], told.append))


def test_what_is_not_there(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("none", "file/in", "loop", "a\0b"):
        with pytest.raises(UsageError, match=f"{tmp_path / name}: no such file; expected capture files, or folders"):
            captures_in([tmp_path / name], told.append)


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_a_damaged_packed_file_is_told_as_its_index_tells_it(keep: float, tmp_path: Path, told: list[str]) -> None:
    path, packed = tmp_path / "cut.pcap.gz", gzip.compress(WRITE.read_bytes(), 1)
    path.write_bytes(packed[: int(len(packed) * keep)])
    (capture,) = indexed([path], [], told.append)
    copy = unpacked(capture, tmp_path / "copy")
    assert copy.damage == capture.index.damage
    assert copy.damage.startswith("byte ")
    assert copy.index.packets == capture.index.packets > 0


def test_what_is_no_file_is_told(tmp_path: Path, told: list[str]) -> None:
    shutil.copy(APPEND, tmp_path / "a.pcap")
    os.mkfifo(tmp_path / "pipe.pcap")
    assert captures_in([tmp_path], told.append) == [tmp_path / "a.pcap"]
    assert told == [f"{tmp_path / 'pipe.pcap'} is not a file, skipped"]


def test_tables_among_the_captures_are_left_out(tmp_path: Path, told: list[str]) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    shutil.copy(APPEND, folder)
    job = Job([folder], folder / "lake")
    first = run_local(job, told.append, lambda step: None)
    assert told == []
    again = run_local(job, told.append, lambda step: None)
    assert again.inputs == first.inputs
    assert told == [f"{folder / 'lake'} holds tables of wiretool pipeline, skipped"]


def test_a_name_that_is_no_utf8(tmp_path: Path, told: list[str]) -> None:
    path, packed = (Path(os.fsdecode(os.fsencode(tmp_path) + name)) for name in (b"/x\xff.pcap", b"/y\xff.gz"))
    shutil.copy(APPEND, path)
    packed.write_bytes(gzip.compress(WRITE.read_bytes(), 1))
    run_local(Job([tmp_path], tmp_path / "tables"), told.append, lambda step: None)
    inputs = read_manifest(tmp_path / "tables").inputs
    assert [each.path for each in inputs] == [rf"{tmp_path}/x\xff.pcap", rf"{tmp_path}/y\xff.gz"]


def bomb(packets: int) -> bytes:
    """A capture of zeros, which packs to a thousandth."""
    record = (0).to_bytes(8, "little") + (60_000).to_bytes(4, "little") * 2 + bytes(60_000)
    head = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    return head + record * packets


@pytest.mark.parametrize("is_stream", [False, True])
def test_what_unpacks_without_end(
    tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch, is_stream: bool
) -> None:
    """Of a bomb no more than the limit is on the disk, and the rest is told as damage."""
    monkeypatch.setattr(limits, "UNPACKED_BYTES_FREE", 1 << 20)
    folder = tmp_path / "captures"
    folder.mkdir()
    packed = folder / "bomb.pcap.gz"
    packed.write_bytes(gzip.compress(bomb(100)))
    (folder / "plain.pcap").write_bytes(WRITE.read_bytes())
    assert packed.stat().st_size * limits.UNPACKED_TIMES_MAX < (1 << 20)
    sizes = []
    whole = inputs.unpack

    def noting(path: Path, copy: Path) -> str:
        damage = whole(path, copy)
        sizes.append(copy.stat().st_size)
        return damage

    monkeypatch.setattr(following if is_stream else inputs, "unpack", noting)
    job = Job([folder], tmp_path / "tables")
    if is_stream:
        ears = Ears(told.append, told.append, lambda made: None)
        options = StreamJob(job, tmp_path / "c", "local", is_once=True, is_finished=True)
        manifest = run_stream(options, read_here, ears)
    else:
        manifest = run_local(job, told.append, lambda step: None)
    assert sizes == [1 << 20]
    damaged = next(each for each in manifest.inputs if each.path.endswith("bomb.pcap.gz"))
    assert "byte 1048576: it unpacks to more than 1 MiB, and" in damaged.damage
    assert 10 < damaged.packets < 20


def test_what_packs_well_is_taken_whole(tmp_path: Path, told: list[str]) -> None:
    packed = tmp_path / "zeros.pcap.gz"
    packed.write_bytes(gzip.compress(bomb(100)))
    assert inputs.unpack(packed, tmp_path / "copy") == ""
    assert (tmp_path / "copy").stat().st_size == len(bomb(100))


def test_packets_are_counted_up_to_the_end(tmp_path: Path) -> None:
    """Many tables of tiny packets share one buffer, whose size is not that of each."""
    capture = tmp_path / "tiny.pcap.gz"
    head = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    capture.write_bytes(gzip.compress(head + bytes(16) * 2_000_000))
    assert inputs.packet_counts([capture], set()).packets == 2_000_000
