"""The end of a stream: of what is not whole then it says what a single run over the same files says."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.closed import shut
from tests.helpers.examples import ABSENT, needs_protocol
from tests.pipeline.test_stream import CAPTURES, Streamed, check, streamed
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import MANIFEST, Manifest, read_manifest
from wiretool.pipeline.local import run_local
from wiretool.pipeline.stream.batch import Task, Told
from wiretool.pipeline.stream.local import read_here
from wiretool.pipeline.stream.plan import Stretch

__all__ = ["streamed"]

WHOLE = (CAPTURES / "sbp/mixed_noise.pcap").read_bytes()
BLOCKS = b"" if "offramp" in ABSENT else (CAPTURES / "offramp/plain_dumpcap.pcapng").read_bytes()
#: What of captures may be there.
BEGINNINGS = {
    "block.pcapng": BLOCKS[:20],
    "empty.pcap": b"",
    "half.pcap": WHOLE[:3000],
    "head.pcap": WHOLE[:24],
    "inside.pcap.gz": gzip.compress((CAPTURES / "sbp/pd_ranges.pcap").read_bytes()[:3000]),
    "magic.pcap": WHOLE[:10],
    "packed.pcap.gz": gzip.compress(BLOCKS)[:2000],
    "packed.pcapng.gz": gzip.compress(BLOCKS)[:5],
    "two.pcap": WHOLE[:2],
}


def damages(manifest: Manifest) -> dict[str, tuple[int, str]]:
    """What each input came to."""
    return {Path(each.path).name: (each.packets, each.damage) for each in manifest.inputs}


@needs_protocol("offramp")
def test_what_is_not_whole_is_told_as_by_a_run(streamed: Streamed) -> None:
    for name, data in BEGINNINGS.items():
        streamed.put(name, data)
    streamed.put("whole.pcap", WHOLE)
    (streamed.captures / "link.pcap").symlink_to("nowhere")
    (streamed.captures / "loop.pcap").symlink_to("loop.pcap")
    streamed.go_on()
    before = list(streamed.told)
    assert not [line for line in before if "empty" in line or "two.pcap" in line or "link" in line]
    manifest = streamed.go_on(is_finished=True)
    lines: list[str] = []
    wanted = run_local(Job([streamed.captures], streamed.tables.parent / "once"), lines.append, lambda step: None)
    assert damages(manifest) == damages(wanted)
    assert damages(manifest)["link.pcap"] == (0, "cannot be read: No such file or directory")
    bare = "cannot be read: byte 0: neither pcap nor pcapng: starts with d4 c3"
    assert damages(manifest)["two.pcap"] == (0, bare)
    assert f"{streamed.captures}/empty.pcap is empty, skipped" in lines
    assert set(streamed.told) - set(before) == {
        f"{streamed.captures}/empty.pcap is empty, skipped",
        f"{streamed.captures}/head.pcap is empty: no packets",
    }


@needs_protocol("offramp")
@pytest.mark.parametrize("name", sorted(name for name in BEGINNINGS if not name.endswith(".gz")))
def test_what_comes_later_after_all_is_taken(name: str, streamed: Streamed) -> None:
    data = BEGINNINGS[name]
    path = streamed.put(name, data)
    streamed.go_on(is_finished=True)
    streamed.go_on()
    streamed.put(name, (BLOCKS if name.endswith("pcapng") else WHOLE)[len(data) :])
    # What was open of its connections has been closed.
    (found,) = damages(streamed.go_on(is_finished=True)).values()
    (wanted,) = damages(check_once(path)).values()
    assert found == wanted
    assert found[0] > 0
    assert found[1] == ""


def check_once(path: Path) -> Manifest:
    return run_local(Job([path], path.parent.parent / "once"), lambda note: None, lambda step: None)


def test_nothing_is_said_of_one_that_goes_on_growing(streamed: Streamed) -> None:
    """What came of it since the last look is none of these tables, but no damage either."""
    streamed.put("a.pcap", WHOLE[:3000])

    def grow(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
        if stretches:
            streamed.put("a.pcap", WHOLE[3000:4000])
            streamed.put("b.pcap", WHOLE[:2])
        return read_here(task, stretches, floor_ns, root)

    streamed.engine = grow
    ((packets, damage),) = damages(streamed.go_on(is_finished=True)).values()
    assert packets > 0
    assert damage == ""
    assert streamed.told == []
    streamed.engine = read_here
    streamed.put("a.pcap", WHOLE[4000:])
    streamed.put("b.pcap", WHOLE[2:])
    assert [each.damage for each in streamed.go_on(is_finished=True).inputs] == ["", ""]


def test_what_the_system_does_not_show_is_told_and_what_is_gone_is_not(
    streamed: Streamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, gone = streamed.put("hidden.pcap", WHOLE), streamed.put("gone.pcap", WHOLE)
    why = {hidden: PermissionError(13, os.strerror(13)), gone: FileNotFoundError(2, os.strerror(2))}
    stat = Path.stat

    def refused(path: Path, **options: Any) -> os.stat_result:
        if path in why:
            raise why[path]
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refused)
    monkeypatch.setattr(Path, "is_symlink", lambda path: False)
    assert damages(streamed.go_on(is_finished=True)) == {"hidden.pcap": (0, "cannot be read: permission denied")}
    monkeypatch.undo()
    gone.unlink()
    manifest = check(streamed)
    assert [each.damage for each in manifest.inputs] == [""]


def test_damage_is_noted_without_a_batch(streamed: Streamed) -> None:
    """Nothing more can be read of it, so there is no batch that could say so."""
    streamed.put("a.pcap", WHOLE)
    assert [each.damage for each in streamed.go_on().inputs] == [""]
    streamed.put("a.pcap", b"\xff" * 47)
    streamed.put("b.pcap", b"\xd4\xc3\xb2\xa1" + b"\xff" * 60)
    manifest = streamed.go_on()
    assert manifest.batches == 1
    assert all(each.damage for each in manifest.inputs)
    assert [Path(each.path).name for each in manifest.inputs] == ["a.pcap", "b.pcap"]
    assert read_manifest(streamed.tables) == manifest == streamed.go_on()
    before = os.stat(streamed.tables / MANIFEST)
    streamed.go_on()
    after = os.stat(streamed.tables / MANIFEST)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns), "it is written where it changes"
    (streamed.captures / "b.pcap").unlink()
    assert len(streamed.go_on().inputs) == 1


def test_one_that_was_taken_from_a_folder_that_is_closed_now(
    streamed: Streamed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found with the same bytes, packed or not, is not held against what nobody can look at."""
    folder = streamed.captures / "sub"
    folder.mkdir()
    streamed.put("sub/a.pcap", WHOLE)
    before = streamed.go_on()
    shut(folder, monkeypatch)
    streamed.put("b.pcap", WHOLE)
    streamed.put("c.pcap.gz", gzip.compress(WHOLE))
    assert streamed.go_on().rows("frames") == before.rows("frames") > 0
