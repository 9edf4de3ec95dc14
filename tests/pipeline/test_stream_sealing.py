"""A stream of very many batches: what is written with each is bounded, and what is read is the whole as ever."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.pipeline.test_stream import CAPTURES, Streamed, check, pack, streamed
from wiretool.capture.index.split_points import FileIndex, Joint
from wiretool.errors import CaptureError, UsageError
from wiretool.ledger import Account
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import (
    FORMAT,
    FORMAT_SEALED,
    MANIFEST,
    SEALED,
    File,
    Input,
    Manifest,
    read_head,
    read_manifest,
    write_manifest,
)
from wiretool.pipeline.local import run_local
from wiretool.pipeline.sql import asked
from wiretool.pipeline.stream import checkpoint as checkpoints
from wiretool.pipeline.stream import publish as publishing
from wiretool.pipeline.stream.checkpoint import Checkpoint, Commit, Stream, StreamOptions, opened
from wiretool.pipeline.stream.following import Followed
from wiretool.pipeline.stream.publish import Published, in_batch

__all__ = ["streamed"]


@contextmanager
def bounds(batches: int, captures: int) -> Iterator[None]:
    """Only so many of them are kept in files that are written with each batch."""
    with (
        patch.multiple(publishing, BATCHES_MAX=batches, INPUTS_MAX=captures),
        patch.multiple(checkpoints, BATCHES_MAX=batches, CAPTURES_MAX=captures),
    ):
        yield


class Killed(BaseException):
    """Nothing is done after it."""


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Killed at the step with that number, from 1, of those that change files; what is written is half there."""
    left = step

    def dying(change: Callable[..., Any]) -> Callable[..., Any]:
        def changing(path: Any, *arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise AssertionError("something was done by one who is dead")
            if not left and change is write:
                change(path, arguments[0][: len(arguments[0]) // 2])
            if not left:
                raise Killed
            return change(path, *arguments, **options)

        return changing

    write = Path.write_bytes
    names = {Path: ("write_bytes", "replace", "mkdir", "unlink"), os: ("replace",), shutil: ("rmtree",)}
    with ExitStack() as stack:
        changes = [(owner, name, dying(getattr(owner, name))) for owner, each in names.items() for name in each]
        for owner, name, change in changes:
            stack.enter_context(patch.object(owner, name, change))
        yield


class Ground:
    """A checkpoint and tables, of which each batch is given; and what they would be if nothing were ever sealed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables = folder / "tables"
        self.captures: list[Followed] = []
        self.unread: list[Input] = []
        self.stream = Stream("captures", "tables", StreamOptions("auto", {}, events=False), 1)
        self.wanted: Manifest | None = None
        self.begin_again()

    def begin_again(self) -> None:
        """As a process that is started has it."""
        with opened(self.folder / "checkpoint", self.stream, 1) as self.checkpoint:
            self.published = Published(Job([self.folder / "captures"], self.tables), self.checkpoint.stream, "local")
            self.stream = self.checkpoint.stream
            last = self.checkpoint.last
            self.published.clear(last.staging, print)
            if last.batch >= 0:
                self.published.publish(last, [each.input for each in last.captures])
            self.checkpoint.clear()
            self.captures = list(last.captures)
        if self.wanted is None:
            self.wanted = read_manifest(self.tables)

    @property
    def batch(self) -> int:
        return self.checkpoint.last.batch + 1

    def make(self, names: Sequence[str]) -> Commit:
        """A batch that has made a file of each of these tables."""
        staging, tables = f".wiretool-staging-{self.batch}", {}
        for name in names:
            (self.tables / staging / name).mkdir(parents=True)
            paths = [f"{name}/date=2026-11-23/part-{part:05d}.parquet" for part in (0, 1)]
            tables[name] = [File(path, rows=self.batch, bytes=9) for path in paths]
        captures = [msgspec.structs.replace(each) for each in self.captures]
        total = Account()
        total.frames = self.batch
        return Commit(
            self.batch,
            staging,
            captures,
            [[]],
            self.batch,
            has_taps=False,
            open=self.batch % 3,
            tables=in_batch(tables, self.batch),
            total=total,
            connections=2,
        )

    def put(self, commit: Commit) -> None:
        """Commit a batch and publish it."""
        self.checkpoint.commit(commit)
        self.published.publish(commit, [*(each.input for each in commit.captures), *self.unread])

    def after(self, commit: Commit, unread: Sequence[Input]) -> Manifest:
        """The manifest of these tables with one more batch."""
        assert self.wanted is not None
        before, total = self.wanted, Account(**self.wanted.total)
        total.add(commit.total)
        names = sorted({*before.tables, *commit.tables})
        return msgspec.structs.replace(
            before,
            inputs=[*(each.input for each in commit.captures), *unread],
            tables={name: [*before.tables.get(name, ()), *commit.tables.get(name, ())] for name in names},
            total=msgspec.to_builtins(total),
            connections=before.connections + commit.connections,
            batches=commit.batch + 1,
            open=commit.open,
        )


def capture(number: int) -> Followed:
    """A capture of which nothing was read."""
    index = FileIndex(24, number, number, b"head", "pcap", (), Joint(24, 1), 0, 0, "", is_packed=False)
    return Followed(f"/captures/{number}.pcap", b"/captures/%d.pcap" % number, index)


def read_on(followed: Followed, packets: int) -> None:
    """Note that it has so many packets, which were read."""
    joint = Joint(24 + 100 * packets, packets + 1, packets)
    followed.index = replace(followed.index, size=joint.at, tail=joint)
    followed.since = joint
    followed.damage = "cut" * (packets % 2)


def unread(number: int) -> Input:
    return Input(f"/captures/{number}.pcap", 0, 0, 0, damage="cannot be read: permission denied")


_NAMES = st.lists(st.sampled_from(["frames", "ledger", "sbp.PING"]), unique=True)
#: Tables of a batch; places of captures that change in it, how many come; how many cannot be read; whether it is begun
#: again before.
_BATCH = st.tuples(
    _NAMES, st.lists(st.integers(0, 50), max_size=3), st.integers(0, 3), st.integers(0, 2), st.booleans()
)


@settings(max_examples=60, deadline=None)
@given(batches=st.lists(_BATCH, max_size=12), batches_max=st.integers(1, 4), captures_max=st.integers(1, 5))
def test_any_number_of_batches_reads_as_if_nothing_were_sealed(
    batches: Sequence[tuple[list[str], list[int], int, int, bool]], batches_max: int, captures_max: int
) -> None:
    with TemporaryDirectory() as folder, bounds(batches_max, captures_max):
        ground = Ground(Path(folder))
        for number, (names, changes, more, others, is_begun_again) in enumerate(batches):
            if is_begun_again:
                ground.begin_again()
            for place in changes:
                if place < len(ground.captures):
                    read_on(ground.captures[place], number)
            ground.captures += [capture(len(ground.captures) + each) for each in range(more)]
            ground.unread = [unread(each) for each in range(others)]
            commit = ground.make(names)
            ground.put(commit)
            ground.wanted = ground.after(commit, ground.unread)
            assert read_manifest(ground.tables) == ground.wanted == ground.published.manifest
            assert ground.checkpoint.last == commit
            assert Checkpoint(ground.checkpoint.root, ground.stream).last == commit
            head = read_head(ground.tables)
            assert len(head.tables.get("frames", ())) < 2 * batches_max
            assert len(head.inputs) - len(head.places) - others < captures_max


@pytest.mark.parametrize("sealed", [(1, 100), (2, 100), (100, 1), (100, 2), (1, 1)])
def test_wherever_it_is_killed_the_manifest_is_whole_before_and_after(sealed: tuple[int, int], tmp_path: Path) -> None:
    """Between each two changes of files, of a batch in the middle and of the first ones."""
    with bounds(*sealed):
        for batch in range(3):
            step = 0
            is_killed = True
            while is_killed:
                step += 1
                is_killed = _killed_once(tmp_path / f"{batch}-{step}", batch, step)
            assert step > 8


def _killed_once(folder: Path, batch: int, step: int) -> bool:
    """Whether there was so late a step in that batch."""
    folder.mkdir()
    ground = Ground(folder)
    for number in range(batch):
        _grow(ground, number)
        commit = ground.make(["frames", "ledger"])
        ground.put(commit)
        ground.wanted = ground.after(commit, ())
    _grow(ground, batch)
    commit, before = ground.make(["frames", "sbp.PING"]), ground.wanted
    after, is_killed = ground.after(commit, ()), False
    try:
        with killed_at(step):
            ground.put(commit)
    except Killed:
        is_killed = True
    assert read_manifest(ground.tables) in (before, after)
    ground.begin_again()
    if ground.batch == batch:  # nothing of it was done: it is made anew
        _grow(ground, batch)
        shutil.rmtree(ground.tables / commit.staging, ignore_errors=True)
        ground.put(ground.make(["frames", "sbp.PING"]))
    assert read_manifest(ground.tables) == after
    assert Checkpoint(ground.checkpoint.root, ground.stream).last.captures == commit.captures
    ground.wanted = after
    _grow(ground, batch + 1)
    commit = ground.make(["ledger"])
    ground.put(commit)
    assert read_manifest(ground.tables) == ground.after(commit, ())
    assert not list(folder.rglob("*.part"))
    return is_killed


def _grow(ground: Ground, number: int) -> None:
    """A capture that grows with each batch, and one that comes with each."""
    ground.captures.append(capture(len(ground.captures)))
    read_on(ground.captures[0], number)


def test_what_is_written_with_a_batch_is_bounded(tmp_path: Path) -> None:
    """However many there were before."""
    ground, sizes = Ground(tmp_path), []
    with bounds(4, 4):
        for number in range(40):
            _grow(ground, number)
            ground.put(ground.make(["frames"]))
            commit = max((tmp_path / "checkpoint" / "commits").iterdir())
            sizes.append((ground.tables / MANIFEST).stat().st_size + commit.stat().st_size)
    assert max(sizes[20:]) < 1.2 * max(sizes[:10])
    assert len(os.listdir(ground.tables / SEALED)) == 10
    assert len(os.listdir(tmp_path / "checkpoint" / "captures")) == 1


# -- as a stream has it --------------------------------------------------------------------------------------------


def pieces_of(count: int) -> Iterator[bytes]:
    """A real capture in so many pieces, cut anywhere."""
    data = (CAPTURES / "pravega/reconnect.pcap").read_bytes()
    size = len(data) // count + 1
    return (data[start : start + size] for start in range(0, len(data), size))


def rotate(streamed: Streamed, count: int) -> None:
    """So many captures of one tap, each in two batches; meanwhile the first two are renamed and packed."""
    packets = packets_made([Spoken("pravega", acks=True), Spoken("sbp")], frozenset(), 3, 300)
    each = len(packets) // count + 1
    for number in range(count):
        (data,) = files_of(packets[number * each : (number + 1) * each], "pcap", 3)
        streamed.put(f"{number}.pcap", data[: len(data) // 2])
        streamed.go_on()
        streamed.put(f"{number}.pcap", data[len(data) // 2 :])
        streamed.go_on()
        if number == count // 2:
            (streamed.captures / "0.pcap").rename(streamed.captures / "0.pcap.1")
            pack(streamed.captures / "1.pcap")


def test_a_stream_that_seals_reads_as_one_run(streamed: Streamed, tmp_path: Path) -> None:
    with bounds(2, 2):
        rotate(streamed, 6)
        manifest = check(streamed, leaves_out="batch first_file last_file")
    sealed = os.listdir(streamed.tables / SEALED)
    assert len(sealed) >= 6
    assert manifest == read_manifest(streamed.tables)
    assert (manifest.batches, manifest.format, read_head(streamed.tables).format) == (13, FORMAT, FORMAT_SEALED)
    for moved in (streamed.tables, shutil.copytree(streamed.tables, tmp_path / "copied")):
        with asked(moved, "SELECT count(*) AS n FROM frames") as found:
            assert found.read_all().to_pylist() == [{"n": manifest.rows("frames")}]
    shutil.rmtree(streamed.tables / SEALED)
    assert read_manifest(tmp_path / "copied") == manifest


def test_what_was_begun_without_sealing_goes_on(streamed: Streamed) -> None:
    """As those are that an earlier version has written: all of it is sealed at once."""
    pieces = list(pieces_of(8))
    for piece in pieces[:5]:
        streamed.put("a.pcap", piece)
        before = streamed.go_on()
    write_manifest(streamed.tables, before)  # without what only manifests have that know of sealed files
    with bounds(4, 4):
        for piece in pieces[5:]:
            streamed.put("a.pcap", piece)
            streamed.go_on()
        manifest = check(streamed)
    head = read_head(streamed.tables)
    assert (head.sealed, head.batches) == (1, manifest.batches)
    assert 0 < len(head.tables["frames"]) < 4 < before.batches
    assert all(set(files) <= set(manifest.tables[name]) for name, files in before.tables.items())


def test_a_stream_of_few_batches_seals_nothing(streamed: Streamed) -> None:
    streamed.put("a.pcap", b"".join(pieces_of(1)))
    manifest = streamed.go_on(is_finished=True)
    assert not (streamed.tables / SEALED).exists()
    assert not (streamed.checkpoint / "captures").exists()
    assert read_head(streamed.tables).format == manifest.format == FORMAT


@pytest.fixture
def sealed(streamed: Streamed) -> Streamed:
    """A stream that has sealed some."""
    with bounds(2, 2):
        for piece in pieces_of(5):
            streamed.put("a.pcap", piece)
            streamed.go_on()
    assert sorted(os.listdir(streamed.tables / SEALED)) == ["000000.json", "000001.json"]
    return streamed


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def of_another(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"stream":"', b'"stream":"x'))


def misplaced(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"places":[0]', b'"places":[7]'))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (os.unlink, "no such file, though manifest.json names it; copy tables with their hidden files"),
        (cut, "the part of manifest.json is damaged: not JSON: it ends early; take it from a copy"),
        (of_another, "the part of manifest.json is of the stream x"),
        (misplaced, "the part of manifest.json is in place of captures that there are none of"),
    ],
)
def test_a_part_that_is_missing_or_broken_is_named(harm: Callable[[Path], None], says: str, sealed: Streamed) -> None:
    path = sealed.tables / SEALED / "000001.json"
    harm(path)
    reads: list[Callable[[], Manifest]] = [lambda: read_manifest(sealed.tables), sealed.go_on]
    for read in reads:
        with pytest.raises(CaptureError) as told:
            read()
        assert says in str(told.value)
        assert str(told.value).startswith(str(path))
        assert "or make them again" in str(told.value)
        assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="holds the tables of a stream; expected another folder"):
        run_local(Job([sealed.captures], sealed.tables), lambda note: None, lambda step: None)


def test_a_manifest_that_does_not_fit_its_parts_is_told(sealed: Streamed) -> None:
    head = read_head(sealed.tables)
    assert list(head.places) == [0]
    write_manifest(sealed.tables, msgspec.structs.replace(head, places=[9]))
    says = rf"{sealed.tables / MANIFEST}: the part of manifest\.json is in place of captures that there are none"
    with pytest.raises(CaptureError, match=says):
        read_manifest(sealed.tables)


def test_parts_that_nobody_names_are_harmless(sealed: Streamed) -> None:
    for name in ("000002.json", "000002.json.part", "000009.json"):
        (sealed.tables / SEALED / name).write_bytes(b"{")
    before = read_manifest(sealed.tables)
    with bounds(2, 2):
        assert check(sealed).batches == before.batches + 1
    assert read_head(sealed.tables).sealed == 3


def test_captures_that_are_missing_in_a_checkpoint_are_told(streamed: Streamed) -> None:
    with bounds(100, 1):
        streamed.put("a.pcap", b"".join(pieces_of(1)))
        streamed.go_on()
    (path,) = (streamed.checkpoint / "captures").iterdir()
    path.unlink()
    with pytest.raises(UsageError, match=rf"{path}: no such file; expected a file of the checkpoint; .*start again"):
        streamed.go_on()
    path.write_bytes(b"[]")
    with pytest.raises(CaptureError, match=rf"{path}: is damaged, .* does not match its checksum; start again"):
        streamed.go_on()
    commit = streamed.checkpoint / "commits" / "00000000.json"
    noted = msgspec.json.decode(commit.read_bytes())
    noted |= {"places": [0], "base_sha256": sha256(b"[]").hexdigest()}
    del noted["sha256"]
    commit.write_bytes(checkpoints._with_checksum(msgspec.json.encode(noted)))
    with pytest.raises(CaptureError, match=rf"{commit}: does not fit the captures before it; start again with another"):
        streamed.go_on()
    path.write_bytes(b"[")
    with pytest.raises(CaptureError, match=r"is damaged, and with it the checkpoint: .* start again with another"):
        streamed.go_on()
