import io
import os
from pathlib import Path
from stat import S_IMODE

import pytest

from wiretool.errors import UsageError
from wiretool.sinks.output import CHUNK, Output, open_output, open_whole_output
from wiretool.sinks.partial import part_of


class Full(io.BytesIO):
    """A disk without room, or a pipe nobody reads."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, data: object) -> int:
        raise self.error


def test_text_is_gathered_and_written_in_pieces() -> None:
    file = io.BytesIO()
    output = Output(file)
    output.write("x" * (CHUNK - 1))
    assert not file.getvalue()
    output.write("yz")
    assert len(file.getvalue()) == CHUNK + 1


def test_live_output_is_written_at_once() -> None:
    file = io.BytesIO()
    Output(file, at_once=True).write("x")
    assert file.getvalue() == b"x"


def write_and_break(output: Output) -> None:
    output.write("before")
    raise ZeroDivisionError


def test_the_rest_is_written_at_the_end_also_when_something_breaks() -> None:
    file = io.BytesIO()
    with pytest.raises(ZeroDivisionError), Output(file) as output:
        write_and_break(output)
    assert file.getvalue() == b"before"


def test_bytes_stand_behind_the_text_before_them() -> None:
    file = io.BytesIO()
    output = Output(file)
    output.write("a")
    output.write_bytes(b"\xff")
    assert file.getvalue() == b"a\xff"


def test_what_the_encoding_lacks_is_escaped() -> None:
    file = io.BytesIO()
    with Output(file, encoding="latin-1") as output:
        output.write("ü→\ud800")
    assert file.getvalue() == b"\xfc\\u2192\\ud800"


def test_a_full_disk_is_said_in_one_line() -> None:
    output = Output(Full(OSError(28, "No space left on device")), name="out.json")
    output.write("x")
    with pytest.raises(UsageError, match=r"cannot write out\.json: No space left on device"):
        output.flush()


def test_a_closed_pipe_stays_one() -> None:
    with pytest.raises(BrokenPipeError), Output(Full(BrokenPipeError()), at_once=True) as output:
        output.write("x")


def test_a_file_is_written_and_closed(tmp_path: Path) -> None:
    with open_output(tmp_path / "out") as output:
        output.write("ü")
    assert (tmp_path / "out").read_bytes() == b"\xc3\xbc"


def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*: No such file or directory"):
        open_output(tmp_path / "no" / "out")
    with pytest.raises(UsageError, match="cannot write"):
        open_output(tmp_path)


def test_an_input_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(b"precious")
    os.link(source, tmp_path / "alias.pcap")
    for path in (source, tmp_path / "alias.pcap"):
        with pytest.raises(UsageError, match="is an input; expected another output"):
            open_output(path, inputs=[source])
    assert source.read_bytes() == b"precious"


def test_a_file_is_emptied_by_the_first_write_or_a_good_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("of the last run")
    with pytest.raises(ValueError, match="bad input"), open_output(path):
        raise ValueError("bad input")
    assert path.read_text() == "of the last run"
    with open_output(path) as out:
        out.write("new")
    assert path.read_text() == "new"
    with open_output(path):
        pass
    assert path.read_text() == ""


def break_after_part(path: Path, error: BaseException) -> None:
    """Write a part of a whole output, and then raise an error."""
    with open_whole_output(path) as out:
        out.write("x" * CHUNK)
        assert part_of(path).stat().st_size == CHUNK
        raise error


def test_a_whole_output_has_its_name_at_a_good_end_only(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(ValueError, match="bad input"):
        break_after_part(path, ValueError("bad input"))
    assert list(tmp_path.iterdir()) == []
    with open_whole_output(path) as out:
        out.write("whole")
        assert not path.exists()
    assert [(each, each.read_text()) for each in tmp_path.iterdir()] == [(path, "whole")]


def test_a_whole_output_keeps_what_is_there_until_then_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("of the last run")
    path.chmod(0o640)
    with pytest.raises(KeyboardInterrupt):
        break_after_part(path, KeyboardInterrupt())
    assert path.read_text() == "of the last run"
    with open_whole_output(path) as out:
        out.write("new")
    assert (path.read_text(), S_IMODE(path.stat().st_mode)) == ("new", 0o640)


def test_a_whole_output_behind_a_link_or_in_a_pipe_is_written_as_it_comes(tmp_path: Path) -> None:
    path, link, pipe = tmp_path / "out", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(path)
    with open_whole_output(link) as out:
        out.write("through")
    assert link.is_symlink()
    assert path.read_text() == "through"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_whole_output(pipe) as out:
        out.write("piped")
        out.flush()
        assert os.read(reader, 100) == b"piped"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_whole_output_is_refused_as_any_other(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(b"precious")
    with pytest.raises(UsageError, match="is an input"), open_whole_output(source, inputs=[source]):
        pass
    with (
        pytest.raises(UsageError, match=r"cannot write .*/no/out: No such file"),
        open_whole_output(tmp_path / "no" / "out"),
    ):
        pass
    with pytest.raises(UsageError, match=r"cannot write "), open_whole_output(tmp_path):
        pass


def test_a_whole_output_that_cannot_have_a_part_is_refused(tmp_path: Path) -> None:
    path, file = tmp_path / "out", tmp_path / "file"
    part_of(path).mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*/out: Is a directory"), open_whole_output(path):
        pass
    assert part_of(path).is_dir()
    file.touch()
    with pytest.raises(UsageError, match=r"cannot write .*/file/out: Not a directory"), open_whole_output(file / "out"):
        pass


def test_a_pipe_loses_its_reader_and_a_file_never_does(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with Output(open(writer, "wb", buffering=0), own=True) as out:
        assert out.has_reader()
        os.close(reader)
        assert not out.has_reader()
    with open_output(tmp_path / "file") as out:
        assert out.has_reader()
