import pytest

from tests.helpers.records import Paper, a_record
from wiretool.errors import UsageError
from wiretool.sinks.choose import is_coloured, sink_for
from wiretool.sinks.csv import CsvSink
from wiretool.sinks.ndjson import JsonSink, NdjsonSink
from wiretool.sinks.pump import pump
from wiretool.sinks.sink import Sink
from wiretool.sinks.text import TextSink


@pytest.mark.parametrize(
    ("form", "kind"), [("text", TextSink), ("json", JsonSink), ("ndjson", NdjsonSink), ("csv", CsvSink)]
)
def test_every_form_has_its_sink(form: str, kind: type[Sink]) -> None:
    assert type(sink_for(form, Paper(), columns=None, annotate=lambda record: [])) is kind


def test_trees_and_dumps_are_for_people() -> None:
    for options in ({"tree": True}, {"dump": True}):
        with pytest.raises(UsageError, match="-v and -x: not allowed with --format csv, which has every field"):
            sink_for("csv", Paper(), columns=None, annotate=lambda record: [], **options)


def test_colour_follows_the_terminal_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    paper, screen = Paper(), Paper()
    screen.is_terminal = True
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert (is_coloured(paper), is_coloured(screen)) == (False, True)
    monkeypatch.setenv("TERM", "dumb")
    assert not is_coloured(screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert is_coloured(paper)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_coloured(screen)


class Heard(Sink):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def begin(self) -> None:
        self.heard.append("begin")

    def write(self, record: object) -> None:
        self.heard.append("write")

    def skip(self, record: object) -> None:
        self.heard.append("skip")

    def end(self) -> None:
        self.heard.append("end")


def test_the_pump_writes_what_is_kept_up_to_the_count() -> None:
    sink = Heard()
    records = (a_record(n=n) for n in range(1, 100))
    assert pump(records, sink, keep=lambda record: record.n % 2 == 0, count=2) == 2
    assert sink.heard == ["begin", "skip", "write", "skip", "write", "end"]
    assert next(records).n == 5


def test_the_sink_is_ended_whatever_happens() -> None:
    sink = Heard()
    with pytest.raises(ZeroDivisionError):
        pump((a_record(n=1 // n) for n in (1, 0)), sink, keep=lambda record: True)
    assert sink.heard == ["begin", "write", "end"]
