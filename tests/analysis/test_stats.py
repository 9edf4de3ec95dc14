import json

import pytest

from tests.helpers.records import START_NS, a_gap, a_problem, a_record, an_other
from wiretool import limits
from wiretool.analysis.stats import OTHERS, Stats, per_second
from wiretool.analysis.subjects import Subject
from wiretool.sinks.text.stats import ROWS_SHOWN, stats_text

MS = 1_000_000


def a_conversation() -> Stats:
    stats = Stats()
    stats.add_all(
        [
            a_record(n=1, message="Ask", fields={"segment": "s"}, length=100),
            a_record(n=2, message="Ask", fields={"segment": "s"}, length=100),
            a_record(n=3, message="Told", side="server", reply_to=1, fields={}, length=7, time_ns=START_NS + MS),
            a_record(n=4, message="Told", side="server", reply_to=2, fields={}, length=7, time_ns=START_NS + 3 * MS),
            a_gap(n=5, time_ns=START_NS + 4 * MS),
            a_problem(n=6, length=9),
            an_other(n=7, connection=1, time_ns=START_NS + 10 * MS),
        ]
    )
    return stats


def test_messages_have_counts_bytes_and_the_time_to_their_reply() -> None:
    stats = a_conversation()
    asked = stats.messages["pravega", "Ask", "client"]
    assert (asked.frames, asked.bytes, asked.replies.count) == (2, 200, 2)
    assert asked.replies.max_ns == 3 * MS
    assert asked.replies.quantile_ns(0.5) == pytest.approx(MS, rel=1e-3)
    assert stats.messages["pravega", "Told", "server"].replies.count == 0


def test_connections_have_their_bytes_holes_and_problems() -> None:
    stats = a_conversation()
    first, second = stats.connections[0], stats.connections[1]
    assert (first.client_bytes, first.server_bytes, first.gaps, first.gap_bytes, first.problems) == (
        200,
        14,
        1,
        1448,
        1,
    )
    assert first.duration_ns == 4 * MS
    assert (second.frames, second.other_bytes, second.protocol) == (0, 5321, "")
    assert stats.total.duration_ns == 10 * MS


def test_subjects_count_requests_and_replies() -> None:
    row = a_conversation().subjects[Subject("segment", "s")]
    assert (row.frames, row.bytes, row.replies.count) == (4, 214, 2)


def test_a_reply_is_about_what_was_asked() -> None:
    stats = Stats()
    stats.add(a_record(n=1, fields={"segment": "asked"}))
    stats.add(a_record(n=2, reply_to=1, fields={"success": True}))
    stats.add(a_record(n=3, reply_to=2, fields={}))
    stats.add(a_record(n=4, reply_to=9, fields={}))
    assert stats.subjects[Subject("segment", "asked")].frames == 2


def test_of_an_old_request_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 10)
    stats = Stats()
    stats.add(a_record(n=1, message="Ask", fields={"segment": "asked"}))
    stats.add_all(a_record(n=n, reply_to=1, fields={}) for n in range(2, 14))
    assert stats.subjects[Subject("segment", "asked")].frames == 10
    assert stats.messages["pravega", "Ask", "client"].replies.count == stats.total.replies.count == 9


def test_times_count_from_the_first_record_even_at_0() -> None:
    stats = Stats()
    stats.add_all([a_record(n=1, time_ns=0), a_record(n=2, time_ns=50)])
    assert stats.total.duration_ns == stats.connections[0].duration_ns == 50


def test_json_has_everything() -> None:
    numbers = json.loads(json.dumps(a_conversation().as_json()))
    assert list(numbers) == ["total", "messages", "connections", "subjects"]
    assert numbers["total"]["frames_per_s"] == 400
    assert numbers["messages"][0]["reply_max_ns"] == 3 * MS
    assert "reply_p50_ns" not in numbers["messages"][1]
    assert numbers["connections"][1]["other_bytes"] == 5321
    assert numbers["subjects"] == [
        {"kind": "segment", "name": "s", "frames": 4, "bytes": 214, "replies": 2}
        | {key: numbers["subjects"][0][key] for key in ("reply_p50_ns", "reply_p99_ns", "reply_max_ns")}
    ]


def test_nothing_gives_numbers_too() -> None:
    assert stats_text(Stats()) == "0 frames, 0 bytes on 0 connections\nfrom clients 0 bytes, from servers 0 bytes\n"
    assert Stats().as_json()["total"]["frames_per_s"] == 0
    assert per_second(5, 0) == 0


def test_tables_show_the_numbers() -> None:
    text = stats_text(a_conversation())
    assert "4 frames, 214 bytes on 2 connections in 10.0 ms: 400 frames/s, 21.40 kB/s; " in text
    assert "; 9 bytes in problems, 5,321 bytes in streams of other protocols\n" in text
    assert "1 gap (1,448 bytes missing), 1 problem\n" in text
    assert "pravega   →  Ask           2    200        2  1.00 ms  3.00 ms  3.00 ms" in text
    assert text.count("Segments") == 1


def test_the_headline_names_bytes_of_other_protocols_where_there_are_no_frames() -> None:
    stats = Stats()
    stats.add(a_record(kind="other", message="", protocol="", fields={}, length=18))
    headline, *_ = stats_text(stats).splitlines()
    assert headline == "0 frames, 0 bytes on 1 connection; 18 bytes in streams of other protocols"


def test_a_connection_of_another_protocol_has_no_figures_of_frames() -> None:
    stats = Stats()
    stats.add(a_record(kind="other", message="", protocol="", fields={}, length=18))
    row = next(line for line in stats_text(stats).splitlines() if " other " in line)
    assert " 0 " not in f"{row.split(' other ')[1]} "


def test_names_from_the_wire_are_shown_safely() -> None:
    stats = Stats()
    stats.add(a_record(fields={"segment": "[bold]\x1b[31m"}, message="\x07"))
    text = stats_text(stats, colour=False, width=120)
    assert "[bold]\\x1b[31m" in text
    assert "\\x07" in text
    assert all(char.isprintable() or char == "\n" for char in text)


def test_of_many_rows_people_see_the_largest() -> None:
    stats = Stats()
    stats.add_all(a_record(n=n, connection=n, length=n, fields={"segment": f"s{n:03}"}) for n in range(1, 100))
    text = stats_text(stats)
    assert f"Connections (the {ROWS_SHOWN} with most bytes, of 99)" in text
    assert "s099" in text
    assert "s001" not in text


def test_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STATS_ROWS_MAX", 10)
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 10)
    stats = Stats()
    stats.add_all(
        a_record(n=n, connection=n, message=f"m{n}", fields={"segment": f"s{n}"}, reply_to=None) for n in range(1, 50)
    )
    assert len(stats.connections) == len(stats.messages) == len(stats.subjects) == 11
    assert stats.connections[OTHERS].frames == 39
    assert stats.total.frames == 49
