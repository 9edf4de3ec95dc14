"""Field paths of Offramp's messages, where faults change them."""

import pytest

from wiretool.errors import EncodeError
from wiretool.faults.places import check_place, offsets_in
from wiretool.protocols.offramp.messages import CommitEvent, HandshakeRequest


def test_the_offsets_of_a_commit_are_found() -> None:
    assert list(offsets_in(CommitEvent)) == [("offsets", None)]


def test_headers_are_pairs_in_an_array() -> None:
    with pytest.raises(EncodeError, match="expected an array"):
        check_place(HandshakeRequest, ("headers",), "x")
    check_place(HandshakeRequest, ("headers", 0), ["a", "b"])
