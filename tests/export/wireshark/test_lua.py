"""Parts of the generated Lua: literals, filter names and the rules of links."""

import pytest

from wiretool.export.names import protocol_identifier, snake
from wiretool.export.wireshark.fields import filter_names, leaves_of
from wiretool.export.wireshark.links import link_rules
from wiretool.export.wireshark.lua import quoted, raw_literal
from wiretool.protocols.base.exchanges import Match
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.messages import DataAppended, KeepAlive, Padding, SetupAppend


@pytest.mark.parametrize(
    ("text", "literal"),
    [("plain", '"plain"'), ('a"b\\c', '"a\\034b\\092c"'), ("line\nbreak", '"line\\010break"'), ("é", '"\\195\\169"')],
)
def test_text_is_a_literal_of_printable_characters(text: str, literal: str) -> None:
    assert quoted(text) == literal


def test_bytes_are_a_literal() -> None:
    assert raw_literal(b"\xff\0a") == '"\\255\\000\\097"'


@pytest.mark.parametrize(
    ("name", "snaked"), [("SetupAppend", "setup_append"), ("KeepAlive", "keep_alive"), ("GetURLOf", "get_url_of")]
)
def test_messages_are_named_in_snake_case(name: str, snaked: str) -> None:
    assert snake(name) == snaked


def test_a_path_is_the_filter_name_of_a_field() -> None:
    names = filter_names("pravega", list(leaves_of(SetupAppend)))
    assert list(names.values()) == [
        f"pravega.{name}" for name in ("request_id", "writer_id", "segment", "delegation_token")
    ]
    assert protocol_identifier("pravega-draft") == "pravega_draft"


def test_a_field_of_every_frame_keeps_its_name_to_itself() -> None:
    assert list(filter_names("pravega", list(leaves_of(Padding))).values()) == ["pravega.padding_length"]


def test_matches_of_a_reply_keep_their_order() -> None:
    by_id = Match(frozenset({"DataAppended"}), frozenset({"SetupAppend"}), ("request_id",), ("request_id",))
    by_writer = Match(
        frozenset({"DataAppended"}), frozenset({"SetupAppend"}), ("writer_id",), ("writer_id",), settles=True
    )
    later = Match(frozenset({"DataAppended"}), frozenset({"KeepAlive"}), ("request_id",), ())
    parts, linked = link_rules((by_id, by_writer, later), DataAppended)
    assert parts == [
        'answers = { { indexes = { 1 }, "request_id" }, { indexes = { 2 }, settles = true, "writer_id" }, '
        '{ indexes = { 3 }, "request_id" } }'
    ]
    assert linked == {"request_id", "writer_id"}
    assert link_rules((by_id, by_writer, later), KeepAlive) == (["asks = { { index = 3 } }"], set())


def test_a_message_without_the_fields_of_a_match_is_not_linked() -> None:
    match = Match(frozenset({"KeepAlive"}), frozenset({"SetupAppend"}), ("request_id",), ("request_id",))
    assert link_rules((match,), KeepAlive) == ([], set())


@pytest.mark.parametrize("protocol", ["pravega", "pravega-draft"])
def test_names_of_frames_are_not_those_of_messages(protocol: str) -> None:
    leaves = [leaf for cls in PROTOCOLS[protocol].messages for leaf in leaves_of(cls)]
    names = {name.removeprefix(f"{protocol_identifier(protocol)}.") for name in filter_names(protocol, leaves).values()}
    assert len(names) > 10
    assert not names & {"type", "length", "left_over", "unframed", "response_to", "response_in", "response_time"}
