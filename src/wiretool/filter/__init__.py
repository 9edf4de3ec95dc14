"""The filter language: `message == "SegmentRead" and fields.offset >= 100`."""

from wiretool.errors import UsageError
from wiretool.filter.fields import names_for as names_for
from wiretool.filter.history import Getter
from wiretool.filter.history import History as History
from wiretool.filter.judge import Judge, judge_of
from wiretool.filter.names import Names as Names
from wiretool.filter.names import known
from wiretool.filter.syntax import Path, Truth, parse
from wiretool.filter.values import getter
from wiretool.records import Record


class Selection:
    """Which records are wanted: all that the expression says yes to, of one connection or of any.

    Ask it about every record in order, for `time` counts from the first.
    """

    def __init__(self, names: Names, history: History, *, expression: str = "", connection: int | None = None) -> None:
        self._history = history
        self._connection = connection
        self._judge: Judge | None = None
        #: Records that it was shown.
        self.seen = 0
        if expression:
            try:
                self._judge = judge_of(parse(expression), names, history)
            except UsageError as err:
                raise UsageError(f"where {expression!r}: {err}") from err

    def __call__(self, record: Record) -> bool:
        """Remember a record and return whether it is selected."""
        self.seen += 1
        self._history.note(record)
        return self.matches(record)

    def matches(self, record: Record) -> bool:
        """Return whether a record is selected; the history knows it already."""
        if self._connection is not None and record.connection != self._connection:
            return False
        return self._judge is None or self._judge(record)


def columns_of(paths: str, names: Names, history: History) -> list[tuple[str, Getter]] | None:
    """For each of the paths, which commas part, its getter; None for no paths. UsageError for one no record has."""
    parts = [part.strip() for part in paths.split(",")]
    return [(part, _getter(part, names, history)) for part in parts] if paths else None


def _getter(text: str, names: Names, history: History) -> Getter:
    try:
        node = parse(text)
        if not isinstance(node, Truth) or not isinstance(node.operand, Path):
            raise UsageError("not a field")
        known(names, node.operand.steps, node.operand.at)
    except UsageError as err:
        raise UsageError(f"field {text!r}: {err}") from err
    return getter(node.operand.steps, history)
