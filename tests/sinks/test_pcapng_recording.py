"""Recordings as files: valid from the start, and removed where a run never began."""

import resource
from pathlib import Path

import pytest

from wiretool.errors import OutputError, PeerError, Stopped
from wiretool.sinks.pcapng import ETHERNET, interface, open_recording, section

EMPTY = section() + interface(ETHERNET)
CLIENT, SERVER = ("127.0.0.1", 4000), ("127.0.0.1", 12345)


def test_a_new_file_is_an_empty_capture_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new.pcapng"
    with open_recording(path) as recording:
        assert path.read_bytes() == EMPTY
        recording.begin()
    assert path.read_bytes() == EMPTY


def test_a_file_that_is_there_is_kept_until_the_recording_begins(tmp_path: Path) -> None:
    path = tmp_path / "old.pcapng"
    path.write_text("kept")
    with pytest.raises(PeerError), open_recording(path):
        raise PeerError("no server")
    assert path.read_text() == "kept"
    with open_recording(path) as recording:
        assert path.read_text() == "kept"
        recording.begin()
        assert path.read_bytes() == EMPTY


@pytest.mark.parametrize("is_opened", [True, False])
def test_after_an_error_a_new_file_is_there_only_with_packets(tmp_path: Path, is_opened: bool) -> None:
    path = tmp_path / "new.pcapng"

    def fail() -> None:
        with open_recording(path) as recording:
            if is_opened:
                recording.opened(1, CLIENT, SERVER, 0)
            raise PeerError("no server")

    with pytest.raises(PeerError):
        fail()
    assert path.exists() is is_opened


def test_a_signal_leaves_an_empty_capture(tmp_path: Path) -> None:
    path = tmp_path / "new.pcapng"
    with pytest.raises(Stopped), open_recording(path):
        raise Stopped(15)
    assert path.read_bytes() == EMPTY


def test_a_full_disk_leaves_no_file_without_bytes(tmp_path: Path) -> None:
    path = tmp_path / "new.pcapng"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OutputError, match="File too large"), open_recording(path):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not path.exists()
