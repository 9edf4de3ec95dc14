"""Every vector, both ways; and the proof that the checks would notice a wrong one."""

import hashlib
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.examples import ABSENT, parts
from tests.helpers.vectors import Vector, vectors_below
from wiretool.errors import WiretoolError

HERE = Path(__file__).parent
#: How many bytes are changed of a vector whose bytes are not told to the last by its fields.
TRIES = 24
#: Vectors of which any one byte may be another, and why.
UNNOTICED: Mapping[str, str] = {
    "vectors/pravega-frame_partial_header": "what is not even a header says nothing",
    "vectors/pravega-parse_partial_header": "what is not even a header says nothing",
}


def test_vector(vector: Vector) -> None:
    vector.check()


def notices(vector: Vector, at: int, value: int) -> bool:
    """Whether the check fails where one byte is another."""
    data = bytearray(bytes_of(vector))
    data[at] = value
    try:
        changed = {"text": data.decode()} if "text" in vector.record else {"hex": data.hex()}
        replace(vector, record={**vector.record, **changed}).check()
    except (AssertionError, WiretoolError, LookupError, ValueError, TypeError):
        return True
    return False


def bytes_of(vector: Vector) -> bytes:
    """The bytes that are written in the vector."""
    record = vector.record
    return record["text"].encode() if "text" in record else bytes.fromhex(record.get("hex", ""))


def changes(vector: Vector) -> list[tuple[int, int]]:
    """Every place, and what is written there instead."""
    draw = random.Random(vector.record["name"])
    return [(at, byte ^ (1 << draw.randrange(8))) for at, byte in enumerate(bytes_of(vector))]


def some_changes(vector: Vector) -> list[tuple[int, int]]:
    """A few of many changes, every one of few."""
    every = changes(vector)
    if len(every) > TRIES:
        return random.Random(1).sample(every, TRIES)
    return [(at, value) for at, byte in enumerate(bytes_of(vector)) for value in range(256) if value != byte]


def is_canonical(vector: Vector) -> bool:
    return bool(vector.record.get("canonical"))


def own_vectors() -> list[Vector]:
    return [vector for vector in vectors_below([HERE / "vectors"]) if bytes_of(vector)]


OWN = own_vectors()


@pytest.mark.parametrize("vector_", [each for each in OWN if is_canonical(each)], ids=str)
def test_any_changed_byte_of_a_canonical_vector_is_noticed(vector_: Vector) -> None:
    every = changes(vector_)
    if len(every) > 400:
        every = random.Random(1).sample(every, 400)
    assert [at for at, value in every if not notices(vector_, at, value)] == []


@pytest.mark.parametrize("vector_", [each for each in OWN if not is_canonical(each)], ids=str)
def test_a_changed_byte_is_noticed(vector_: Vector) -> None:
    found = any(notices(vector_, at, value) for at, value in some_changes(vector_))
    assert found == (str(vector_) not in UNNOTICED), UNNOTICED.get(str(vector_), "nothing was noticed")


def test_there_are_vectors_of_every_protocol() -> None:
    assert {vector.file.stem for vector in OWN} == set(parts("vectors", "CHECKS"))
    assert sum(map(is_canonical, OWN)) > 50


def test_an_empty_folder_is_no_folder_of_vectors(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no vectors in"):
        vectors_below([tmp_path])


@pytest.mark.parametrize(("content", "why"), [("{}", "no list of vectors"), ('{"new": []}', "no check for")])
def test_a_file_that_nobody_checks_is_an_error(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "pravega.json").write_text(content)
    with pytest.raises(AssertionError, match=why):
        vectors_below([tmp_path])


def test_our_vectors_are_as_they_were_taken_in() -> None:
    """What no check of a meaning can notice, a changed byte that the protocol ignores say, is noticed here."""
    folder = Path(__file__).parent / "vectors"
    lines = (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())
    sums = {name: digest for digest, name in lines if Path(name).stem not in ABSENT}
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.json")}
