"""Tables that are asked: what is said where their files are gone, or closed to us."""

from pathlib import Path

import pytest

from tests.helpers.closed import shut
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.job import Job
from wiretool.pipeline.local import run_local
from wiretool.pipeline.views import opened

CAPTURE = Path(__file__).parents[2] / "captures" / "sbp" / "rs_append.pcap"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    run_local(Job([CAPTURE], tmp_path / "tables"), tell=lambda _: None, watch=lambda _: None)
    return tmp_path / "tables"


def test_a_folder_that_we_may_not_look_into(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shut(tables / "frames", monkeypatch)
    why = rf"^{tables}/frames/.*\.parquet cannot be read, and manifest\.json names it: permission denied; make"
    with pytest.raises(UsageError, match=why), opened(tables):
        pytest.fail("it began")


@pytest.mark.parametrize("is_file", [False, True])
def test_a_folder_that_is_gone(tables: Path, is_file: bool) -> None:
    (tables / "frames").rename(tables / "others")
    if is_file:
        (tables / "frames").touch()
    why = rf"^{tables}/frames/.*\.parquet: no such file, though manifest\.json names it.*; make the tables again$"
    with pytest.raises(CaptureError, match=why), opened(tables):
        pytest.fail("it began")
