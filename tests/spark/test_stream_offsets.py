"""What is kept of a stream, and how a capture is known again."""

import json
import random
from pathlib import Path

import pytest

from tests.helpers.spark import needs_pyspark

needs_pyspark()


from tests.helpers.stream_query import Query, appended  # noqa: E402
from wiretool.capture.index.build import Joint, Place  # noqa: E402
from wiretool.capture.index.fingerprint import seal_of  # noqa: E402
from wiretool.errors import CaptureError, UsageError  # noqa: E402
from wiretool.pipeline.spark.stream_offsets import Offset, Reached, found_again, offset_of  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    return folder


def reached(path: Path, size: int, packets: int) -> Reached:
    stat = path.stat()
    joint = Joint(size, packets + 1, 5, 5, (0, 28), (Place(1, 2, 3, 4, 5),))
    return Reached(str(path), stat.st_ino, "pcap", False, size, seal_of(path, size), joint)


def test_an_offset_is_json_that_comes_back(folder: Path) -> None:
    path = folder / "a\udcff"
    path.write_bytes(bytes(9000))
    offset = Offset(met=12, files={3: reached(path, 9000, 2), 11: reached(path, 5, 1)})
    text = json.dumps(offset.json())
    assert "\n" not in text
    assert text.isascii()
    assert offset_of(json.loads(text)) == offset
    assert json.dumps(offset_of(json.loads(text)).json()) == text
    assert len(text) < 700


def test_checkpoints_of_others(folder: Path) -> None:
    query = Query(folder)
    query.start = '{"version": 2}'
    with pytest.raises(UsageError, match=r"the checkpoint is of another version of wirecap \(2\)"):
        query.end()
    query.start = '{"version": "x"}'
    with pytest.raises(UsageError, match="the checkpoint is not one of wirecap"):
        query.end()


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 9000, 20_000])
def test_a_seal_is_of_what_was_read(folder: Path, size: int) -> None:
    """Of its first and its last bytes; what comes behind does not matter."""
    path, raw = folder / "a", random.Random(size).randbytes(size)
    path.write_bytes(raw)
    seal = seal_of(path, size)
    path.write_bytes(raw + b"more")
    assert seal_of(path, size) == seal
    assert seal_of(path, size + 5) == ""
    assert seal_of(folder / "b", size) == ""
    for at in (0, size - 1):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        assert seal_of(path, size) != seal
    with pytest.raises(CaptureError, match="captures: cannot be read: Is a directory"):
        seal_of(folder, size)


def test_a_capture_is_found_again_where_it_is_now(folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(bytes(100))
    known = reached(path, 100, 1)
    path.rename(folder / "b")
    path.write_bytes(b"1" * 100)
    appended(folder / "b", b"more")
    file = found_again(known)
    assert file is not None
    with file:
        assert file.name == str(folder / "b")
    (folder / "b").unlink()
    assert found_again(known) is None
