"""What is told of a replay, in every form."""

import io
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.replay.talks import PLAIN, appending, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report import write_report
from wiretool.replay.report.data import Wording, report_of
from wiretool.replay.report.junit import CASES_MAX
from wiretool.replay.report.text import FINDINGS_SHOWN, report_text
from wiretool.replay.report.values import SHOWN_MAX, beside, shortened
from wiretool.replay.script import LeftOut, Script
from wiretool.sinks.output import Output

EVIL = "\x1b[31m<script>alert(1)</script>&\u202e]]>\x00"


def written(recording: Recording, outcomes: list[Outcome], form: str, script: Script | None = None, **more: Any) -> str:
    file = io.BytesIO()
    with Output(file) as output:
        write_report(recording, script or Script(), outcomes, output, form, **more)
    return file.getvalue().decode()


def story(segment: str = "scope/stream/0") -> tuple[Recording, list[Outcome]]:
    """A replay with one reply that differs in two fields, one that is missing, one explained and one unknown."""
    says = setting_up(segment=segment), appending(), appending(2, request_id=9), reading(segment=segment)
    recording = recorded(talk(*says))
    live = talk(says[0], says[1][:1], says[2], reading(segment=segment, at_tail=False, data=b"x" * 500))
    outcomes = compare(recording, recorded(live), PLAIN)
    outcomes[0].note(Verdict.EXPLAINED, f"the server was older {EVIL}")
    outcomes[1].note(Verdict.UNKNOWN)
    return recording, outcomes


def test_the_text_says_how_many_then_what() -> None:
    recording, outcomes = story()
    text = written(recording, outcomes, "text")
    head, missing, different, explained = text.split("\n\n")
    assert head.splitlines() == [
        "4 of 5 exchanges on 1 connection judged, 1 could not be: 2 findings",
        "  same       1  recorded and live alike",
        "  explained  1  the protocol allows the differences listed below",
        "  unknown    1  could not be judged, see below",
        "  missing    1  recorded only",
        "  different  1  recorded and live not alike",
    ]
    assert missing.splitlines()[0] == "missing  record 5, packet 12, connection 0 (10.0.0.1:40000 -> 10.0.0.2:12345)"
    assert missing.splitlines()[2:] == [
        "  recorded  DataAppended writer_id=00000000-0000-0000-0000-000000000007 event_number=1 "
        "previous_event_number=0 request_id=2 current_segment_write_offset=13",
        "  live      (absent)",
    ]
    assert different.splitlines()[1].startswith("  ReadSegment segment=scope/stream/0 offset=0")
    assert different.splitlines()[2:4] == [
        "  SegmentRead.at_tail  recorded  true",
        "                       live      false",
    ]
    assert different.splitlines()[5].endswith("(1,002 characters)")
    assert "the server was older" in explained
    assert "not recorded" in explained


def test_without_a_finding_it_is_short() -> None:
    recording = recorded(talk(reading()), talk(reading()))
    text = written(recording, compare(recording, recording, PLAIN), "text")
    assert text == "4 exchanges on 2 connections: no finding\n  same  4  recorded and live alike\n"
    assert written(Recording(), [], "text") == "0 exchanges on 0 connections: nothing was compared\n"


def test_connections_are_told_where_there_are_several_and_findings() -> None:
    recording = recorded(talk(reading()), talk(setting_up(), appending()))
    live = recorded(talk(reading(at_tail=False)), talk(setting_up(), appending()))
    text = written(recording, compare(recording, live, PLAIN), "text")
    rows = text.split("Connections\n")[1].splitlines()
    assert rows[0].split() == ["client", "server", "protocol", "same", "different"]
    assert rows[1].split() == ["0", "10.0.0.1:40000", "10.0.0.2:12345", "pravega", "1", "1"]


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_tables_of_connections_show_ports(width: int) -> None:
    recording = recorded(talk(reading()), talk(setting_up(), appending()))
    live = recorded(talk(reading(at_tail=False)), talk(setting_up(), appending()))
    text = report_text(report_of(recording, Script(), compare(recording, live, PLAIN)), width=width)
    rows = text.split("Connections\n")[1].splitlines()
    assert rows[1].split()[:3] == ["0", "10.0.0.1:40000", "10.0.0.2:12345"]
    assert len(rows[1]) <= width


def test_what_was_left_out_is_told_with_its_reason() -> None:
    recording = recorded(talk(reading()), [("client", b"GET / HTTP/1.0\r\n\r\n" * 3)])
    record = recording.dialogues[0].records[0]
    script = Script([], [LeftOut(recording.dialogues[0], record, "not asked for")] * 3)
    text = written(recording, [], "text", script)
    assert [line.split() for line in text.split("Skipped\n")[1].splitlines()] == [
        ["part", "reason"],
        ["3", "Hello", "not", "asked", "for"],
        ["1", "connection", "of", "an", "unknown", "protocol"],
    ]
    assert json.loads(written(recording, [], "json", script))["left_out"][0] == {
        "what": "Hello",
        "why": "not asked for",
        "many": 3,
    }
    assert "not asked for" in written(recording, [], "html", script)


def test_more_findings_than_anybody_reads_are_counted() -> None:
    recording = recorded(talk(*(reading(request_id=n) for n in range(60))))
    live = recorded(talk(*(reading(request_id=n, at_tail=False) for n in range(60))))
    outcomes = compare(recording, live, PLAIN)
    text = written(recording, outcomes, "text")
    assert text.count("\ndifferent  record") == FINDINGS_SHOWN
    assert "and 10 findings more; --format ndjson has all" in text
    assert len(written(recording, outcomes, "ndjson").splitlines()) == 62


def test_colour_is_paint_only() -> None:
    recording, outcomes = story()
    painted = report_text(report_of(recording, Script(), outcomes), colour=True)
    assert "\x1b[31m" in painted
    assert re.sub(r"\x1b\[\d*m", "", painted).split() == written(recording, outcomes, "text").split()


def test_an_object_for_each_outcome() -> None:
    recording, outcomes = story()
    *lines, summary = [json.loads(line) for line in written(recording, outcomes, "ndjson").splitlines()]
    assert (summary["verdict"], summary["exchanges"], summary["judged"]) == ("summary", 5, 4)
    assert [line["verdict"] for line in lines] == ["explained", "unknown", "missing", "same", "different"]
    last = lines[-1]
    assert (last["n"], last["connection"], last["request"], last["packets"]) == (9, 0, "ReadSegment", [20, 20])
    assert last["differences"] == [
        {"message": "SegmentRead", "path": "at_tail", "recorded": True, "live": False},
        {"message": "SegmentRead", "path": "data", "recorded": b"data".hex(), "live": "78" * 500},
    ]
    assert lines[2]["differences"] == [{"message": "DataAppended", "path": "", "recorded": "DataAppended"}]
    assert lines[2]["reasons"] == []
    assert json.loads(written(recording, outcomes, "json"))["outcomes"] == lines
    assert json.loads(written(recording, outcomes, "json"))["counts"]["different"] == 1


def test_what_only_the_live_side_has_is_marked() -> None:
    one, other = recorded(talk(reading())), recorded(talk(reading(), reading(offset=7)))
    outcomes = compare(one, other, PLAIN)
    wording = Wording("wiretool diff", "A", "B")
    assert "of B\n" in written(one, outcomes, "text", wording=wording)
    last = json.loads(written(one, outcomes, "ndjson").splitlines()[-2])
    assert (last["is_live"], last["verdict"]) == (True, "extra")


def test_junit_has_a_case_for_each_exchange() -> None:
    recording, outcomes = story()
    suite = ElementTree.fromstring(written(recording, outcomes, "junit"))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "2", "2")
    failures = suite.findall("testcase/failure")
    assert failures[0].get("type") == "missing"
    assert "SegmentRead.at_tail: recorded true, live false" in (failures[1].text or "")
    last = suite.findall("testcase")[4]
    assert (last.get("classname"), last.get("name")) == ("pravega.connection 0", "record 9 ReadSegment")
    assert [each.get("message") for each in suite.findall("testcase/skipped")][1] == "unknown: not recorded"


def test_junit_has_a_case_for_each_connection_where_there_are_many_exchanges() -> None:
    many = [reading(request_id=n) for n in range(CASES_MAX)]
    recording = recorded(talk(*many), talk(setting_up(), appending()))
    live = recorded(talk(*many[:-1], reading(request_id=CASES_MAX - 1, at_tail=False)), talk(setting_up(), appending()))
    suite = ElementTree.fromstring(written(recording, compare(recording, live, PLAIN), "junit"))[0]
    assert [each.get("name") for each in suite.findall("testcase")] == [
        dialogue.name for dialogue in recording.dialogues
    ]
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == f"1 of {CASES_MAX + 1} exchanges"


class Page(HTMLParser):
    """What a browser sees: tags, and the text outside scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] not in ("script", "style"):
            self.text += data


def test_the_page_stands_by_itself_and_can_be_filtered() -> None:
    recording, outcomes = story()
    page = Page()
    page.feed(written(recording, outcomes, "html", remarks=["one remark"]))
    assert not {"src", "href"} & {name for _, attributes in page.tags for name in attributes}
    assert [attributes["data-verdict"] for tag, attributes in page.tags if tag == "tr" and "data-verdict" in attributes]
    boxes = {attributes["value"] for tag, attributes in page.tags if tag == "input"}
    assert boxes == {"same", "explained", "unknown", "missing", "different"}
    assert "2 findings" in page.text
    assert "one remark" in page.text
    assert "SegmentRead.at_tail" in page.text


@pytest.mark.parametrize("form", ["text", "ndjson", "json", "junit", "html"])
def test_text_from_the_wire_is_escaped(form: str) -> None:
    recording, outcomes = story(segment=f"scope/{EVIL}/0")
    told = written(recording, outcomes, form, remarks=[EVIL])
    assert not any(char in told for char in "\x1b\u202e\x00")
    if form == "junit":
        ElementTree.fromstring(told)
    if form == "html":
        page = Page()
        page.feed(told)
        assert [tag for tag, _ in page.tags].count("script") == 1


def test_values_are_cut_around_the_first_difference() -> None:
    one, other = beside("a" * 300 + "X" + "b" * 300, "a" * 300 + "Y" + "b" * 300)
    assert "X" in one
    assert "Y" in other
    assert one.endswith("(603 characters)")
    assert len(one) < SHOWN_MAX + 30
    assert beside(ABSENT, {"a": [1, None]}) == (ABSENT, '{"a": [1, null]}')
    assert shortened("x" * SHOWN_MAX) == "x" * SHOWN_MAX


@pytest.mark.parametrize("at", [0, 20, 41, 100, 170, 199, 200])
def test_the_place_that_differs_is_always_seen(at: int) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(200))
    assert text[min(at, 199)] in shortened(text, at)


def test_the_end_of_a_connection_is_told() -> None:
    recording = recorded(talk(reading()))
    outcome = Outcome(recording.dialogues[0], None)
    outcome.note(Verdict.DIFFERENT, "the server ended the connection")
    text = written(recording, [outcome], "text")
    assert "different  connection 0 (10.0.0.1:40000 -> 10.0.0.2:12345)\n  the server ended the connection\n" in text
    suite = ElementTree.fromstring(written(recording, [outcome], "junit"))[0]
    assert suite.findall("testcase")[0].get("name") == "the end of the connection"


def test_a_reply_beyond_those_recorded_is_told_whole() -> None:
    recording = recorded(talk(reading()))
    dialogue: Dialogue = recording.dialogues[0]
    frames = [record for record in dialogue.records if record.message in ("ReadSegment", "SegmentRead")]
    outcome = Outcome(dialogue, frames[0], [], [frames[1]])
    outcome.note(Verdict.EXTRA, differences=[Difference((), ABSENT, "SegmentRead", 0)])
    text = written(recording, [outcome], "text")
    assert "  recorded  (absent)\n  live      SegmentRead segment=" in text
