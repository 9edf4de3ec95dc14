"""Steps of one session that act on the objects of another: its segments, streams, writers, by their declared roles."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import msgspec

from wiretool.codec.message import Issued, Named
from wiretool.errors import EncodeError
from wiretool.faults.actions import Change
from wiretool.faults.adapter import FaultAdapter, Form, Kind
from wiretool.faults.places import Pattern, values_at
from wiretool.fuzz.seeds.building import issued_values
from wiretool.fuzz.sequences.json import record_of
from wiretool.fuzz.sequences.rewriting import Rewriter, form_of
from wiretool.fuzz.sequences.sequence import IssuedValue, Sending, SetField, Step
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

#: A kind of object, and the value that names it: a text, or a number of the server.
Object = tuple[str, str | int]
#: Messages whose objects are kept.
KEPT_MAX = 8192


class Renamer:
    """The names of objects in the messages of clients, found by their roles and replaced."""

    def __init__(self, protocol: Protocol, adapter: FaultAdapter, rewriter: Rewriter) -> None:
        self._protocol = protocol
        self._adapter = adapter
        self._rewriter = rewriter
        #: Whether the bytes of a message are those of its fields alone.
        self._is_plain: dict[tuple[str, bytes], bool] = {}
        self._found: dict[tuple[str, bytes], list[tuple[tuple[str | int, ...], Object]]] = {}

    def objects(self, steps: Iterable[Step]) -> dict[str, list[str | int]]:
        """Return the objects that messages name, by kind, those that are named most often first."""
        found: dict[str, Counter[str | int]] = {}
        for step in steps:
            if isinstance(step, Sending):
                for _, (kind, value) in self._names(step):
                    found.setdefault(kind, Counter())[value] += 1
        return {kind: [value for value, _ in counts.most_common()] for kind, counts in found.items()}

    def onto(self, steps: Sequence[Step], others: Sequence[Step]) -> list[Step]:
        """Return steps that act on the objects of other steps; objects beyond their number stay."""
        known = self.objects(others)
        names = {
            (kind, value): name
            for kind, values in self.objects(steps).items()
            for value, name in zip(values, known.get(kind, ()), strict=False)
        }
        return self.renamed(steps, names)

    def renamed(self, steps: Sequence[Step], names: Mapping[Object, str | int]) -> list[Step]:
        """Return the steps with other objects; a message that has no bytes then stays as it is."""
        return [self._renamed(step, names) if isinstance(step, Sending) else step for step in steps]

    def _renamed(self, step: Sending, names: Mapping[Object, str | int]) -> Sending:
        record = step.record
        edits = [
            SetField(steps, names[each]) for steps, each in self._names(step) if names.get(each, each[1]) != each[1]
        ]
        if record is None or not edits:
            return step
        try:
            raw = self._rewriter.encode(record, edits, self._protocol.open(True))
            made = record_of(record.message, raw, record.fields, self._protocol)
            if made.fields is record.fields:  # what it means depends on earlier messages
                form = form_of(self._adapter, record)
                if not self._is_of_fields(record, form):
                    return step
                changed = self._adapter.changed(form, [Change(edit.steps, edit.value) for edit in edits])
                made = msgspec.structs.replace(made, fields=changed)
            data = self._rewriter.encode(made, step.edits, self._protocol.open(True))
        except EncodeError:
            return step
        own = tuple(issued_values(self._adapter, made, None))
        issued = {**_rescoped(step.issued, names), "": own}
        return replace(step, data=data, record=made, issued=issued, depends=bool(own))

    def _is_of_fields(self, record: Record, form: Form) -> bool:
        """Return whether the bytes of a message are those of its fields alone. EncodeError for fields without bytes."""
        key = record.message, record.raw
        found = self._is_plain.get(key)
        if found is None:
            if len(self._is_plain) >= KEPT_MAX:
                self._is_plain.clear()
            made = self._rewriter.encode(record, (), self._protocol.open(True), form)
            found = self._is_plain[key] = made == record.raw
        return found

    def _names(self, step: Sending) -> list[tuple[tuple[str | int, ...], Object]]:
        record = step.record
        if record is None:
            return []
        key = record.message, record.raw
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= KEPT_MAX:
                self._found.clear()
            patterns = _name_patterns(self._adapter, (record.side, record.message))
            form = form_of(self._adapter, record) if patterns else None
            found = self._found[key] = [
                (steps, (role.kind, value))
                for pattern, role in patterns
                for steps, value in values_at(form, pattern)
                if type(value) in (str, int) and not (isinstance(role, Issued) and value in role.besides)
            ]
        return found


def _rescoped(
    issued: Mapping[str, tuple[IssuedValue, ...]], names: Mapping[Object, str | int]
) -> dict[str, tuple[IssuedValue, ...]]:
    """Return the values that servers issue for objects with other names, by the name of the reply."""
    scopes = {value: name for (_, value), name in names.items()}

    def rescoped(value: IssuedValue) -> IssuedValue:
        is_renamed = isinstance(value.scope, str) and value.scope in scopes
        return value._replace(scope=scopes[value.scope]) if is_renamed else value

    return {reply: tuple(map(rescoped, values)) for reply, values in issued.items()}


@cache
def _name_patterns(adapter: FaultAdapter, kind: Kind) -> Sequence[tuple[Pattern, Issued | Named]]:
    return [(pattern, role) for pattern, role in adapter.role_places(kind) if isinstance(role, Issued | Named)]
