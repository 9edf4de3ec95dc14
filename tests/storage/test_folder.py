"""Folders of objects over a file system on disk, as HDFS is one, and over stores that fail."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic

import pytest
from pyarrow import fs

from tests.helpers.object_store import default_ctrl_c
from wiretool.errors import RemoteError, UsageError
from wiretool.storage import folder as folders
from wiretool.storage.folder import StoreFolder
from wiretool.storage.url_path import UrlPath


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], StoreFolder]:
    """Return a function that makes the folder of a path in HDFS, which is on disk here."""
    disk = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(folders, "connect", lambda path, repeats: (disk, path.url.partition("hdfs://host")[2]))
    return lambda path: StoreFolder(UrlPath(f"hdfs://host{path}"))


@pytest.mark.parametrize("path", ["/", "", "/lake", "/lake/"])
def test_names_are_relative_to_the_folder(path: str, make: Callable[[str], StoreFolder], tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "first.pcap").write_bytes(b"123")
    prefix = "" if "lake" in path else "lake/"
    assert make(path).sizes() == {f"{prefix}first.pcap": 3}
    assert make(path).read(f"{prefix}first.pcap") == b"123"
    assert not make(path).is_object()
    assert make("/lake/first.pcap").is_object()


def test_a_file_is_replaced_as_a_whole(make: Callable[[str], StoreFolder], tmp_path: Path) -> None:
    folder = make("/lake")
    folder.write("manifest.json", b"one")
    folder.write("manifest.json", b"two")
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "lake").iterdir()] == [("manifest.json", b"two")]


def test_a_file_that_cannot_be_written_keeps_its_content(
    make: Callable[[str], StoreFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make("/lake").write("manifest.json", b"one")

    class Full:
        """An output that takes nothing, after the file was opened and so emptied."""

        def __init__(self, path: str) -> None:
            Path(tmp_path / path.lstrip("/")).write_bytes(b"")

        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *args: object) -> None:
            pass

        def write(self, data: bytes) -> None:
            raise OSError("no space left")

    monkeypatch.setattr(StoreFolder, "_open", lambda self, path: Full(path))
    with pytest.raises(RemoteError, match=r"^hdfs://host/lake/manifest\.json: cannot be written: no space left$"):
        make("/lake").write("manifest.json", b"two")
    assert (tmp_path / "lake" / "manifest.json").read_bytes() == b"one"


def test_a_local_file_that_cannot_be_read_is_not_the_fault_of_the_store(
    make: Callable[[str], StoreFolder], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=rf"^{tmp_path}/missing: no such file$"):
        make("/lake").upload(tmp_path / "missing", "x")
    with pytest.raises(UsageError, match=rf"^{tmp_path}: a folder; expected a file$"):
        make("/lake").upload(tmp_path, "x")


def test_a_file_is_uploaded(make: Callable[[str], StoreFolder], tmp_path: Path) -> None:
    content = os.urandom(folders.CHUNK_BYTES + 1)
    (tmp_path / "local").write_bytes(content)
    make("/lake").upload(tmp_path / "local", "frames/part")
    assert (tmp_path / "lake" / "frames" / "part").read_bytes() == content


def test_an_object_that_is_not_there_is_as_good_as_deleted(make: Callable[[str], StoreFolder]) -> None:
    make("/lake").delete("missing")
    with pytest.raises(UsageError, match=r"^cannot read hdfs://host/lake/missing: "):
        make("/lake").read("missing")


@pytest.mark.parametrize("verb", ["read", "delete", "is_object", "sizes"])
def test_ctrl_c_ends_the_wait_for_a_store(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Event()

    class Stalled:
        """A store that answers when the test ends, long after Ctrl-C."""

        def __getattr__(self, name: str) -> Callable[..., bool]:
            return stall

    def stall(*args: object) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return done.wait(30)

    monkeypatch.setattr(folders, "connect", lambda path, repeats: (Stalled(), "bucket"))
    folder = StoreFolder(UrlPath("s3://bucket"))
    begun = monotonic()
    with default_ctrl_c(), pytest.raises(KeyboardInterrupt):
        getattr(folder, verb)(*["x"] * (verb in ("read", "delete")))
    done.set()
    assert monotonic() - begun < 5
