"""Every field of a frame as a tree: where it is, how long, what it says and what it means."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wiretool.codec.cursor import Span
from wiretool.codec.message import Field, Message, fields_of
from wiretool.codec.nested import Nested
from wiretool.codec.types import ListOf, WireType
from wiretool.sinks.printable import cut_to, printable
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.values import short, short_data
from wiretool.sinks.text.wrapping import wrap_line

_STEP = re.compile(r"\[\d+\]|[^.\[\]]+|.")
LABEL_MIN, LABEL_MAX = 20, 44
TYPE_MAX = 22
#: Columns of the place of a field and its length, and the least of a terminal that has room for these and the types.
AT_MAX, BYTES_MAX = 12, 7
WIDE = 100
#: Steps of a path that are shown; what is deeper stands side by side.
DEPTH_MAX = 24


@dataclass(slots=True)
class Branch:
    """A field with what is inside it; a leaf has its span."""

    name: str
    #: The names that lead here, without indices.
    path: str = ""
    span: Span | None = None
    #: The first byte of everything in it, and the byte behind the last one.
    start: int = 0
    end: int = 0
    branches: dict[str | int, "Branch"] = field(default_factory=dict)

    def inside(self, step: str) -> "Branch":
        """The branch one step further in, new if need be."""
        if step not in self.branches:
            self.branches[step] = self._new(step)
        return self.branches[step]

    def leaf(self, step: str) -> "Branch":
        """The branch for a span one step further in: a second one beside it where that has a span already."""
        branch = self.inside(step)
        if branch.span is not None:
            branch = self.branches[len(self.branches)] = self._new(step)
        return branch

    def cover(self, span: Span) -> None:
        """Know that the span is inside."""
        end = span.offset + span.length
        is_first = self.span is None and not self.branches
        self.start = span.offset if is_first else min(self.start, span.offset)
        self.end = end if is_first else max(self.end, end)

    def _new(self, step: str) -> "Branch":
        return Branch(step, self.path if step.startswith("[") else f"{self.path}.{step}".removeprefix("."))


class _Widths(NamedTuple):
    """Widths of the columns in front of the values."""

    at: int
    size: int
    label: int
    kind: int


def tree_lines(
    spans: Sequence[Span],
    message: str,
    fields: Message | Mapping[str, Any] | None,
    colour: Colour,
    columns: int = 0,
) -> Iterator[str]:
    """Yield the lines of a frame's tree, wrapped at so many columns if it is not 0."""
    root = tree_of(spans, {message, type(fields).__name__})
    rows = list(_rows(root, ""))
    widths = _widths_of(rows, columns)
    meanings = meanings_of(type(fields)) if isinstance(fields, Message) else {}
    at, size, label, kind = widths
    head = colour.dim(f"{'at':>{at}} {'bytes':>{size}}  {'field':{label}}  {'type':{kind}}  value")
    for line in (head, *(_row(prefix, branch, widths, meanings, colour) for prefix, branch in rows)):
        yield from wrap_line(line, columns, indent=sum(widths) + 7)


def _widths_of(rows: Sequence[tuple[str, Branch]], columns: int) -> _Widths:
    """Return the widths of the columns in front of the values: on a narrow terminal no more than is needed."""
    label = min(max([LABEL_MIN, *(len(prefix) + len(branch.name) for prefix, branch in rows)]), LABEL_MAX)
    if not 0 < columns < WIDE:
        return _Widths(AT_MAX, BYTES_MAX, label, TYPE_MAX)
    ends = max((len(str(branch.end)) for _, branch in rows), default=0)
    kinds = (len(printable(branch.span.type)) for _, branch in rows if branch.span is not None)
    return _Widths(max(ends, len("at")), max(ends, len("bytes")), label, min(max(kinds, default=0), TYPE_MAX))


def tree_of(spans: Sequence[Span], names: Set[str]) -> Branch:
    """Spans by their paths; one of the names that the message has, in front of its fields, is left out."""
    root = Branch("")
    for span in spans:
        here = root
        *way, last = steps_of(span.path, names)
        here.cover(span)
        for step in way:
            here = here.inside(step)
            here.cover(span)
        leaf = here.leaf(last)
        leaf.cover(span)
        leaf.span = span
    return root


def steps_of(path: str, names: Set[str]) -> list[str]:
    """`TableRead.entries[0].key` as `entries`, `[0]`, `key`."""
    steps = [step for step in _STEP.findall(printable(path)) if step != "."]
    steps = steps[1:] if len(steps) > 1 and steps[0] in names else steps or ["?"]
    return [*steps[: DEPTH_MAX - 1], "…"] if len(steps) > DEPTH_MAX else steps


def _rows(branch: Branch, prefix: str) -> Iterator[tuple[str, Branch]]:
    """Each branch with the lines in front of it; without recursion deeper than the tree."""
    todo = [(prefix, "", each) for each in reversed(branch.branches.values())]
    while todo:
        before, elbow, here = todo.pop()
        yield before + elbow, here
        below = before + {"├ ": "│ ", "└ ": "  ", "": ""}[elbow]
        inner = list(here.branches.values())
        for index, each in reversed(list(enumerate(inner))):
            todo.append((below, "└ " if index == len(inner) - 1 else "├ ", each))


def _row(prefix: str, branch: Branch, widths: _Widths, meanings: Mapping[str, str], colour: Colour) -> str:
    span = branch.span
    start, end = (branch.start, branch.end) if span is None else (span.offset, span.offset + span.length)
    label = cut_to(prefix + branch.name, widths.label)
    padding = " " * (widths.label - len(label))
    place = colour.dim(f"{start:>{widths.at}} {end - start:>{widths.size}}")
    if span is None:
        return f"{place}  {label}"
    kind = cut_to(printable(span.type), TYPE_MAX)
    meaning = meanings.get(branch.path, "")
    said = f"  {colour.dim(meaning)}" if meaning else ""
    return f"{place}  {label}{padding}  {colour.dim(kind.ljust(widths.kind))}  {value_of(span)}{said}"


def value_of(span: Span) -> str:
    """The value of a span in short."""
    return short_data(span.value) if isinstance(span.value, bytes) else short(span.value)


def meanings_of(cls: type[Message], before: str = "") -> dict[str, str]:
    """What the declaration says of each field, by its path: its unit and its sentence."""
    out: dict[str, str] = {}
    for each in fields_of(cls):
        path = f"{before}{each.name}"
        out[path] = meaning_of(each)
        inner = _inside(each.wire)
        if inner is not None and path.count(".") < 8:
            out |= meanings_of(inner, f"{path}.")
    return {path: meaning for path, meaning in out.items() if meaning}


def _inside(wire: WireType) -> type[Message] | None:
    while isinstance(wire, ListOf):
        wire = wire.element
    return wire.cls if isinstance(wire, Nested) else None


def meaning_of(each: Field) -> str:
    """A field's unit and sentence."""
    return " · ".join(part for part in (each.unit, each.doc) if part)
