"""Kaitai Struct files: compiled by its compiler (compile.py), they read the frames of captures as `decode` does."""

import json
import re
from collections import Counter
from enum import Enum
from functools import cache
from importlib import import_module
from io import BytesIO
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
import yaml
from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError

from tests.export.kaitai.compile import DIGESTS, EXPORTED, digest_of
from tests.export.wireshark.shown import OF_FRAMES
from tests.helpers.forked import run_text
from tests.helpers.recorded import unpack_recordings
from wiretool.codec.message import fields_of
from wiretool.dissect.dissector import annotate, read
from wiretool.export.names import protocol_identifier
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

CAPTURES = Path(__file__).parents[3] / "captures"
HEADER_BYTES = 8
#: Problems of frames that the compiled parsers refuse, too.
REFUSED = (
    "truncated-field",
    "bad-nested-type",
    "bad-nested-length",
    "bad-count",
    "bad-partial-marker",
    "reserved-bits-set",
)
#: Records that are read of a capture, and frames of one message that are compared in it.
READ_MAX, ALIKE_MAX = 500, 10


def test_the_compiled_parsers_are_those_of_the_files_that_are_exported() -> None:
    """Where they are not: python -m tests.export.kaitai.compile."""
    assert json.loads(DIGESTS.read_text()) == {name: digest_of(name) for name in EXPORTED}


@pytest.fixture(scope="session")
def parsers() -> dict[str, ModuleType]:
    """Return the compiled module of each exported protocol."""
    return {name: import_module(f"tests.export.kaitai.compiled.{protocol_identifier(name)}") for name in EXPORTED}


def parsed(module: ModuleType, raw: bytes) -> Any:
    """Return the only frame in some bytes."""
    name = module.__name__.rpartition(".")[2].title().replace("_", "")
    root: KaitaiStruct = getattr(module, name)(KaitaiStream(BytesIO(raw)))
    (frame,) = root.frames
    return frame


@cache
def captures_of(protocol: str) -> tuple[Path, ...]:
    recorded = unpack_recordings()
    return tuple(sorted([*(CAPTURES / protocol).glob("*.pcap*"), *recorded.glob(f"captures/{protocol}*/*.pcap*")]))


def value_at(value: Any, path: str) -> Any:
    """Return the value that Kaitai Struct has at a path of `annotate`."""
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        value = getattr(value, name) if name else value[int(index)]
        if isinstance(value, KaitaiStruct) and is_wrapper(value):
            value = value.value
    return value


def is_wrapper(value: KaitaiStruct) -> bool:
    """Return whether it stands for its value alone: a Boolean, or an element of a list."""
    members = {name for name in vars(value) if not name.startswith("_")}
    return members in ({"byte"}, {"value"}, {"value", "value_length"})


def is_same(ours: object, theirs: object) -> bool:
    """Return whether values are the same, which names and UUIDs are as well."""
    if isinstance(theirs, Enum):
        return ours == theirs.name.upper()
    if isinstance(theirs, bytes) and isinstance(ours, str):
        return UUID(ours).bytes == theirs
    if isinstance(theirs, bytes) and isinstance(ours, int):
        return theirs == bytes(ours)
    return ours == theirs


def check_frame(record: Record, frame: Any) -> Counter[str]:
    """Assert that each value of a frame is the same; return how many there are of each path."""
    assert frame.type.name == re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", record.message).lower()
    assert frame.length == len(record.raw) - HEADER_BYTES
    compared = Counter[str]()
    for span in annotate(record):
        path = span.path.removeprefix(f"{record.message}.")
        is_absent = not span.length and not hasattr(frame.message, path)
        if span.offset < HEADER_BYTES or is_absent:
            continue
        path = "left_over" if path == "(left over)" else re.sub(r"\.(count|length)$", r"_\1", path)
        assert is_same(span.value, value_at(frame.message, path)), (record, span)
        compared[re.sub(r"\[\d+\]", "", path)] += 1
    return compared


def key_of(record: Record) -> tuple[int, str, int]:
    return record.connection, record.side, record.offset


def test_the_command_writes_the_file_or_names_the_protocols_that_it_can(tmp_path: Path) -> None:
    path = tmp_path / "draft.ksy"
    assert run_text("export", "kaitai", "pravega-draft", "-o", path).returncode == 0
    assert yaml.safe_load(path.read_text())["meta"]["id"] == "pravega_draft"
    refused = run_text("export", "kaitai", "sbp")
    assert refused.returncode == 2
    assert refused.stderr == (
        "wiretool: sbp: its frames do not begin with a type and a length of four bytes each; "
        "expected pravega or pravega-draft\n"
    )
    assert f"PROTOCOL  one of {', '.join(EXPORTED)}  [required]" in run_text("export", "kaitai", "--help").stdout


@pytest.mark.parametrize("name", EXPORTED)
def test_damaged_frames_are_refused(name: str, parsers: dict[str, ModuleType]) -> None:
    """Each frame cut short, and each with a problem of its counts or markers that `decode` has found."""
    refused = 0
    for path in captures_of(name):
        records = list(islice(read(path), READ_MAX))
        problems = {key_of(record) for record in records if record.error in REFUSED}
        for record in records:
            if record.kind != "frame" or record.protocol != name:
                continue
            raw = record.raw if key_of(record) in problems else record.raw[:-1]
            if len(raw) >= HEADER_BYTES or raw is not record.raw:
                with pytest.raises((KaitaiStructError, EOFError)):
                    parsed(parsers[name], raw)
                refused += 1
    assert refused > 20


@pytest.mark.parametrize("name", EXPORTED)
def test_frames_are_read_as_decode_reads_them(name: str, parsers: dict[str, ModuleType]) -> None:
    compared = Counter[str]()
    for path in captures_of(name):
        alike = Counter[str]()
        records = list(islice(read(path), READ_MAX))
        damaged = {key_of(record) for record in records if record.error in OF_FRAMES}
        for record in records:
            if record.kind != "frame" or record.protocol != name or key_of(record) in damaged:
                continue
            alike[record.message] += 1
            if alike[record.message] <= ALIKE_MAX:
                found = check_frame(record, parsed(parsers[name], record.raw))
                compared.update({f"{record.message}.{path}": count for path, count in found.items()})
    seen = {path.partition(".")[0] for path in compared}
    assert len(seen) > len(PROTOCOLS[name].messages) // 2
    for cls in PROTOCOLS[name].messages:
        if cls.declaration.name in seen:
            for field in fields_of(cls):
                assert any(path.startswith(f"{cls.declaration.name}.{field.name}") for path in compared), field.name
