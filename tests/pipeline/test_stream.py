"""A folder of captures that grow: however they come, and whatever ends the stream, the tables are those of one run."""

import gzip
import os
import random
import shutil
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dissect.columns.made import HARMS, Spoken, any_spoken, files_of, packets_made
from tests.helpers.captures import packets_of, pcap_bytes
from tests.pipeline import reference
from wiretool.capture.index import build as indices
from wiretool.capture.index.build import index_of
from wiretool.errors import CaptureError, Killed, UsageError
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import MANIFEST, SEALED, Manifest, read_manifest
from wiretool.pipeline.local import run_local
from wiretool.pipeline.stream import following, local, plan, states
from wiretool.pipeline.stream import run as streams
from wiretool.pipeline.stream.batch import Task, Told, read_batch
from wiretool.pipeline.stream.local import read_here
from wiretool.pipeline.stream.plan import Stretch
from wiretool.pipeline.stream.run import Ears, Made, StreamJob, run_stream

CAPTURES = Path(__file__).parent.parent.parent / "captures"


class Streamed:
    """A stream over a folder, which is made to go on again and again."""

    def __init__(self, folder: Path) -> None:
        self.captures = folder / "captures"
        self.tables = folder / "tables"
        self.checkpoint = folder / "checkpoint"
        self.captures.mkdir()
        self.told: list[str] = []
        self.notes: list[str] = []
        self.batches: list[Made] = []
        self.engine: Callable[[Task, Sequence[Stretch], int, Path], list[Told]] = read_here

    def go_on(self, *, is_finished: bool = False, **options: Any) -> Manifest:
        """Take what is there."""
        job = Job([self.captures], self.tables, has_events=True, **options)
        stream = StreamJob(job, self.checkpoint, "local", is_once=True, is_finished=is_finished)
        return run_stream(stream, self.engine, Ears(self.told.append, self.notes.append, self.batches.append))

    def put(self, name: str, data: bytes) -> Path:
        """A capture with more at its end."""
        with (self.captures / name).open("ab") as file:
            file.write(data)
        return self.captures / name


@pytest.fixture
def streamed(tmp_path: Path) -> Streamed:
    return Streamed(tmp_path)


def rows_of(root: Path, manifest: Manifest, leaves_out: str) -> dict[str, list[str]]:
    """All rows of all tables as text, sorted, without those columns."""
    found = {}
    for name in manifest.tables:
        table = reference.table(root, name)
        table = table.drop_columns([column for column in leaves_out.split() if column in table.column_names])
        found[name] = sorted(repr(sorted(row.items())) for row in table.to_pylist())
    return found


def check(streamed: Streamed, leaves_out: str = "batch") -> Manifest:
    """AssertionError where the tables are not those of one run over the same files, but for some columns."""
    manifest = streamed.go_on(is_finished=True)
    once = streamed.tables.parent / "once"
    wanted = run_local(Job([streamed.captures], once, has_events=True), lambda note: None, lambda step: None)
    found, expected = (rows_of(root, each, leaves_out) for root, each in ((streamed.tables, manifest), (once, wanted)))
    for name in expected.keys() | found.keys():
        assert found.get(name) == expected.get(name), name
    assert (manifest.total, manifest.connections, manifest.open) == (wanted.total, wanted.connections, 0)
    assert sum(each.packets for each in manifest.inputs) == sum(each.packets for each in wanted.inputs)
    assert set(os.listdir(streamed.tables)) - {SEALED} == {MANIFEST, *manifest.tables}
    return manifest


@settings(max_examples=12)
@given(
    connections=st.lists(any_spoken(), min_size=1, max_size=3),
    harms=st.frozensets(st.sampled_from(sorted({*HARMS} - {"times"})), max_size=1),
    form=st.sampled_from(["pcap", "nano", "pcapng", "gzip"]),
    parts=st.sampled_from([1, 3]),
    are_apart=st.booleans(),
    seed=st.integers(0, 1 << 16),
)
def test_any_growth(
    connections: list[Spoken], harms: frozenset[str], form: str, parts: int, are_apart: bool, seed: int
) -> None:
    """Files that come one after the other, cut anywhere, also within a record."""
    rng = random.Random(seed)
    least = 0 if are_apart else 1 << 20
    with TemporaryDirectory() as folder, patch.object(local, "APART_PACKETS_MIN", least):
        streamed = Streamed(Path(folder))
        packets = packets_made(connections, harms, seed, 50)
        half = rng.randrange(len(packets))
        for number, some in enumerate([packets[:half], packets[half:]]):
            (data,) = files_of(some, form, seed)
            cuts = sorted(rng.randrange(len(data) + 1) for _ in range(3)) if form != "gzip" else []
            for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
                streamed.put(f"{number}.pcap", data[start:stop])
                with suppress(UsageError):
                    streamed.go_on(splits=parts)
        check(streamed)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of few bytes, and joints that are far apart enough for cuts between them."""
    monkeypatch.setattr(plan, "BATCH_BYTES", 20_000)
    monkeypatch.setattr(following, "JOINT_BYTES", 7_000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_two_taps_in_many_batches(streamed: Streamed, form: str) -> None:
    """Both have all packets; each is counted once, though no batch has all of either file."""
    packets = packets_made([Spoken("pravega", acks=True), Spoken("sbp", mtu=60)], frozenset(["fragments"]), 3, 400)
    (data,) = files_of(packets, form, 3)
    streamed.put("a.pcap", data)
    streamed.put("b.pcap", data)
    manifest = check(streamed)
    assert len(streamed.batches) > 5
    assert manifest.rows("frames") < len(packets)
    assert all(made.bytes <= 20_000 + 2 * 7_000 for made in streamed.batches)


def test_batches_of_few_packets(streamed: Streamed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty packets are few bytes, and take time all the same."""
    monkeypatch.setattr(plan, "BATCH_PACKETS", 1_000)
    monkeypatch.setattr(following, "JOINT_BYTES", 1_600)
    streamed.put("a.pcap", pcap_bytes(packets_of([b""] * 5_000)))
    streamed.go_on()
    assert sum(made.packets for made in streamed.batches) == 5_000
    assert all(made.packets <= 1_100 for made in streamed.batches)


def test_two_taps_that_grow(streamed: Streamed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is behind is waited for, and when both are silent nothing is."""
    packets = packets_made([Spoken("pravega", acks=True), Spoken("sbp")], frozenset(), 3, 300)
    begin_ns = packets[0].time_ns
    slower = [packet._replace(time_ns=begin_ns + 50 * (packet.time_ns - begin_ns)) for packet in packets]
    (data,) = files_of(slower, "pcap", 3)
    steps = iter([(9_000, 8_000), (20_000, 21_000), (len(data), 30_000), (len(data), len(data))])
    sizes = [0, 0]

    def grow(seconds: float) -> None:
        upto = next(steps, None)
        if upto is None:
            raise KeyboardInterrupt
        for at, name in enumerate(("a.pcap", "b.pcap")):
            streamed.put(name, data[sizes[at] : upto[at]])
            sizes[at] = upto[at]

    monkeypatch.setattr(streams, "pause", grow)
    job = StreamJob(Job([streamed.captures], streamed.tables, has_events=True), streamed.checkpoint, "local")
    with pytest.raises(KeyboardInterrupt):
        run_stream(job, read_here, Ears(streamed.told.append, streamed.notes.append, streamed.batches.append))
    check(streamed)
    assert len(streamed.batches) >= 3


# -- what happens to files -----------------------------------------------------------------------------------------


def halves(name: str = "pravega/reconnect.pcap") -> tuple[bytes, bytes]:
    """A real capture in two pieces, cut within a record."""
    data = (CAPTURES / name).read_bytes()
    return data[: len(data) // 2], data[len(data) // 2 :]


def test_files_that_are_renamed_are_read_on(streamed: Streamed) -> None:
    first, second = halves()
    path = streamed.put("new.pcap", first)
    streamed.go_on()
    path.rename(path.with_name("new.pcap.1"))
    streamed.put("new.pcap.1", second)
    streamed.put("new.pcap", (CAPTURES / "sbp/mixed_noise.pcap").read_bytes())
    manifest = streamed.go_on(is_finished=True)
    assert [Path(each.path).name for each in manifest.inputs] == ["new.pcap", "new.pcap"]
    packets = [indices.index_of(path).packets for path in sorted(streamed.captures.iterdir(), reverse=True)]
    assert [each.packets for each in manifest.inputs] == packets
    assert streamed.told == []


def test_a_ring_loses_only_what_was_overwritten_unread(streamed: Streamed) -> None:
    first, second = halves()
    path = streamed.put("ring.pcap", first)
    streamed.go_on()
    streamed.put("ring.pcap", second)
    streamed.engine = failing
    with pytest.raises(UsageError, match="no room"):
        streamed.go_on()
    streamed.engine = read_here
    path.write_bytes((CAPTURES / "sbp/mixed_noise.pcap").read_bytes())
    manifest = streamed.go_on(is_finished=True)
    assert len(manifest.inputs) == 2
    assert manifest.inputs[1].packets == indices.index_of(path).packets
    assert len(streamed.told) <= 1


def test_what_is_gone_when_it_was_read_is_no_loss(streamed: Streamed) -> None:
    streamed.put("a.pcap", b"".join(halves())).chmod(0o600)
    before = streamed.go_on()
    (streamed.captures / "a.pcap").unlink()
    manifest = streamed.go_on(is_finished=True)
    assert streamed.told == []
    assert manifest.inputs == before.inputs
    assert manifest.rows("ledger") == manifest.connections > 0


def test_a_file_that_vanishes_under_the_reading_is_told(streamed: Streamed) -> None:
    gone = streamed.put("a.pcap", b"".join(halves()))
    streamed.put("b.pcap", (CAPTURES / "sbp/mixed_noise.pcap").read_bytes())

    def vanish(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
        gone.unlink(missing_ok=True)
        return read_here(task, stretches, floor_ns, root)

    streamed.engine = vanish
    manifest = streamed.go_on(is_finished=True)
    assert [each.packets > 0 for each in manifest.inputs] == [False, True]
    (told,) = streamed.told
    assert told.startswith(f"{gone} is not there any more: ")
    assert told.endswith("packets of it that were not read yet are lost")
    assert "is not there any more" in manifest.inputs[0].damage


def test_damage_is_told_once_and_what_is_before_is_taken(streamed: Streamed) -> None:
    first, _ = halves()
    path = streamed.put("a.pcap", first[:-7] + b"\xff" * 4096)
    streamed.put("b.pcap", (CAPTURES / "sbp/mixed_noise.pcap").read_bytes())
    streamed.go_on()
    streamed.put("a.pcap", b"more")
    manifest = streamed.go_on(is_finished=True)
    (told,) = streamed.told
    assert told.startswith(f"{path} is damaged; the part before the damage is used: byte ")
    assert manifest.inputs[0].damage
    assert manifest.inputs[0].packets > 5


def test_what_is_no_capture_is_left_out_and_told_once(streamed: Streamed) -> None:
    text = streamed.put("notes.txt", b"no capture at all")
    (streamed.captures / "empty.pcap").touch()
    streamed.put("a.pcap", b"".join(halves()))
    streamed.go_on()
    streamed.put("notes.txt", b", still")
    manifest = streamed.go_on()
    assert streamed.told == [f"{text} skipped: not a capture"] * 2  # each run says it
    assert [Path(each.path).name for each in manifest.inputs] == ["a.pcap"]


def test_a_packed_capture_is_taken_when_it_is_whole(streamed: Streamed, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(b"".join(halves()))
    streamed.put("a.pcap.gz", data[:-20])
    rest = iter([b"", data[-20:], b""])

    def sleep(seconds: float) -> None:
        if streamed.batches:
            raise KeyboardInterrupt
        streamed.put("a.pcap.gz", next(rest))

    monkeypatch.setattr(streams, "pause", sleep)
    job = StreamJob(Job([streamed.captures], streamed.tables, has_events=True), streamed.checkpoint, "local")
    with pytest.raises(KeyboardInterrupt):
        run_stream(job, read_here, Ears(streamed.told.append, streamed.notes.append, streamed.batches.append))
    assert list((streamed.checkpoint / "copies").iterdir()) == []
    check(streamed)
    assert streamed.told == []


def later(folder: Path) -> bytes:
    """A capture so much later that all connections that have ended before are over."""
    packets = packets_made([Spoken("pravega-draft")], frozenset(), 9, 20)
    end_ns = max(index_of(path, cache=False).last_ns for path in folder.glob("*.pcap"))
    moved = [packet._replace(time_ns=end_ns + 10**9 * 3600 + packet.time_ns - packets[0].time_ns) for packet in packets]
    return files_of(moved, "nano", 0)[0]


def pack(path: Path) -> None:
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def write_again(path: Path) -> None:
    path.with_name("copy").write_bytes(path.read_bytes())
    path.with_name("copy").rename(path)


def take_away(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")


CHANGES: dict[str, Callable[[Path], Any]] = {
    "packed": pack,
    "packed beside it": lambda path: path.with_name("z.gz").write_bytes(gzip.compress(path.read_bytes())),
    "touched": lambda path: os.utime(path),
    "linked": lambda path: path.with_name("latest.pcap").symlink_to(path),
    "linked hard": lambda path: path.with_name("0.pcap").hardlink_to(path),
    "restored": write_again,
    "renamed": lambda path: path.rename(path.with_name("0.pcap")),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", ["plain", "packed"])
def test_a_capture_that_was_read_is_not_read_again(streamed: Streamed, form: str, change: str) -> None:
    """Though its connections are over, so that nothing else would tell that its packets come again."""
    streamed.put("a.pcap", b"".join(halves()))
    later_one = later(streamed.captures)
    path = streamed.captures / "a.pcap"
    if form == "packed":
        pack(path)
        path = path.with_name("a.pcap.gz")
    before = streamed.go_on()
    streamed.put("b.pcap", later_one)
    streamed.go_on()
    CHANGES[change](path)
    manifest = streamed.go_on(is_finished=True)
    assert len(manifest.inputs) == 2
    assert [each.damage for each in manifest.inputs] == ["", ""]
    extra = indices.index_of(streamed.captures / "b.pcap", cache=False).packets
    assert sum(each.packets for each in manifest.inputs) == before.inputs[0].packets + extra
    rows = reference.rows(streamed.tables, "frames")
    assert len({(row["connection"], row["n"]) for row in rows}) == len(rows) == manifest.rows("frames")


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_is_renamed_while_one_looks(
    streamed: Streamed, is_replaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = streamed.put("a.pcap", b"".join(halves()))
    streamed.go_on()
    streamed.put("b.pcap", later(streamed.captures))

    def listed(folder: Path, tell: Callable[[str], None]) -> list[Path]:
        paths = sorted(folder.iterdir())
        if path.exists():
            path.rename(path.with_name("a.pcap.1"))
        if is_replaced:
            path.write_bytes((CAPTURES / "sbp/mixed_noise.pcap").read_bytes())
        return paths

    with monkeypatch.context() as patched:
        patched.setattr(following, "files_in", listed)
        streamed.go_on()
    check(streamed, leaves_out="batch first_file last_file")


def test_one_that_is_written_anew_while_it_is_read(streamed: Streamed) -> None:
    """Its batch is made anew, of what there is: nothing of two captures is taken for one."""
    path = streamed.put("ring.pcap", b"".join(halves()))
    sound = b"".join(halves("sbp/mixed_noise.pcap"))

    def overwrite(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
        told = read_here(task, stretches, floor_ns, root)
        if path.read_bytes() != sound:
            path.write_bytes(sound)
        return told

    streamed.engine = overwrite
    manifest = streamed.go_on(is_finished=True)
    assert [each.packets for each in manifest.inputs] == [0, indices.index_of(path).packets]
    (told,) = streamed.told
    assert "was rewritten: " in told
    assert {Path(row["first_file"]).name for row in reference.rows(streamed.tables, "frames")} == {"ring.pcap"}
    assert manifest.rows("frames") == check(streamed).rows("frames")


@pytest.mark.parametrize("form", [bytes, gzip.compress], ids=["plain", "packed"])
@pytest.mark.parametrize("names", [("a.pcap", "b.pcap.gz"), ("b.pcap", "a.pcap.gz")], ids=["before", "behind"])
def test_a_beginning_beside_the_packed_capture_is_not_taken_for_it(
    names: tuple[str, str], form: Callable[[bytes], bytes], streamed: Streamed
) -> None:
    """As of a program that was stopped while it unpacked."""
    whole = b"".join(halves())
    streamed.put(names[0], form(whole[:1500]))
    streamed.put(names[1], gzip.compress(whole))
    assert check(streamed, "batch first_file first_packet last_file last_packet").rows("frames") > 100


def test_half_a_packed_capture_is_gone_on_with(streamed: Streamed) -> None:
    data = gzip.compress(b"".join(halves()))
    streamed.put("a.pcap.gz", data[: len(data) // 2])
    half = streamed.go_on()
    assert 0 < half.inputs[0].packets < 173
    assert half.inputs[0].damage
    streamed.put("a.pcap.gz", data[len(data) // 2 :])
    manifest = check(streamed)
    assert [(each.packets, each.damage) for each in manifest.inputs] == [(173, "")]


def test_damage_that_was_mended_is_none(streamed: Streamed) -> None:
    first, second = halves()
    path = streamed.put("a.pcap", first)
    whole = index_of(path, cache=False).end
    path.write_bytes(first[:whole] + b"\xff" * 4096)
    assert streamed.go_on().inputs[0].damage
    path.write_bytes(first + second)
    assert check(streamed).inputs[0].damage == ""


def test_a_folder_that_cannot_be_looked_into(streamed: Streamed, monkeypatch: pytest.MonkeyPatch) -> None:
    listdir = os.listdir

    def refuse(path: Path) -> list[str]:
        if path == streamed.captures:
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    streamed.put("a.pcap", halves()[0])
    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(UsageError, match="captures cannot be looked into: permission denied"):
        streamed.go_on()


def test_a_file_that_cannot_be_read_is_among_the_inputs(streamed: Streamed, monkeypatch: pytest.MonkeyPatch) -> None:
    path = streamed.put("a.pcap", b"".join(halves()))

    def refuse(path: Path, **options: Any) -> Any:
        raise CaptureError(str(path), "no", offset=0) from PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(following, "index_of", refuse)
        streamed.put("b.pcap", halves("sbp/mixed_noise.pcap")[0])
        assert {each.damage for each in streamed.go_on().inputs} == {"cannot be read: permission denied"}
    path.chmod(0o600)
    assert check(streamed).inputs[0].packets == 173
    assert streamed.told[0] == f"{path} skipped: cannot be read: permission denied"


# -- what goes wrong -----------------------------------------------------------------------------------------------


def failing(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
    """It writes its tables, and then there is no room."""
    read_here(task, stretches, floor_ns, root)
    raise UsageError("cannot write: no room")


def test_one_that_died_at_its_very_beginning_begins_again(streamed: Streamed) -> None:
    """When it had made nothing yet but half of the first manifest."""
    streamed.put("a.pcap", b"".join(halves()))
    streamed.tables.mkdir()
    (streamed.tables / f"{MANIFEST}.part").write_text('{"inp')
    assert check(streamed).batches == 2


def test_one_that_is_stopped_at_the_commit_leaves_a_batch_that_is_done(
    streamed: Streamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Politely: what is done on the way out must not undo it."""
    streamed.put("a.pcap", b"".join(halves()))
    replace = Path.replace

    def stopped(path: Path, target: Path) -> Path:
        place = replace(path, target)
        if target.parent.name == "commits":
            raise KeyboardInterrupt
        return place

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            streamed.go_on()
    assert check(streamed).batches == 2


def test_a_start_that_was_refused_ties_nothing(streamed: Streamed, tmp_path: Path) -> None:
    streamed.put("a.pcap", b"".join(halves()))
    right, streamed.tables = streamed.tables, tmp_path / "wrong"
    streamed.tables.mkdir()
    (streamed.tables / "mine.txt").touch()
    with pytest.raises(UsageError, match="holds files that wiretool pipeline has not written"):
        streamed.go_on()
    streamed.tables = right
    assert check(streamed).batches == 2


def test_the_tables_of_a_stream_are_not_replaced(streamed: Streamed) -> None:
    path = streamed.put("a.pcap", b"".join(halves()))
    streamed.go_on()
    with pytest.raises(UsageError, match="holds the tables of a stream; expected another folder"):
        run_local(Job([path], streamed.tables), lambda note: None, lambda step: None)
    check(streamed)


def test_tables_that_somebody_has_replaced_are_left_alone(streamed: Streamed) -> None:
    path = streamed.put("a.pcap", halves()[0])
    streamed.go_on()
    streamed.put("a.pcap", halves()[1])

    def replace(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
        told = read_here(task, stretches, floor_ns, root)
        shutil.rmtree(streamed.tables)
        run_local(Job([path], streamed.tables), lambda note: None, lambda step: None)
        return told

    streamed.engine = replace
    with pytest.raises(UsageError, match="has got the tables of another run or stream meanwhile: start again"):
        streamed.go_on()
    assert read_manifest(streamed.tables).batches == 0


STEPS = ["in the batch", "before the commit", "after the commit", "in mid-publishing", "before the manifest"]


@pytest.mark.parametrize("step", STEPS)
def test_wherever_it_dies_it_goes_on(streamed: Streamed, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is undone by whoever dies, as with kill -9: what he leaves is all that there is."""
    first, second = halves()
    streamed.put("a.pcap", first)
    streamed.go_on()
    streamed.put("a.pcap", second)
    with monkeypatch.context() as patch:
        patch.setattr(streams, "remove_folder", lambda path: None)
        kill(streamed, step, patch)
        with pytest.raises(RuntimeError, match="killed"):
            streamed.go_on()
    assert read_manifest(streamed.tables).batches == 1
    streamed.engine = read_here
    check(streamed)
    last = max((streamed.checkpoint / "commits").iterdir())
    (names,) = msgspec.json.decode(last.read_bytes())["states"]
    assert sorted(os.listdir(streamed.checkpoint / "states")) == sorted(names)


def kill(streamed: Streamed, step: str, patch: pytest.MonkeyPatch) -> None:
    """Have it end there."""
    from wiretool.pipeline.stream import publish
    from wiretool.pipeline.stream.checkpoint import Checkpoint

    puts = 0

    def dies(*args: object) -> None:
        raise RuntimeError("killed")

    def dies_later(self: publish.Published, new: Path, place: Path) -> None:
        nonlocal puts
        puts += 1
        if puts > 2:
            raise RuntimeError("killed")
        put(self, new, place)

    put = publish.Published._put
    if step == "in the batch":
        streamed.engine = lambda *args: dies(read_here(*args))  # type: ignore[assignment]
    elif step == "before the commit":
        patch.setattr(Checkpoint, "commit", dies)
    elif step == "after the commit":
        patch.setattr(publish.Published, "publish", dies)
    elif step == "in mid-publishing":
        patch.setattr(publish.Published, "_put", dies_later)
    else:
        patch.setattr(publish, "write_manifest", dies)


def test_states_are_put_together_now_and_then(streamed: Streamed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "FILES_MAX", 3)
    data = b"".join(halves())
    most = 0
    for start in range(0, len(data), len(data) // 12):
        streamed.put("a.pcap", data[start : start + len(data) // 12])
        streamed.go_on()
        most = max(most, len(list((streamed.checkpoint / "states").iterdir())))
    check(streamed)
    assert 2 <= most <= 4


def test_a_connection_that_is_silent_for_long_is_over(streamed: Streamed) -> None:
    connections = [Spoken("sbp", end=""), Spoken("pravega", end="")]
    packets = packets_made(connections, frozenset(), 1, 60)
    later = [
        packet._replace(time_ns=packet.time_ns + 700 * 10**9)
        for packet in packets_made([Spoken("sbp")], frozenset(), 2, 20)
    ]
    streamed.put("a.pcap", files_of(packets, "pcap", 1)[0])
    assert streamed.go_on().open == 2
    streamed.put("b.pcap", files_of(later, "pcap", 1)[0])
    manifest = streamed.go_on()
    assert (manifest.connections, manifest.open) == (1, 1)
    assert [row["protocol"] for row in reference.table(streamed.tables, "ledger").to_pylist()] == ["pravega"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"splits": 2},
            "was begun with --splits 1, not with --splits 2: go on with that, or start again with another checkpoint",
        ),
        ({"protocol": "sbp"}, "was begun with --protocol auto, not with --protocol sbp"),
        ({"ports": {9090: "sbp"}}, "was begun without --port, not with --port 9090=sbp"),
    ],
)
def test_a_stream_goes_on_as_it_was_begun(streamed: Streamed, change: dict[str, Any], says: str) -> None:
    streamed.put("a.pcap", halves()[0])
    streamed.go_on()
    with pytest.raises(UsageError) as told:
        streamed.go_on(**change)
    assert says in str(told.value)


def test_tables_and_checkpoint_belong_together(streamed: Streamed, tmp_path: Path) -> None:
    streamed.put("a.pcap", halves()[0])
    streamed.go_on()
    streamed.checkpoint.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="holds the tables of another run or stream"):
        streamed.go_on()
    shutil.rmtree(streamed.checkpoint)
    (tmp_path / "elsewhere").rename(streamed.checkpoint)
    shutil.rmtree(streamed.tables)
    with pytest.raises(UsageError, match="is gone, and its rows with it: start again with another checkpoint"):
        streamed.go_on()


def test_before_the_first_batch_it_may_be_begun_in_another_way(streamed: Streamed) -> None:
    streamed.go_on(protocol="pravega")
    (streamed.checkpoint / "commits" / "00000000.json.part").write_bytes(b"killed while it was wri")
    streamed.put("a.pcap", b"".join(halves()))
    assert streamed.go_on(protocol="auto").options["protocol"] == "auto"
    assert read_manifest(streamed.tables).options["protocol"] == "auto"
    with pytest.raises(UsageError, match="was begun"):
        streamed.go_on(protocol="pravega")


def test_two_at_once_are_refused(streamed: Streamed) -> None:
    streamed.put("a.pcap", halves()[0])

    def second(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
        streamed.engine = read_here
        with pytest.raises(UsageError, match="is the checkpoint of a running stream"):
            streamed.go_on()
        return read_here(task, stretches, floor_ns, root)

    streamed.engine = second
    assert streamed.go_on().batches == 1


def test_a_process_that_is_killed_costs_its_batch(streamed: Streamed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "APART_PACKETS_MIN", 0)
    here = os.getpid()

    def killed(task: Task, part: int, *others: Any) -> Told:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return read_batch(task, part, *others)

    streamed.put("a.pcap", b"".join(halves()))
    with monkeypatch.context() as patched:
        patched.setattr(local, "read_batch", killed)
        with pytest.raises(Killed):
            streamed.go_on(splits=2)
    assert read_manifest(streamed.tables).batches == 0
    check(streamed)


@pytest.mark.parametrize("least", [0, 1 << 20], ids=["in processes", "in one"])
def test_a_damaged_checkpoint_is_told(streamed: Streamed, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "APART_PACKETS_MIN", least)
    streamed.put("a.pcap", halves()[0])
    streamed.go_on(splits=2)
    for state in (streamed.checkpoint / "states").iterdir():
        state.write_bytes(b"nothing of ours")
    streamed.put("a.pcap", halves()[1])
    with pytest.raises(CaptureError, match="the state of open flows cannot be read"):
        streamed.go_on()
    (commit,) = (streamed.checkpoint / "commits").iterdir()
    commit.write_bytes(b"{")
    with pytest.raises(CaptureError, match="is damaged, and with it the checkpoint"):
        streamed.go_on()


@pytest.mark.parametrize(
    ("tables", "checkpoint"), [("captures/t", "c"), ("t", "captures/c"), ("t", "t/c"), ("c/t", "c")]
)
def test_folders_in_one_another_are_refused(tables: str, checkpoint: str, streamed: Streamed, tmp_path: Path) -> None:
    streamed.put("a.pcap", halves()[0])
    streamed.tables, streamed.checkpoint = tmp_path / tables, tmp_path / checkpoint
    with pytest.raises(UsageError, match="would be in the folder of"):
        streamed.go_on()
    assert os.listdir(streamed.captures) == ["a.pcap"]


def test_foreign_folders_are_left_alone(streamed: Streamed) -> None:
    streamed.put("a.pcap", halves()[0])
    for folder in (streamed.checkpoint, streamed.tables):
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")
        with pytest.raises(UsageError, match=r"is not a checkpoint: it holds mine\.txt|holds files that wiretool"):
            streamed.go_on()
        assert os.listdir(folder) == ["mine.txt"]
        (folder / "mine.txt").unlink()


def test_a_checkpoint_without_its_batches_does_not_make_them_again(streamed: Streamed) -> None:
    """The tables have them: what came next would be taken for one of these, and left out."""
    streamed.put("a.pcap", (CAPTURES / "sbp/rs_append.pcap").read_bytes())
    rows = streamed.go_on().rows("frames")
    shutil.rmtree(streamed.checkpoint / "commits")
    streamed.put("b.pcap", (CAPTURES / "sbp/pd_ranges.pcap").read_bytes())
    with pytest.raises(UsageError, match="has 1 batches of the stream, and the checkpoint 0: they do not belong"):
        streamed.go_on()
    assert read_manifest(streamed.tables).rows("frames") == rows > 0
