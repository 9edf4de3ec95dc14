"""Files and folders of tables: what is refused, what is replaced, and what a failure leaves."""

import os
import threading
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wiretool.errors import UsageError
from wiretool.ledger import Ledger
from wiretool.sinks.arrow.files import FILES, ParquetFile, Press, is_table_of_ours, refused
from wiretool.sinks.arrow.folder import Folder
from wiretool.sinks.arrow.leaves import CODED
from wiretool.sinks.ledger import pieces_of

SCHEMA = pa.schema([("n", pa.int64()), ("side", CODED)])


def table(start: int, count: int, words: tuple[str, ...] = ("client", "server")) -> pa.Table:
    side = pa.DictionaryArray.from_arrays(pa.array([n % len(words) for n in range(count)], pa.int32()), list(words))
    return pa.Table.from_arrays([pa.array(range(start, start + count)), side], schema=SCHEMA)


@pytest.mark.parametrize("form", FILES)
def test_row_groups_are_bounded_and_words_may_change(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wiretool.sinks.arrow.files.GROUP_ROWS", 10)
    press = Press()
    path = tmp_path / f"new/t.{form}"
    file = FILES[form](path, SCHEMA, press)
    for at in range(0, 35, 5):
        file.add(table(at, 5, ("client",) if at % 2 else ("server", "client")))
    file.flush()
    press.finish()
    file.close()
    if form == "parquet":
        back = pq.read_table(path)
        assert pq.ParquetFile(path).num_row_groups == 4
        assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    else:
        with pa.ipc.open_file(path) as reader:
            assert reader.num_record_batches == 4
            back = reader.read_all()
    assert back.schema.types == [pa.int64(), pa.string()]
    assert back["n"].to_pylist() == list(range(35))
    assert back["side"].to_pylist()[:7] == ["server", "client", "server", "client", "server", "client", "client"]


def give(press: Press, done: list[int]) -> None:
    for number in range(2, 9):
        press.take(partial(done.append, number))


def test_a_press_does_one_thing_after_the_other_and_tells_what_failed() -> None:
    done: list[int] = []
    gate = threading.Event()

    def fail() -> None:
        raise UsageError("full")

    press = Press()
    press.take(lambda: done.append(1) if gate.wait(10) else None)
    press.take(fail)
    gate.set()
    with pytest.raises(UsageError, match="full"):
        give(press, done)
    press.finish()
    assert done == list(range(1, len(done) + 1))
    assert len(done) >= 2


@pytest.mark.parametrize("form", FILES)
def test_a_file_that_could_not_be_written_is_told_once(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    press = Press()
    file = FILES[form](tmp_path / "t", SCHEMA, press)

    def full(_: pa.Table) -> None:
        raise OSError(28, "")

    monkeypatch.setattr(file, "_write", full)
    for _ in range(2):
        file.add(table(0, 3))
        file.flush()
    with pytest.raises(UsageError, match=r"cannot write .*/t: No space left on device"):
        press.finish()
    file.close()


class Full:
    """A writer of PyArrow's on a disk that is full."""

    def close(self) -> None:
        raise OSError(28, "")


def test_a_file_that_cannot_be_ended_is_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyArrow would try again when nobody has its writer any more; pytest makes an error of what that prints."""
    file = ParquetFile(tmp_path / "t", SCHEMA, Press())
    monkeypatch.setattr(file._writer, "writer", Full())
    with pytest.raises(UsageError, match="No space left on device"):
        file.close()
    file._writer.__del__()


def test_the_system_refuses_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write x: odd"), refused(Path("x")):
        raise OSError("odd")
    with pytest.raises(UsageError, match=r"cannot write .*gone/t: No such file"):
        FILES["parquet"](tmp_path / "gone/gone/t", SCHEMA, Press())


@pytest.mark.parametrize("form", FILES)
def test_a_name_need_not_be_utf_8(form: str, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9")) / f"t.{form}"
    press = Press()
    file = FILES[form](path, SCHEMA, press)
    file.add(table(0, 3))
    file.flush()
    press.finish()
    file.close()
    assert is_table_of_ours(path)


# -- folders ---------------------------------------------------------------------------------------------------------


def earlier(path: Path) -> list[Path]:
    """The files of an earlier run, one of which was killed."""
    (path / "messages").mkdir(parents=True)
    names = ["frames.arrow", "events.parquet", "messages/pravega.Hello.parquet"]
    for name in names:
        press = Press()
        FILES[name.rpartition(".")[2]](path / name, SCHEMA, press).close()
        press.finish()
    (path / "ledger.json").write_text("".join(pieces_of(Ledger())))
    (path / "frames.parquet.part").write_text("PAR1")
    return [path / name for name in (*names, "ledger.json", "frames.parquet.part")]


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
    folder.clear()
    assert folder.message("pravega", "Hello") == tmp_path / "new/messages/pravega.Hello"


def test_tables_of_an_earlier_run_stay_until_they_are_replaced(tmp_path: Path) -> None:
    old = {path: path.read_bytes() for path in earlier(tmp_path / "out")}
    folder = Folder(tmp_path / "out")
    assert {path: path.read_bytes() for path in old} == old
    folder.clear()
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["notes.txt", "messages/notes.txt", "messages/mine.Hello.parquet", "frames.parquet.bak", "messages/deep/x"]
)
def test_what_is_not_ours_is_never_touched(name: str, tmp_path: Path) -> None:
    old = earlier(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=r"holds .*: expected a new or empty folder"):
        Folder(tmp_path)
    assert all(path.exists() for path in (*old, tmp_path / name))


def test_what_only_has_one_of_our_names_is_never_touched(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", SCHEMA) as writer:
        writer.write_table(table(0, 2))
    for name, content in (
        ("frames.parquet", (tmp_path / "a.parquet").read_bytes()),
        ("events.arrow", (tmp_path / "a.arrow").read_bytes()),
        ("frames.arrow", b""),
        ("messages/pravega.Hello.parquet", b"PAR1PAR1"),
        ("ledger.json", b'{"total": 3}'),
    ):
        out = tmp_path / name.replace("/", " ")
        (out / name).parent.mkdir(parents=True)
        (out / name).write_bytes(content)
        with pytest.raises(UsageError, match=f"holds {name}, which wiretool has not written: expected a new or"):
            Folder(out)
        assert (out / name).read_bytes() == content


def test_a_folder_that_was_made_for_nothing_goes_again(tmp_path: Path) -> None:
    Folder(tmp_path / "new").leave()
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    Folder(tmp_path / "old").leave()
    assert (tmp_path / "old").exists()


@pytest.mark.parametrize("form", FILES)
def test_until_a_file_is_whole_it_has_another_name(form: str, tmp_path: Path) -> None:
    press, path = Press(), tmp_path / f"t.{form}"
    file = FILES[form](path, SCHEMA, press)
    file.add(table(0, 5))
    assert [entry.name for entry in tmp_path.iterdir()] == [f"t.{form}.part"]
    file.flush()
    press.finish()
    file.close()
    assert list(tmp_path.iterdir()) == [path]
    assert is_table_of_ours(path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine.parquet").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/frames.parquet").symlink_to(tmp_path / "mine.parquet")
    with pytest.raises(UsageError, match=r"holds frames\.parquet"):
        Folder(tmp_path / "out")


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="not a folder; expected a folder for tables"):
        Folder(tmp_path / "file")
    with pytest.raises(UsageError, match=r"cannot write .*: No such file or directory"):
        Folder(tmp_path / "none/none")
    with pytest.raises(UsageError, match=r"cannot write .*: Not a directory"):
        Folder(tmp_path / "file/none")
