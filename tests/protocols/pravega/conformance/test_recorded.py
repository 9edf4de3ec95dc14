"""Every conversation that was recorded with a real store has a case that accepts what it did."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.protocols.pravega.server.recorded import START_NS, bytes_of, probes
from wiretool.codec.frames.splitter import Piece, Splitter
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.recorded.observed import UNDECODABLE, Closing, Observed, ObservedConnection
from wiretool.conformance.registry import conformance_of
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.registry import protocol_named

MS_NS = 1_000_000

#: Conversations by name -> the case that has the same requests and accepts the recorded replies.
CASE_OF: Mapping[str, str] = {
    "hello_17_5": "hello/1",
    "hello_15_5": "hello/2",
    "hello_too_old": "hello/3",
    "hello_too_new": "hello/4",
    "hello_twice": "hello/7",
    "hello_late": "hello/8",
    "hello_inverted": "hello/9",
    "hello_trailing": "frame/72",
    "hello_silent": "hello/10",
    "hello_bad_sign": "frame/3",
    "hello_15_5__server_0.11.0": "hello/2",
    "hello_too_new__server_0.11.0": "hello/4",
    "hello_too_old_with_request__server_0.11.0": "hello/11",
    "frame_unknown_999": "frame/1",
    "frame_unknown_m128": "frame/2",
    "frame_locate_offset": "frame/6",
    "frame_good_then_unknown": "frame/7",
    "frame_info_then_unknown": "frame/8",
    "frame_length_minus1": "frame/33",
    "frame_length_min": "frame/32",
    "frame_length_max_header": "frame/12",
    "frame_max": "frame/13",
    "frame_length_over_then_ka": "frame/14",
    "frame_keepalive_payload": "keep-alive/2",
    "frame_padding_empty": "frame/34",
    "frame_padding_nonzero": "frame/35",
    "frame_partial": "frame/21",
    "frame_ack_to_server": "frame/23",
    "frame_admin_on_main": "frame/25",
    "frame_pipelined": "frame/36",
    "frame_half_then_fin": "frame/37",
    "frame_request_then_fin": "frame/38",
    "frame_trailing_read": "frame/71",
    "frame_string_overrun": "frame/41",
    "frame_no_token": "frame/42",
    "frame_utf8_modified": "frame/54",
    "frame_utf8_nul": "frame/55",
    "frame_utf8_c080": "frame/56",
    "setup_new": "setup/1",
    "setup_plain_name": "setup/2",
    "setup_sealed": "setup/3",
    "setup_sealed_known": "setup/4",
    "setup_reconnect": "setup/5",
    "setup_two_conns_repeat": "setup/6",
    "setup_two_conns_repeat__server_0.11.0": "setup/6",
    "setup_two_conns__with_trace": "setup/7",
    "setup_two_segments": "setup/8",
    "setup_no_wait": "setup/9",
    "setup_no_token": "setup/10",
    "setup_request_ids": "setup/11",
    "append_lone": "append/1",
    "append_lone_wrong_size": "append/5",
    "append_block_padding": "block/1",
    "append_block_padding0": "block/2",
    "append_block_partial": "block/3",
    "append_block_partial_whole": "block/5",
    "append_block_full_with_data": "block/7",
    "append_block_padding_data": "block/11",
    "append_block_no_setup": "block/31",
    "append_events_0": "append/6",
    "append_events_more": "append/8",
    "append_number_equal": "append/9",
    "append_number_jump": "append/2",
    "append_number_max": "append/14",
    "append_equal_setup": "append/10",
    "append_size_over": "block/12",
    "append_writer_mismatch": "block/20",
    "append_remainder_overrun": "block/16",
    "append_remainder_event": "block/18",
    "append_remainder_keepalive": "block/19",
    "append_block_keepalive_inside": "keep-alive/4",
    "append_block_info_inside": "block/34",
    "append_block_padding_inside": "block/22",
    "append_block_abandoned": "block/35",
    "append_not_framed": "append/15",
    "append_zero_event": "append/16",
    "append_no_rid": "append/18",
    "append_other_rid": "append/19",
    "append_1mb": "append/20",
    "append_sealed_midway": "append/23",
    "append_sealed_x3": "append/24",
    "append_sealed_other_writer": "append/25",
    "append_deleted_midway": "append/27",
    "append_txn_segment": "merge/15",
    "cond_append_ok": "conditional/1",
    "cond_append_beyond": "conditional/2",
    "cond_append_down": "conditional/5",
    "cond_append_no_setup": "conditional/6",
    "cond_append_bad_length": "conditional/7",
    "cond_append_bad_type": "conditional/8",
    "cond_append_sealed": "conditional/10",
    "cond_block_ok": "conditional/11",
    "cond_pipelined": "conditional/12",
    "cond_two_conns": "conditional/13",
    "cond_two_conns__server_0.11.0": "conditional/13",
    "cond_transient_close": "transient/6",
    "read_normal": "read/1",
    "read_len0": "read/3",
    "read_len_minus": "read/4",
    "read_exact": "read/5",
    "read_big": "read/6",
    "read_tail": "tail/1",
    "read_empty": "tail/2",
    "read_negative": "read/8",
    "read_sealed_all": "read/9",
    "read_sealed_beyond": "read/11",
    "read_parked_seal": "tail/3",
    "read_parked_seal__with_trace": "tail/3",
    "read_parked_truncate": "tail/4",
    "read_parked_two": "tail/5",
    "read_parked_close": "tail/6",
    "read_missing": "read/14",
    "read_no_rid": "frame/73",
    "read_rid_4": "frame/74",
    "read_far": "tail/7",
    "info_normal": "segment/22",
    "info_sealed": "segment/20",
    "info_index": "segment/23",
    "info_missing__with_trace": "failure/1",
    "attr_life": "attribute/2",
    "attr_missing": "failure/6",
    "attr_writer": "attribute/8",
    "attr_writer__server_0.11.0": "attribute/8",
    "attr_same": "attribute/4",
    "life_create_twice": "segment/2",
    "life_create_twice__with_trace": "segment/2",
    "life_create_negative": "segment/3",
    "life_create_cut_rollover": "segment/4",
    "life_create_rollover": "segment/5",
    "life_create_plain_names": "segment/6",
    "life_seal": "segment/14",
    "life_delete": "segment/8",
    "life_recreate_merged": "segment/11",
    "life_truncate_negative": "segment/21",
    "life_truncate_sealed": "segment/20",
    "merge_sealed": "merge/1",
    "merge_twice": "merge/3",
    "merge_no_target": "merge/4",
    "merge_sealed_target": "merge/5",
    "merge_self": "merge/6",
    "merge_attr": "merge/8",
    "merge_tail_read": "merge/14",
    "merge_batch": "merge-batch/2",
    "table_create": "table/1",
    "table_create_300": "table/2",
    "table_create_sorted": "table/4",
    "table_insert_read": "table/11",
    "table_put": "table/12",
    "table_put_version__with_trace": "table/13",
    "table_put_missing": "table/14",
    "table_put_missing__with_trace": "table/14",
    "table_batch_atomic": "table/16",
    "table_batch_empty": "table/17",
    "table_version_m5": "table/19",
    "table_empty_key_rust": "table/41",
    "table_big_value": "table/22",
    "table_fixed_versions": "table/34",
    "table_remove": "table/31",
    "table_entries": "iterate/1",
    "table_hash_from_to": "iterate/4",
    "table_bad_token": "iterate/5",
    "table_prefix": "iterate/6",
    "table_delta_odd": "delta/5",
    "table_fixed_delta": "delta/9",
    "table_fixed_delta__with_trace": "delta/9",
    "table_delete_empty": "table/9",
    "table_on_stream_update": "failure/33",
    "table_on_stream_read": "failure/35",
    "table_read_segment": "table/46",
    "table_count_negative": "table/18",
    "table_read_count_negative": "table/42",
    "table_key_overrun": "table/44",
    "admin_hello": "admin/1",
    "admin_chunks": "admin/4",
    "slow_read_parked_65s": "tail/13",
    "slow_transient_60s": "transient/6",
    "slow_idle_segment_135s": "tail/14",
    "auth_bad": "auth/31",
    "auth_read_only": "auth/33",
    "auth_scope": "auth/34",
    "auth_star": "auth/35",
    "auth_expired": "auth/38",
    "auth_free": "auth/39",
    "wronghost_all": "failure/41",
    "zz_append_to_table": "table/47",
    "zz_huge_count": "table/45",
}


def test_every_recorded_conversation_has_a_case() -> None:
    names = [str(probe["name"]) for probe in probes()]
    assert sorted(names) == sorted(CASE_OF)
    ids = {case.id for case in conformance_of("pravega").cases}
    assert {f"pravega/{name}" for name in CASE_OF.values()} <= ids


def observed(probe: Mapping[str, Any]) -> list[ObservedConnection]:
    """Return the connections of a conversation as a capture of it would show them."""
    connections: dict[str, ObservedConnection] = {}
    ends: dict[str, tuple[Conversation, Mapping[Side, Splitter]]] = {}
    now_ns, number = START_NS, 0
    for step in probe["steps"]:
        name = step["conn"]
        now_ns += MS_NS
        if name not in connections:
            conversation = protocol_named("pravega").open(True)
            ends[name] = conversation, {side: Splitter(conversation, side) for side in ("client", "server")}
            connections[name] = ObservedConnection(len(connections), "", "", "pravega", True, True, now_ns)
        items = connections[name].items
        if step["op"] == "close":
            items.append(Closing(now_ns, "client", "rst"))
            continue
        side: Side = "client" if step["op"] == "send" else "server"
        conversation, splitters = ends[name]
        for piece in splitters[side].feed(bytes_of(step)):
            number += 1
            items.append(message_in(conversation, side, piece, number, now_ns))
        if side == "client" and probe["name"].endswith("_then_fin"):
            items.append(Closing(now_ns, "client", "fin"))  # the recording has no step for it
        now_ns += step.get("waited_ms", 0) * MS_NS
        if step.get("end") == "fin":
            items.append(Closing(now_ns, "server", "fin"))
    for connection in connections.values():
        connection.recorded_until_ns = now_ns
    return list(connections.values())


def message_in(conversation: Conversation, side: Side, piece: Piece, number: int, now_ns: int) -> Observed:
    raw = bytes(piece.data[piece.at : piece.end])
    if piece.kind != "frame":
        return Observed(number, now_ns, side, UNDECODABLE, {}, (str(piece.error),), None, raw)
    reading = conversation.read(side, piece.data, piece.at, piece.end, number)
    fields = json_form(reading.fields) if isinstance(reading.fields, Message) else dict(reading.fields)
    problems = tuple(str(defect) for defect in reading.defects)
    return Observed(number, now_ns, side, reading.message, fields, problems, reading.reply_to, raw)


#: Conversations whose case has just the same requests; others have fewer of them, or in another order.
RECOGNISED = frozenset(
    {
        "hello_15_5",
        "hello_too_old",
        "hello_too_new",
        "hello_inverted",
        "hello_silent",
        "frame_locate_offset",
        "frame_max",
        "frame_padding_empty",
        "frame_padding_nonzero",
        "frame_partial",
        "frame_ack_to_server",
        "frame_admin_on_main",
        "frame_request_then_fin",
        "setup_new",
        "setup_plain_name",
        "setup_two_segments",
        "setup_no_token",
        "setup_request_ids",
        "cond_append_no_setup",
        "read_no_rid",
        "table_create",
        "table_create_sorted",
        "table_insert_read",
        "table_batch_atomic",
        "table_version_m5",
        "table_empty_key_rust",
        "table_fixed_versions",
        "table_remove",
        "table_prefix",
        "table_delta_odd",
        "table_read_segment",
        "table_count_negative",
        "table_read_count_negative",
        "table_key_overrun",
        "auth_read_only",
        "auth_scope",
        "auth_star",
        "auth_free",
        "table_put_version__with_trace",
        "hello_15_5__server_0.11.0",
        "hello_too_new__server_0.11.0",
        "hello_too_old_with_request__server_0.11.0",
    }
)


@pytest.mark.parametrize("probe", probes(), ids=lambda probe: str(probe["name"]))
def test_no_case_contradicts_a_recorded_conversation(probe: Mapping[str, Any]) -> None:
    part = conformance_of("pravega")
    setup = "authorization" if "authorization" in probe["server"] else ""
    results = judge_recording(part, observed(probe), part.cases, setup)
    assert {result.case.id: result.why for result in results if result.verdict is Verdict.FAIL} == {}
    passed = {result.case.id for result in results if result.verdict is Verdict.PASS}
    name = probe["name"]
    assert name not in RECOGNISED or f"pravega/{CASE_OF[name]}" in passed


def test_every_name_is_a_recorded_conversation() -> None:
    assert {probe["name"] for probe in probes()} >= RECOGNISED
