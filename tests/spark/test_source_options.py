"""The options of the data source: which files are meant, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.helpers.closed import LONG, shut
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.spark.source_options import SourceOptions, source_options_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.pcap", "a.pcap", "a,b.pcap", "deep/c.pcap", "notes.txt", ".a.pcap.wiretool-index"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def parsed(**options: str) -> SourceOptions:
    return source_options_of(options)


def found(folder: Path, **options: str) -> tuple[list[str], set[str]]:
    """The captures, and those that nobody named, by their names in the folder."""
    captures, optional = parsed(**options).captures()
    assert captures == sorted(captures, key=str)
    return [str(path.relative_to(folder)) for path in captures], {str(path.relative_to(folder)) for path in optional}


def test_as_they_are_unless_told_otherwise(folder: Path) -> None:
    assert parsed(path="x") == SourceOptions("packets", ("x",), 64 * 1024 * 1024, 0, False)
    source = parsed(path="x", Table="segments", splitbytes="1000", splits="3", MODE="FailFast")
    assert source == SourceOptions("segments", ("x",), 1000, 3, True)


def test_a_file_a_folder_a_pattern_and_a_list(folder: Path) -> None:
    assert found(folder, path=f"{folder}/b.pcap") == (["b.pcap"], set())
    everything = ["a,b.pcap", "a.pcap", "b.pcap", "deep/c.pcap", "notes.txt"]
    assert found(folder, path=str(folder)) == (everything, set(everything))
    assert found(folder, path=f"{folder}/*.pcap") == (["a,b.pcap", "a.pcap", "b.pcap"], set())
    assert found(folder, path=f"{folder}/**/c*") == (["deep/c.pcap"], set())
    assert found(folder, path=f"{folder}/b.pcap, {folder}/a.pcap") == (["a.pcap", "b.pcap"], set())
    assert found(folder, paths=json.dumps([f"{folder}/a,b.pcap", f"{folder}/deep"])) == (
        ["a,b.pcap", "deep/c.pcap"],
        {"deep/c.pcap"},
    )


def test_a_name_that_is_there_is_no_list_and_no_pattern(folder: Path) -> None:
    assert found(folder, path=f"{folder}/a,b.pcap") == (["a,b.pcap"], set())
    (folder / "[ab].pcap").write_bytes(b"x")
    assert found(folder, path=f"{folder}/[ab].pcap") == (["[ab].pcap"], set())


def test_a_file_as_url(folder: Path) -> None:
    assert found(folder, path=f"file://{folder}/a.pcap") == found(folder, path=f"file:{folder}/a.pcap")
    assert found(folder, path=f"file:{folder}/a.pcap") == (["a.pcap"], set())


def test_each_once(folder: Path) -> None:
    assert found(folder, path=f"{folder}/a.pcap,{folder}/a.p*")[0] == ["a.pcap"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, r"wirecap: no captures; expected spark\.read\.format"),
        ({"path": ","}, "wirecap: no captures"),
        ({"path": "s3a://bucket/a.pcap"}, r"s3a://bucket/a\.pcap: unknown scheme s3a; expected s3, gs"),
        (
            {"path": "x", "splits": "-1"},
            "splits -1: not valid; expected a number of tasks, or 0 for as many as it takes",
        ),
        (
            {"path": "x", "splitByte": "1"},
            "no option splitbyte of wirecap: it has path, paths, table, splitBytes, splits, mode",
        ),
        ({"path": "x", "splitBytes": "0"}, "splitBytes '0': out of range; expected 1 or more"),
        ({"path": "x", "splitBytes": "64Q"}, "splitBytes '64Q': not a size; expected bytes, or a number with k"),
        ({"path": "x", "mode": "dropmalformed"}, "mode dropmalformed: unknown mode; expected permissive or failfast"),
    ],
)
def test_what_makes_no_sense(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        source_options_of(options)


def test_what_is_not_there(folder: Path) -> None:
    with pytest.raises(UsageError, match="none: no such file"):
        parsed(path=f"{folder}/none").captures()
    with pytest.raises(UsageError, match=r"\*\.pcapng: no file fits this pattern"):
        parsed(path=f"{folder}/*.pcapng").captures()


def test_a_list_that_is_too_long_for_a_name(folder: Path) -> None:
    several = ",".join([f"{folder}/a.pcap"] * 300)
    assert found(folder, path=several) == (["a.pcap"], set())


def test_who_opens_it_tells_why_it_is_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shut(folder / "deep", monkeypatch)
    for place in (folder / "deep" / "c.pcap", folder / LONG):
        assert parsed(path=str(place)).captures() == ([place], set())


def test_a_pattern_where_we_may_not_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"no file fits this pattern"):
        parsed(path=f"{folder}/{LONG}*").captures()
    shut(folder / "deep", monkeypatch)
    with pytest.raises(CaptureError, match=r"deep/\*\.pcap: cannot be looked at: permission denied"):
        parsed(path=f"{folder}/deep/*.pcap").captures()
