import io
import os
from pathlib import Path

import pytest

from wiretool.errors import UsageError
from wiretool.sinks.output import CHUNK, Output, open_output


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
