"""Faults in the Streaming Batch Protocol: a frame is an operation, and its header a table."""

import random
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Role, Side, fields_of
from wiretool.errors import EncodeError
from wiretool.faults.actions import Answer, Change
from wiretool.faults.adapter import FaultAdapter, Form, Kind, LengthField
from wiretool.faults.places import Pattern, check_place, epochs_in, offsets_in, roles_in
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.sbp.forms import frame_from_json
from wiretool.protocols.sbp.framing import FIXED_BYTES, HEADER_LENGTH_AT, LENGTH_BYTES, encode_frame
from wiretool.protocols.sbp.messages import CHECKSUM_BYTES, SbpFrame, Schema, operations_of
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import SbpConversation
from wiretool.records import Record

#: What of a frame's JSON form may be set; all else follows from it.
_SETTABLE = ("flags", "stream_id", "header_format", "header", "payload", "checksum")
_CHECKSUM = re.compile(r"[0-9a-fA-F]{8}", re.ASCII)
#: The offsets of a range.
_OFFSETS = frozenset({"start", "end"})


class SbpFaultAdapter(FaultAdapter):
    """One of the two versions, with the schemas that may be spoken."""

    length = LengthField(0, LENGTH_BYTES)
    has_checksum = True

    def __init__(self, protocol: Protocol, schemas: Sequence[Schema]) -> None:
        super().__init__(protocol)
        self.schemas = schemas
        self._wires_of_frame = {field.name: field.wire for field in fields_of(SbpFrame)}
        names = {operation.name for schema in schemas for operation in operations_of(schema).values()}
        every: set[Kind] = {("client", name) for name in names} | {("server", name) for name in names}
        self.kinds = frozenset(every | {("client", "Unknown"), ("server", "Unknown")})

    # -- when a rule is read -----------------------------------------------------------------------------------------

    def check_change(self, kind: Kind, change: Change) -> None:
        first, rest = change.steps[0], change.steps[1:]
        if first == "header" and rest:
            self._check_header(kind, change)
        elif first == "checksum" and not rest:
            if not isinstance(change.value, str) or not _CHECKSUM.fullmatch(change.value):
                raise EncodeError(f"expected 8 hex digits, got {change.value!r}", path=f"{kind[1]}.checksum")
        elif first in ("header", "payload"):
            self._try(kind, {str(first): change.value} if not rest else {})
        elif first not in _SETTABLE or rest:
            raise EncodeError(self._no_field(change), path=kind[1])
        else:
            self._wires_of_frame[str(first)].from_json(change.value, f"{kind[1]}.{first}")

    def _no_field(self, change: Change) -> str:
        name = str(change.steps[0])
        if name in _SETTABLE:
            return f"has nothing in {name}"
        header = any(name in cls.__struct_fields__ for schema in self.schemas for cls in schema.tables)
        hint = f" (did you mean header.fields.{name}?)" if header else nearest(name, _SETTABLE)
        return f"has no field {name!r} that can be set{hint}"

    def _check_header(self, kind: Kind, change: Change) -> None:
        if change.steps[1] == "raw_hex" and len(change.steps) == 2:
            return self._try(kind, {"header": {"raw_hex": change.value}})
        if change.steps[1] != "fields" or len(change.steps) < 3:
            raise EncodeError("has fields, by header.fields.NAME, or raw_hex", path=f"{kind[1]}.header")
        tables = self.tables(kind)
        if not tables:
            raise EncodeError("has a header of no known fields", path=kind[1])
        errors: list[EncodeError] = []
        for table in tables:
            try:
                return check_place(table, change.steps[2:], change.value)
            except EncodeError as err:
                errors.append(err)
        raise errors[0]

    def tables(self, kind: Kind) -> list[type[Table]]:
        """What the header of such a frame may be."""
        side, name = kind
        found: list[type[Table]] = []
        for schema in self.schemas:
            for operation in operations_of(schema).values():
                table = operation.request if side == "client" else operation.response
                if operation.name == name and table is not None:
                    found.append(table)
            if side == "server" and schema.system_error is not None:
                found.append(schema.system_error)
        return found

    def _try(self, kind: Kind, form: Form) -> None:
        """EncodeError where no schema makes a frame of it."""
        errors: list[EncodeError] = []
        for schema in self.schemas:
            try:
                encode_frame(frame_from_json(schema, kind[1], kind[0], dict(form)), kind[0])
                return
            except EncodeError as err:
                errors.append(err)
        raise errors[0]

    def check_answer(self, action: Answer, kind: Kind) -> None:
        names = {name for side, name in self.kinds if side == "server"}
        if action.message not in names - {"Unknown"}:
            raise EncodeError(f"{self.protocol.name} has no operation {action.message}{nearest(action.message, names)}")
        for change in action.changes:
            self.check_change(("server", action.message), change)
        self._try(("server", action.message), self.changed({"stream_id": 0}, action.changes))

    def stale_places(self, kind: Kind, what: str) -> Sequence[Pattern]:
        places: dict[Pattern, None] = {}
        for table in self.tables(kind):
            found = epochs_in(table) if what == "epoch" else offsets_in(table, also=_OFFSETS)
            places.update({("header", "fields", *steps): None for steps in found})
        return tuple(places)

    def client_ids(self, kind: Kind) -> Sequence[Pattern]:
        return (("stream_id",),)

    def role_places(self, kind: Kind) -> Sequence[tuple[Pattern, Role]]:
        found: dict[tuple[Pattern, Role], None] = {}
        for table in self.tables(kind):
            found |= {(("header", "fields", *steps), role): None for steps, role in roles_in(table)}
        for schema in self.schemas:
            inside = ("payload", schema.batches_key, None)
            found |= {((*inside, *steps), role): None for steps, role in roles_in(schema.batch)}
        return tuple(found)

    # -- when a frame is there -----------------------------------------------------------------------------------------

    def form(self, record: Record) -> Form:
        fields = record.fields
        assert isinstance(fields, Mapping), "a frame of this protocol is read to its JSON form"
        return {name: fields[name] for name in ("opcode", *_SETTABLE) if name in fields}

    def changed(self, form: Form, changes: Sequence[Change]) -> Form:
        made = dict(super().changed(form, changes))
        header = made.get("header")
        if isinstance(header, dict) and header.keys() >= {"raw_hex", "fields"}:
            raise EncodeError("cannot be read, so nothing in it can be set", path="header")
        places = {change.steps[0] for change in changes}
        if "payload" in places:
            self._renew_payload(made, changes)
            if "checksum" not in places:
                made.pop("checksum", None)
        return made

    @staticmethod
    def _renew_payload(form: dict[str, Any], changes: Sequence[Change]) -> None:
        """The batches were changed: the bytes beside them are no longer theirs."""
        inside = {change.steps[1] for change in changes if change.steps[0] == "payload" and len(change.steps) > 1}
        payload = form["payload"]
        if inside and "hex" not in inside and isinstance(payload, dict):
            payload.pop("hex", None)

    def frame(self, record: Record, form: Form, first: bytes, conversation: Conversation, rng: random.Random) -> bytes:
        return self._encoded(record.message, form, conversation, record.side)

    def answer(self, action: Answer, record: Record, conversation: Conversation) -> bytes:
        taken = {"stream_id": self.form(record).get("stream_id", 0)}
        return self._encoded(action.message, self.changed(taken, action.changes), conversation, "server")

    def _encoded(self, name: str, form: Form, conversation: Conversation, side: Side) -> bytes:
        assert isinstance(conversation, SbpConversation)
        return encode_frame(frame_from_json(conversation.schema, name, side, dict(form)), side)

    def with_wrong_checksum(self, frame: bytes) -> bytes:
        checksum = int.from_bytes(frame[-CHECKSUM_BYTES:], "big") ^ 0xFFFF_FFFF
        return frame[:-CHECKSUM_BYTES] + checksum.to_bytes(CHECKSUM_BYTES, "big")

    def with_right_checksum(self, frame: bytes) -> bytes:
        payload_at = FIXED_BYTES + int.from_bytes(frame[HEADER_LENGTH_AT:FIXED_BYTES], "big")
        if payload_at > len(frame) - CHECKSUM_BYTES:
            return frame
        checksum = zlib.crc32(frame[payload_at:-CHECKSUM_BYTES])
        return frame[:-CHECKSUM_BYTES] + checksum.to_bytes(CHECKSUM_BYTES, "big")


def latest_fault_adapter(protocol: Protocol) -> SbpFaultAdapter:
    """The dialect of the newest schema."""
    return SbpFaultAdapter(protocol, (LATEST,))
