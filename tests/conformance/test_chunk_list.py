"""Chunks of a segment in memory, as a real 0.13.0 lists them: none, or all of them, in storage or not yet."""

from typing import Any

import pytest

from wiretool.conformance.case import Expect
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.values import Bindings, first_difference


def _chunk(start: int, length: int, stored: int, *, is_there: bool = True) -> dict[str, Any]:
    lengths = {"length_in_metadata": length, "length_in_storage": stored}
    return {**lengths, "start_offset": start, "chunk_name": "c", "exists_in_storage": is_there}


def _is_accepted(chunks: Any) -> bool:
    [case] = [case for case in conformance_of("pravega").cases if case.id == "pravega/admin/4"]
    last = case.steps[-1]
    assert isinstance(last, Expect)
    pattern = last.outcomes[0].fields["chunks"]
    return first_difference(pattern, chunks, Bindings("c"), "chunks") is None


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [_chunk(0, 48, 48)],
        [_chunk(0, 48, 0, is_there=False)],
        [_chunk(0, 20, 20), _chunk(20, 28, 0, is_there=False)],
    ],
)
def test_accepted(chunks: Any) -> None:
    assert _is_accepted(chunks)


@pytest.mark.parametrize(
    "chunks",
    [
        None,
        [_chunk(0, 1, 1)],
        [_chunk(0, 49, 49)],
        [_chunk(1, 48, 48)],
        [_chunk(0, 48, 47)],
        [_chunk(0, 20, 20), _chunk(0, 28, 28)],
        [_chunk(0, 20, 20), _chunk(21, 27, 27)],
    ],
)
def test_refused(chunks: Any) -> None:
    assert not _is_accepted(chunks)
