"""The first role of a fault adapter: whether a rule can be applied, before a frame is seen."""

from collections.abc import Mapping, Sequence

from wiretool.codec.json_types import JsonName
from wiretool.codec.jsonform import nearest
from wiretool.codec.message import REQUIRED, Role, fields_of
from wiretool.codec.types import WireType
from wiretool.errors import EncodeError
from wiretool.faults.actions import Action, Answer, Change, Keep, Set, Stale, WrongChecksum, WrongLength
from wiretool.faults.adapter.messages import Kind, Messages
from wiretool.faults.places import (
    Pattern,
    check_place,
    client_ids_in,
    epochs_in,
    offsets_in,
    roles_in,
)


class Checking(Messages):
    """Rules checked against the declarations. EncodeError for what cannot be done."""

    def check(self, action: Action, kind: Kind) -> None:
        """EncodeError where the action can never be done to such a message."""
        if isinstance(action, Set):
            for change in action.changes:
                self.check_change(kind, change)
        elif isinstance(action, Answer):
            self.check_answer(action, kind)
        elif isinstance(action, Stale) and not self.stale_places(kind, action.what):
            raise EncodeError(f"has no {action.what}", path=kind[1])
        elif isinstance(action, Keep) and (kind[0] != "client" or kind[1] not in self.appends):
            known = (
                f"{', '.join(sorted(self.appends))} can be"
                if self.appends
                else f"nothing of {self.protocol.name} can be"
            )
            raise EncodeError(f"is not kept by the server: {known}", path=kind[1])
        elif isinstance(action, WrongLength):
            self.check_length(kind)
        elif isinstance(action, WrongChecksum) and not self.has_checksum:
            raise EncodeError(f"frames of {self.protocol.name} have no checksum")

    def check_change(self, kind: Kind, change: Change) -> None:
        """EncodeError where such a message has no such field, or the value does not fit it."""
        check_place(self._class_of(kind), change.steps, change.value)

    def check_length(self, kind: Kind) -> None:
        """EncodeError where the frames of such a message do not say how long they are."""
        if self.length is None:
            raise EncodeError(f"frames of {self.protocol.name} have no length")

    def check_answer(self, action: Answer, kind: Kind) -> None:
        """EncodeError where the server never says that, or cannot to this."""
        names = [name for side, name in self.declared if side == "server"]
        if action.message not in names:
            raise EncodeError(
                f"the server of {self.protocol.name} sends no {action.message}{nearest(action.message, names)}"
            )
        for change in action.changes:
            self.check_change(("server", action.message), change)
        given = {change.steps[0] for change in action.changes}
        source = self._wires(kind)
        for field in fields_of(self._class_of(("server", action.message))):
            if (
                field.default is REQUIRED
                and field.name not in given
                and not self._source(field.name, field.wire, source)
            ):
                raise EncodeError(
                    f"is missing: {kind[1]} has nothing to fill it with", path=f"{action.message}.{field.name}"
                )

    def stale_places(self, kind: Kind, what: str) -> Sequence[Pattern]:
        """Where in such a message epochs or offsets are."""
        cls = self.declared.get(kind)
        if cls is None:
            return ()
        return tuple(epochs_in(cls) if what == "epoch" else offsets_in(cls))

    def client_ids(self, kind: Kind) -> Sequence[Pattern]:
        """Where in such a message ids are that clients make up, of requests say."""
        cls = self.declared.get(kind)
        return () if cls is None else tuple(client_ids_in(cls))

    def role_places(self, kind: Kind) -> Sequence[tuple[Pattern, Role]]:
        """Return the places in the form of such a message whose fields are declared to have a role, with the role."""
        cls = self.declared.get(kind)
        return () if cls is None else tuple(roles_in(cls))

    def _wires(self, kind: Kind) -> Mapping[str, WireType]:
        cls = self.declared.get(kind)
        return {field.name: field.wire for field in fields_of(cls)} if cls is not None else {}

    def _source(self, name: str, wire: WireType, source: Mapping[str, WireType]) -> str:
        """The field that fills `name`; empty where there is none."""
        if isinstance(wire, JsonName):
            return ""
        for known in (name, *self.synonyms.get(name, ())):
            if known in source and source[known].name == wire.name:
                return known
        return ""
