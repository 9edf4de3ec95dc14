"""A table that cannot be written: the others are whole all the same, and the first failure is told."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.bench.pravega_appends import make_capture
from tests.sinks.arrow.test_tables import CAPTURES, gathered, in_chunks, read_back, written
from wiretool.dissect.dissector import read
from wiretool.errors import UsageError
from wiretool.sinks.arrow.files import FILES, TableFile


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "failure", [UsageError("no room"), pa.ArrowInvalid("no such value"), AssertionError("ours")], ids=repr
)
def test_a_table_that_fails_costs_no_other_one_its_end(
    form: str, failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, path = FILES[form], CAPTURES / "pravega/write.pcap"
    write = kind._write

    def fail(file: TableFile, table: pa.Table) -> None:
        if file.path.stem == "pravega.AppendBlockEnd":
            raise failure
        write(file, table)

    monkeypatch.setattr(kind, "_write", fail)
    with pytest.raises(type(failure), match=str(failure)):
        written(tmp_path / "out", form, in_chunks(list(read(path)), 40))
    tables, _ = gathered(in_chunks(list(read(path)), 40))
    assert len(tables) > 5
    for name in tables.keys() - {"pravega.AppendBlockEnd", "frames", "events"}:
        assert read_back(tmp_path / f"out/messages/{name}.{form}").to_pylist() == tables[name].to_pylist()
    assert read_back(tmp_path / f"out/frames.{form}").num_rows == tables["frames"].num_rows
    assert not (tmp_path / "out/ledger.json").exists()


def test_the_first_of_several_failures_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def fail(file: TableFile) -> None:
        closed.append(file.path.stem)
        raise pa.ArrowInvalid(f"{len(closed)}: {file.path.stem}")

    monkeypatch.setattr(FILES["parquet"], "close", fail)
    with pytest.raises(pa.ArrowInvalid, match=r"^1: "):
        written(tmp_path / "out", "parquet", in_chunks(list(read(CAPTURES / "pravega/write.pcap")), 40))
    assert {"frames", "events"} < set(closed)
    assert len(closed) == len(set(closed)) > 5


@pytest.mark.parametrize(("form", "most"), [("parquet", 10_000), ("arrow", 40_000)])
def test_where_a_file_may_not_grow_the_others_are_whole(form: str, most: int, tmp_path: Path) -> None:
    """The system refuses what makes one file larger than it allows; the frames are the largest."""
    capture, out = tmp_path / "c.pcap", tmp_path / "out"
    make_capture(capture, packets=4_000, frames_per_packet=2, connections=3)
    code = (
        "import resource, signal, sys; from wiretool.cli import main; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most})); sys.argv[0] = 'wiretool'; main()"
    )
    # Python would keep compiled modules that it may only write the beginning of.
    words = [sys.executable, "-B", "-c", code, "decode", str(capture), "--format", form, "-o", str(out)]
    ended = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (74, b"")
    told = ended.stderr.decode().splitlines()
    assert told[-1].startswith(f"wiretool: cannot write all tables in {out}: File too large; frames.{form}")
    assert told[-1].endswith(
        "skipped, the others have the records read before: free some space or use another folder, and run it again"
    )
    assert "Traceback" not in ended.stderr.decode()
    assert not (out / f"frames.{form}").exists()
    whole = list((out / "messages").iterdir())
    assert all(path.suffix == f".{form}" for path in whole)
    assert len(whole) >= 3
    assert sum(read_back(path).num_rows for path in whole) >= 3
    assert not (out / "ledger.json").exists()
