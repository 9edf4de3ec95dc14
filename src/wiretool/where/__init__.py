"""The filter language: `message == "SegmentRead" and fields.offset >= 100`."""

from wiretool.errors import UsageError
from wiretool.records import Record
from wiretool.where.fields import names_for as names_for
from wiretool.where.judge import Judge, judge_of
from wiretool.where.names import Names as Names
from wiretool.where.names import known
from wiretool.where.syntax import Path, Truth, parse
from wiretool.where.values import Clock as Clock
from wiretool.where.values import Getter, getter


class Selection:
    """Which records are wanted: all that the expression says yes to, of one connection or of any.

    Ask it about every record in order, for `time` counts from the first.
    """

    def __init__(self, names: Names, clock: Clock, *, expression: str = "", connection: int | None = None) -> None:
        self._clock = clock
        self._connection = connection
        self._judge: Judge | None = None
        if expression:
            try:
                self._judge = judge_of(parse(expression), names, clock)
            except UsageError as err:
                raise UsageError(f"where {expression!r}: {err}") from err

    def __call__(self, record: Record) -> bool:
        self._clock.since_first_ns(record)
        if self._connection is not None and record.connection != self._connection:
            return False
        return self._judge is None or self._judge(record)


def columns_of(paths: str, names: Names, clock: Clock) -> list[tuple[str, Getter]] | None:
    """For each of the paths, which commas part, its getter; None for no paths. UsageError for one no record has."""
    parts = [part.strip() for part in paths.split(",")]
    return [(part, _getter(part, names, clock)) for part in parts] if paths else None


def _getter(text: str, names: Names, clock: Clock) -> Getter:
    try:
        node = parse(text)
        if not isinstance(node, Truth) or not isinstance(node.operand, Path):
            raise UsageError("that is no field")
        known(names, node.operand.steps, node.operand.at)
    except UsageError as err:
        raise UsageError(f"field {text!r}: {err}") from err
    return getter(node.operand.steps, clock)
