"""Names of segments, and names that may be given."""

import pytest

from wiretool.protocols.pravega_controller.server import names


@pytest.mark.parametrize("name", ["a", "_a", "a.b-c", "0", "x" * 255])
def test_names_that_a_stream_may_have(name: str) -> None:
    assert names.is_name(name)


@pytest.mark.parametrize("name", ["", "_", "a_b", "a/b", "__a", "ä", "a b", "x" * 256, "a\n"])
def test_names_that_nothing_may_have(name: str) -> None:
    assert not names.is_name(name)
    assert not names.is_user_name(name)


def test_tags_are_a_set_of_java() -> None:
    assert names.as_java_set(["b", "a", "b"]) == ["a", "b"]
    assert names.as_java_set([]) == []
    #: Recorded of a real controller 0.13.0.
    seen = "t122 t121 t124 t123 t50 t120 t52 t119 t51 t118 t54 t53 t56 t115 t55 t114 t58 t117 t57 t116 t59 t111 t110"
    assert names.as_java_set(f"t{number}" for number in range(127))[:23] == seen.split()


def test_users_give_no_internal_names() -> None:
    assert names.is_user_name("group-1")
    assert not names.is_user_name("_group")


def test_segments_are_called_as_in_the_store() -> None:
    assert names.segment_id(3, 2) == 2 << 32 | 3
    segment = names.segment_name("scope", "stream", 3, 2)
    assert segment == "scope/stream/3.#epoch.2"
    part = names.transaction_name(segment, 1 << 32, 5)
    assert part == "scope/stream/3.#epoch.2#transaction.00000001000000000000000000000005"
