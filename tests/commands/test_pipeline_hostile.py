"""Forged checkpoints and manifests: one line each, exit 3, and nothing of theirs is run or touched."""

import gzip
import json
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from hashlib import blake2b
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import msgspec
import pyarrow as pa
import pytest

from tests.helpers.captures import Talk, packets_of, pcap_bytes
from tests.helpers.forked import run
from tests.helpers.tools import needs_root_to
from wiretool.capture.index.build import FileIndex, index_of
from wiretool.capture.index.cache import KEPT_BYTES_MIN, MAGIC, VERSION, Kept, cache_path
from wiretool.pipeline.flows.state import DIGEST_BYTES, state_head
from wiretool.pipeline.stream import checkpoint
from wiretool.pipeline.stream.states import SCHEMA

CAPTURES = Path(__file__).parents[2] / "captures"
WRITE = (CAPTURES / "pravega" / "write.pcap").read_bytes()


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The command that goes on with a stream that has begun and has open flows."""
    captures = tmp_path / "captures"
    captures.mkdir()
    (captures / "a.pcap").write_bytes(WRITE[:60_000])
    words = ["pipeline", "stream", str(captures), "-o", str(tmp_path / "t"), "--checkpoint", str(tmp_path / "c")]
    words.append("--once")
    assert run(*words).returncode == 0
    (captures / "a.pcap").write_bytes(WRITE[:200_000])
    return words


def refused(words: Sequence[str], code: int = 3) -> str:
    """The one line with which it ends, of those that say more than which batch is done."""
    ended = run(*words)
    lines = ended.stderr.decode().splitlines()
    assert ended.returncode == code, lines
    assert len(lines) == 1, lines
    return lines[0]


def states_of(folder: Path) -> Path:
    (path,) = (folder / "c" / "states").iterdir()
    return path


def forge(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change each state in a file of states."""
    with pa.ipc.open_file(path.read_bytes()) as file:
        table = file.read_all()
    column = pa.array([change(state) for state in table.column("state").to_pylist()], pa.large_binary())
    forged = table.set_column(table.schema.get_field_index("state"), SCHEMA.field("state"), column)
    with pa.OSFile(os.fsencode(path), "wb") as out, pa.ipc.new_file(out, SCHEMA) as stream:
        stream.write_table(forged)


def forge_rows(path: Path, kind: str, change: Callable[[list[Any]], None]) -> None:
    """Change each object of a kind in the states of a file; there must be one."""
    kinds: list[str] = []

    def forged(state: bytes) -> bytes:
        body = body_of(state)
        for row in body:
            if row[0] == kind:
                kinds.append(kind)
                change(row)
        return state_of(body)

    forge(path, forged)
    assert kinds


def body_of(state: bytes) -> Any:
    return msgspec.msgpack.decode(state[len(state_head()) + DIGEST_BYTES :])


def state_of(body: Any) -> bytes:
    """A state with that in it, and a checksum that is right."""
    data = msgspec.msgpack.encode(body)
    return state_head() + blake2b(data, digest_size=DIGEST_BYTES).digest() + data


class Touch:
    """What pickle runs when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_is_not_run(words: list[str], tmp_path: Path) -> None:
    evil = pickle.dumps(Touch(tmp_path / "run"), protocol=5)
    forge(states_of(tmp_path), lambda state: state_head() + len(evil).to_bytes(8, "big") + evil + evil)
    line = refused(words)
    assert "damaged state: its checksum is wrong; start again" in line
    assert line.startswith(f"wiretool: {states_of(tmp_path)}: ")
    forge(states_of(tmp_path), lambda state: state_head() + blake2b(evil, digest_size=DIGEST_BYTES).digest() + evil)
    assert "damaged state: " in refused(words)
    assert not (tmp_path / "run").exists()


def test_a_state_of_another_version_says_what_to_do(words: list[str], tmp_path: Path) -> None:
    evil = pickle.dumps(Touch(tmp_path / "run"), protocol=5)
    forge(states_of(tmp_path), lambda state: b"wiretool 0.1.0 flow 1\n" + len(evil).to_bytes(8, "big") + evil + evil)
    assert "is of 'wiretool 0.1.0 flow 1'; expected" in (line := refused(words, code=2))
    assert "continue with the version that wrote it, or start again in another folder" in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda body: body[1:], "should"),
        (lambda body: [["os.system", "touch"], *body], "unknown value 'os.system'"),
        (lambda body: [body[0][:1], *body[1:]], "expected a list of at least length"),
        (lambda body: [[*body[0][:1], "no bytes", *body[0][2:]], *body[1:]], "expected bytes, got text"),
        (lambda body: [[*body[0][:2], -(2**40), *body[0][3:]], *body[1:]], "is referred to"),
        (lambda body: [[*body[0][:2], -2, *body[0][3:]], *body[1:]], "a kept stands where a Places should"),
        (lambda body: {"a": 1}, "expected a list, got an object"),
        (lambda body: [], "object 0 of 0 is referred to"),
    ],
)
def test_a_state_against_the_schema(words: list[str], tmp_path: Path, change: Callable[[Any], Any], why: str) -> None:
    forge(states_of(tmp_path), lambda state: state_of(change(body_of(state))))
    line = refused(words)
    assert "damaged state: " in line
    assert why in line


def test_a_state_that_nests_without_end(words: list[str], tmp_path: Path) -> None:
    deep = b"\x91" * 200_000 + b"\x90"
    forge(
        states_of(tmp_path),
        lambda state: state_head() + blake2b(deep, digest_size=DIGEST_BYTES).digest() + deep,
    )
    assert "damaged state: " in refused(words)


def test_values_of_the_right_type_that_are_impossible(words: list[str], tmp_path: Path) -> None:
    """A column of open requests that is shorter than the others."""

    def change(row: list[Any]) -> None:
        row[1] = row[1][:-8]

    forge_rows(states_of(tmp_path), "requests", change)
    assert "the state of open flows does not fit the captures" in refused(words)


def test_a_sum_that_is_forged_is_not_taken(words: list[str], tmp_path: Path) -> None:
    """The size of held pieces: the search for pieces to free does not end if it is above the bound with none held."""

    def change(row: list[Any]) -> None:
        row[3] = 1 << 40

    forge_rows(states_of(tmp_path), "pieces", change)
    assert "expected null, got a whole number" in refused([*words, "--finish"])


def test_pieces_out_of_order(words: list[str], tmp_path: Path) -> None:
    def change(state: bytes) -> bytes:
        body = body_of(state)
        body += [["piece", 9, b"later", 1, 1], ["piece", 2, b"earlier", 1, 1]]
        next(row for row in body if row[0] == "pieces")[1] = [1 - len(body), -len(body)]
        return state_of(body)

    forge(states_of(tmp_path), change)
    assert "are empty, overlap, or are out of order" in refused(words)


def test_a_pace_without_growth(words: list[str], tmp_path: Path) -> None:
    """The pace divides by its growth."""

    def change(row: list[Any]) -> None:
        row[1] = 0

    forge_rows(states_of(tmp_path), "pace", change)
    assert "expected a whole number >= 1" in refused(words)


@pytest.mark.parametrize("field", ["_need", "_skip"])
def test_lengths_below_zero(words: list[str], tmp_path: Path, field: str) -> None:
    at = 1 + ["_framing", "_side", "_offset", "_parts", "_held", "_need", "_skip"].index(field)

    def change(row: list[Any]) -> None:
        row[at] = -1

    forge_rows(states_of(tmp_path), "splitter", change)
    assert "expected a whole number >= 0" in refused(words)


@pytest.mark.parametrize("state", [b"", pickle.dumps(["no state"], protocol=5), b"wiretool\n", b"wiretool 0.1.0 flow "])
def test_a_state_that_no_version_has_written(words: list[str], tmp_path: Path, state: bytes) -> None:
    forge(states_of(tmp_path), lambda _: state)
    assert "damaged state: it begins with none of the lines that wiretool writes; start again" in refused(words)


def forge_commit(path: Path, commit: dict[str, Any]) -> None:
    """Write a commit with another content, and the checksum of that."""
    del commit["sha256"]
    path.write_bytes(checkpoint._with_checksum(json.dumps(commit).encode()))


@pytest.mark.parametrize("at", [("total", "frames"), ("connections",), ("tables", "frames", 0, "rows"), ("turn_ns",)])
def test_a_number_of_a_commit_that_was_changed(words: list[str], tmp_path: Path, at: tuple[Any, ...]) -> None:
    (path,) = (tmp_path / "c" / "commits").iterdir()
    commit = json.loads(path.read_bytes())
    part = reduce(getitem, at[:-1], commit)
    part[at[-1]] += 1
    raw = json.dumps(commit, separators=(",", ":")).encode()
    assert len(raw) <= path.stat().st_size + 1
    path.write_bytes(raw)
    assert "is damaged, and with it the checkpoint: its content does not match its checksum; start" in refused(words)


def test_a_commit_without_a_checksum(words: list[str], tmp_path: Path) -> None:
    (path,) = (tmp_path / "c" / "commits").iterdir()
    commit = json.loads(path.read_bytes())
    del commit["sha256"]
    path.write_text(json.dumps(commit))
    assert "its content does not match its checksum" in refused(words)


@pytest.mark.parametrize("batch", [10**30, 7, -1])
def test_a_commit_of_another_batch_than_its_name(words: list[str], tmp_path: Path, batch: int) -> None:
    (path,) = (tmp_path / "c" / "commits").iterdir()
    forge_commit(path, {**json.loads(path.read_bytes()), "batch": batch})
    assert f"is of batch {batch}; expected that of its name" in refused(words)


@pytest.mark.parametrize("name", ["protocol", "port", "events"])
@pytest.mark.parametrize("value", [None, [7], {"x": {}}])
def test_options_of_the_stream_that_are_absent_or_of_another_type(
    words: list[str], tmp_path: Path, name: str, value: object
) -> None:
    path = tmp_path / "c" / "stream.json"
    stream = json.loads(path.read_bytes())
    if value is None:
        del stream["options"][name]
    else:
        stream["options"][name] = value
    path.write_text(json.dumps(stream))
    assert "is damaged, and with it the checkpoint" in refused(words)


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_value_of_the_stream_that_was_changed(words: list[str], tmp_path: Path, has_begun: bool) -> None:
    path = tmp_path / "c" / "stream.json"
    stream = json.loads(path.read_bytes())
    stream["parts" if has_begun else "id"] = stream["parts"] + 1 if has_begun else "another"
    path.write_text(json.dumps(stream, separators=(",", ":")))
    if not has_begun:
        shutil.rmtree(tmp_path / "c" / "commits")
    assert f"{path}: is damaged, and with it the checkpoint: its content does not match its checksum" in refused(words)


def test_a_stream_without_a_checksum(words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "c" / "stream.json"
    stream = json.loads(path.read_bytes())
    del stream["sha256"]
    path.write_text(json.dumps(stream, separators=(",", ":")))
    assert "its content does not match its checksum" in refused(words)


@pytest.mark.parametrize("pattern", ["states/*", "commits/*", "stream.json"])
def test_a_pipe_in_place_of_a_file(words: list[str], tmp_path: Path, pattern: str) -> None:
    (path,) = (tmp_path / "c").glob(pattern)
    path.unlink()
    os.mkfifo(path)
    assert "not a regular file" in refused(words)


@pytest.mark.parametrize("data", [b"", b"no Arrow", b"ARROW1\0\0" + bytes(64) + b"ARROW1"])
def test_a_file_that_holds_no_states(words: list[str], tmp_path: Path, data: bytes) -> None:
    states_of(tmp_path).write_bytes(data)
    assert "the state of open flows cannot be read" in refused(words)


def test_a_file_of_other_columns(words: list[str], tmp_path: Path) -> None:
    table = pa.table({"flow": [1]})
    with pa.OSFile(os.fsencode(states_of(tmp_path)), "wb") as out, pa.ipc.new_file(out, table.schema) as stream:
        stream.write_table(table)
    assert "its columns are not those of states" in refused(words)


def test_offsets_outside_the_file_of_states(words: list[str], tmp_path: Path) -> None:
    """Arrow follows offsets without looking: these would lead far beyond the memory of the file."""
    path = states_of(tmp_path)
    with pa.ipc.open_file(path.read_bytes()) as file:
        batch = file.get_batch(0)
    offsets = batch.column("state").buffers()[1].to_pybytes()[: 8 * (batch.num_rows + 1)]
    raw = path.read_bytes()
    assert raw.count(offsets) == 1
    path.write_bytes(raw.replace(offsets, offsets[:8] + (1 << 45).to_bytes(8, "little") + offsets[16:]))
    why = "the state of open flows cannot be read: a damaged file; expected a whole Arrow file; start again"
    assert why in refused(words)  # Arrow names a column and an invariant


@pytest.mark.parametrize("field", ["states", "copy", "staging", "tables"])
def test_a_commit_that_names_files_elsewhere(words: list[str], tmp_path: Path, field: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").touch()
    (path,) = (tmp_path / "c" / "commits").iterdir()
    commit = json.loads(path.read_bytes())
    if field == "copy":
        commit["captures"][0]["copy"] = "../../elsewhere/mine"
    else:
        commit[field] = {
            "states": [["../../elsewhere/mine"]],
            "staging": "../elsewhere",
            "tables": {"../elsewhere": []},
        }[field]
    forge_commit(path, commit)
    assert "names a file outside its folder" in refused(words)
    assert (elsewhere / "mine").exists()


# -- who may write -----------------------------------------------------------------------------------------------------


def test_what_is_made_is_private(words: list[str], tmp_path: Path) -> None:
    folders = [tmp_path / "c", *(each for each in (tmp_path / "c").rglob("*") if each.is_dir())]
    assert len(folders) >= 4
    assert {each.stat().st_mode & 0o777 for each in folders} == {0o700}


@pytest.mark.parametrize("folder", ["c", "c/states", "c/commits"])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_may_write_to_is_refused(words: list[str], tmp_path: Path, folder: str, mode: int) -> None:
    (tmp_path / folder).chmod(mode)
    line = refused(words, code=2)
    assert f"other users may write to it (mode {mode:04o}); expected 0700" in line
    (tmp_path / folder).chmod(0o700)
    assert run(*words).returncode == 0


@needs_root_to("give a folder to another user")
def test_a_folder_of_somebody_else_is_refused(words: list[str], tmp_path: Path) -> None:
    os.chown(tmp_path / "c" / "states", 12_345, -1)
    assert "belongs to another user (uid 12345)" in refused(words, code=2)


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    root = tmp_path / "tables"
    assert run("pipeline", "run", CAPTURES / "pravega" / "reconnect.pcap", "-o", root).returncode == 0
    return root


def _absolute(root: Path, path: Path) -> str:
    return str(path)


def _above(root: Path, path: Path) -> str:
    return os.path.relpath(path, root)


def _linked(root: Path, path: Path) -> str:
    (root / "link.parquet").symlink_to(path)
    return "link.parquet"


def _below_link(root: Path, path: Path) -> str:
    (root / "folder").symlink_to(path.parent)
    return f"folder/{path.name}"


@pytest.mark.parametrize("named", [_absolute, _above, _linked, _below_link])
@pytest.mark.parametrize("command", ["report", "sql"])
def test_a_manifest_that_names_a_file_elsewhere(
    tables: Path, tmp_path: Path, named: Callable[[Path, Path], str], command: str
) -> None:
    secret = tmp_path / "secret" / "part.parquet"
    secret.parent.mkdir()
    manifest = json.loads((tables / "manifest.json").read_bytes())
    first = manifest["tables"]["frames"][0]
    shutil.copy(tables / first["path"], secret)
    first["path"] = named(tables, secret)
    (tables / "manifest.json").write_text(json.dumps(manifest))
    more = ["SELECT count(*) FROM frames"] if command == "sql" else []
    line = refused(["pipeline", command, str(tables), *more])
    assert "names a file outside" in line


@pytest.mark.parametrize("name", ['x" ; drop', "sbp.NoSuchMessage", "Frames", ""])
def test_a_manifest_that_names_a_table_that_wiretool_does_not_write(name: str, tables: Path) -> None:
    path = tables / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["tables"][name] = manifest["tables"]["frames"]
    path.write_text(json.dumps(manifest))
    why = f"manifest.json: names a table that wiretool does not write: {name!r}; make the tables again"
    assert refused(["pipeline", "sql", str(tables), "SELECT 1"]).endswith(why)


def test_a_manifest_without_the_table_of_frames(tables: Path) -> None:
    path = tables / "manifest.json"
    manifest = json.loads(path.read_bytes())
    del manifest["tables"]["frames"]
    path.write_text(json.dumps(manifest))
    line = refused(["pipeline", "sql", str(tables), "SELECT 1"])
    count = manifest["total"]["frames"]
    assert line.endswith(f"names no table frames, though it counts {count:,} of its rows; make the tables again")


# -- the index beside a capture ----------------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A capture of those that are worth an index beside them."""
    talk = Talk(("10.0.0.1", 40_000), ("10.0.0.2", 443))
    talk.open()
    for _ in range(13):
        talk.say("client", Random(1).randbytes(KEPT_BYTES_MIN // 12), mtu=60_000)
    path = tmp_path / "large.pcap"
    path.write_bytes(pcap_bytes(packets_of(talk.frames)))
    return path


def plant(path: Path, change: Callable[[FileIndex], FileIndex]) -> None:
    """Put an index beside a capture that is bound to it, and says something else."""
    index_of(path)
    kept = msgspec.json.decode(cache_path(path).read_bytes().partition(b"\n")[2], type=Kept)
    body = msgspec.json.encode(msgspec.structs.replace(kept, index=change(kept.index)))
    cache_path(path).write_bytes(b"%s %d %08x\n" % (MAGIC, VERSION, crc32(body)) + body)


def packets_in(root: Path) -> int:
    manifest = json.loads((root / "manifest.json").read_bytes())
    return sum(each["packets"] for each in manifest["inputs"])


def test_an_index_that_leaves_out_the_end(large: Path, tmp_path: Path) -> None:
    whole = index_of(large, cache=False)
    middle = index_of(large, every_bytes=1_000_000, cache=False).joints[5]
    plant(large, lambda index: replace(index, tail=middle))
    assert run("pipeline", "run", large, "-o", tmp_path / "t").returncode == 0
    assert packets_in(tmp_path / "t") == whole.packets


def test_an_index_that_the_capture_does_not_end_as(large: Path, tmp_path: Path) -> None:
    plant(large, lambda index: replace(index, tail=replace(index.tail, before_ns=0)))
    line = refused(["pipeline", "run", str(large), "-o", str(tmp_path / "t")])
    assert "run the command again, after removing .large.pcap.wiretool-index if that is there" in line


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_capture_that_is_damaged_at_its_first_packet(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(packed(WRITE[:32] + b"\xff" * 4 + WRITE[36:2_000]))
    ended = run("pipeline", "run", path, "-o", tmp_path / "t")
    assert b"packet 1 claims 4294967295 bytes" in ended.stderr
    assert ended.returncode == run("decode", path).returncode == 3


# -- what nests without end --------------------------------------------------------------------------------------------

DEEP = "[" * 100_000


def test_a_manifest_that_nests_without_end(tables: Path) -> None:
    (tables / "manifest.json").write_text(f'{{"x":{DEEP}}}')
    assert "is not a manifest of wiretool: not JSON: nested too deeply" in refused(["pipeline", "report", str(tables)])


def test_a_commit_that_nests_without_end(words: list[str], tmp_path: Path) -> None:
    (path,) = (tmp_path / "c" / "commits").iterdir()
    path.write_text(f'{{"x":{DEEP}}}')
    assert "is damaged, and with it the checkpoint: not JSON: nested too deeply" in refused(words)


def test_expected_differences_that_nest_without_end(tmp_path: Path) -> None:
    (tmp_path / "expect.toml").write_text(f"a = {DEEP}{DEEP.replace('[', ']')}")
    capture = str(CAPTURES / "pravega" / "reconnect.pcap")
    words = ["replay", capture, "--target", "127.0.0.1:1", "--expect", str(tmp_path / "expect.toml")]
    assert "expect.toml: not TOML: nested too deeply" in refused(words, code=3)


def test_arguments_of_an_operation_that_nest_without_end() -> None:
    assert "not JSON: nested too deeply" in refused(["control", "127.0.0.1:1", "operate", "scale", DEEP], code=2)
