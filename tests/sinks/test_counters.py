import io

from rich.console import Console

from wiretool.sinks.text.counters import NAMES_MAX, Counters, Snapshot, drawn

S = 1_000_000_000


def text_of(last: Snapshot, now: Snapshot) -> list[list[str]]:
    """What is drawn, as words."""
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as capture:
        console.print(drawn(last, now))
    return [line.split() for line in capture.get().splitlines()]


def test_counts_and_rates_since_the_last_look() -> None:
    last = Snapshot(0, 1, 1, 100, 0, {"client": {"Hello": 1}, "server": {}})
    now = Snapshot(2 * S, 2, 1_003, 2_100, 50, {"client": {"Hello": 3}, "server": {"Hello": 2}})
    assert text_of(last, now) == [
        ["connections", "2", "open,", "1,003", "so", "far"],
        ["received", "2,100", "B", "1,000", "B/s"],
        ["sent", "50", "B", "25", "B/s"],
        ["client", "Hello", "3", "1/s"],
        ["server", "Hello", "2", "1/s"],
    ]


def test_the_most_frequent_messages_are_shown() -> None:
    counts = {f"Message{n}": n for n in range(20)}
    now = Snapshot(S, 0, 0, 0, 0, {"client": counts})
    names = [words[1] for words in text_of(Snapshot(0, 0, 0, 0, 0), now)[3:]]
    assert names == [f"Message{19 - n}" for n in range(NAMES_MAX)]


def test_two_looks_at_one_time_divide_by_nothing() -> None:
    same = Snapshot(5, 0, 0, 0, 0)
    assert text_of(same, same)[1] == ["received", "0", "B", "0", "B/s"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_log_lines_stand_above_and_are_made_harmless() -> None:
    file = Terminal()
    with Counters(lambda: Snapshot(0, 0, 7, 0, 0), file) as counters:
        counters.look()
        counters.tell("closed: \x1b[31mred [bold]x[/bold]")
        counters.look()
    shown = file.getvalue()
    assert "wiretool: closed: \\x1b[31mred [bold]x[/bold]" in shown
    assert "7 so far" in shown
