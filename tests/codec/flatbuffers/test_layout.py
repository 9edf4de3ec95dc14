"""Buffers are checked many at once, with the result of the exact reader for each."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.bench.columns.samples import table_of
from tests.helpers.sbp_frames import schemas
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.layout import FIT, MISFIT, UNSURE, fits_of
from wiretool.codec.flatbuffers.reader import read_root
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.errors import DecodeError

CLASSES = {f"{schema.name}.{cls.__name__}": cls for schema in schemas().values() for cls in schema.tables}


def is_exact(cls: type[Table], raw: bytes) -> bool:
    try:
        return not read_root(cls, raw, exact=True).missing
    except DecodeError:
        return False


def found_in(cls: type[Table], buffers: Sequence[bytes]) -> list[int]:
    """Return what is said of buffers that lie at odd places in the data."""
    data = b"?" + b"??".join(buffers)
    sizes = np.array([len(raw) for raw in buffers])
    starts = 1 + np.cumsum(sizes + 2) - sizes - 2
    found: list[int] = fits_of(cls, data, starts, starts + sizes).tolist()
    return found


def harmed(raw: bytes, rng: random.Random) -> bytes:
    """Return a buffer with a few other bytes, or an end that is cut off or added."""
    out = bytearray(raw)
    for _ in range(rng.randint(1, 3)):
        out[rng.randrange(len(out))] = rng.choice((0, 1, 2, 4, 8, rng.randrange(256)))
    return bytes(rng.choice((out, out, out[: rng.randrange(4, len(out) + 1)], out + b"\0" * rng.randrange(5))))


@pytest.mark.parametrize("name", CLASSES)
def test_says_what_the_exact_reader_says(name: str) -> None:
    cls, rng = CLASSES[name], random.Random(name)
    sound = [encode_root(table_of(cls, rng)) for _ in range(20)]
    others = [encode_root(table_of(rng.choice(list(CLASSES.values())), rng)) for _ in range(60)]
    buffers = [*sound, *others, *(harmed(raw, rng) for raw in sound * 30)]
    found = found_in(cls, buffers)
    assert found[: len(sound)] == [FIT if is_exact(cls, raw) else MISFIT for raw in sound]
    differ = [
        raw for raw, fit in zip(buffers, found, strict=True) if fit != UNSURE and (fit == FIT) != is_exact(cls, raw)
    ]
    assert not differ
    assert found.count(UNSURE) < len(found) / 10


def test_text_that_is_not_ascii_is_for_the_reader_of_one() -> None:
    cls = CLASSES["L.HeartbeatRequest"]
    assert found_in(cls, [encode_root(cls(client_id=text)) for text in ("client", "Köln")]) == [FIT, UNSURE]


def test_required_fields_that_servers_leave_out_are_for_the_reader_of_one() -> None:
    cls = CLASSES["L.ListRangeResponse"]
    raw = encode_root(cls())
    starts, ends = np.zeros(1, np.int64), np.array([len(raw)])
    assert fits_of(cls, raw, starts, ends).tolist() == [MISFIT]
    assert fits_of(cls, raw, starts, ends, {"ranges", "status"}).tolist() == [UNSURE]
