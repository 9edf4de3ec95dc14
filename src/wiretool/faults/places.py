"""Where the fields of a message are, by its declaration, and how a value is put into its JSON form."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from wiretool.codec.flatbuffers.declaration import BytesSlot, Scalar, ScalarsSlot, TableSlot, TablesSlot, UnionSlot
from wiretool.codec.json_types import JsonInt, JsonList, JsonMap, JsonValue
from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message, Named, Role, fields_of
from wiretool.codec.types import Int, ListOf, Uuid, WireType
from wiretool.errors import EncodeError
from wiretool.filter.names import DEPTH_MAX, spelt

Step = str | int
#: Steps to a place; None stands for every element of a list, or every member of an object.
Pattern = tuple[Step | None, ...]
_OFFSET = re.compile(r"(?:^|_)offsets?(?:_ack_level)?$")
#: What ties a reply to its request; in HTTP/2 that is a stream.
_REQUEST_ID = re.compile(r"(?:^|_)request_id$|^correlationId$|^stream_id$")
_EPOCH = re.compile(r"(?:^|_)epoch$")


def check_place(cls: type[Message], steps: Sequence[Step], value: Any) -> None:
    """EncodeError where messages of `cls` have no such field, or one that never has that value."""
    _check(cls, steps, value, cls.declaration.name if hasattr(cls, "declaration") else cls.__name__)


def _check(cls: type[Message], steps: Sequence[Step], value: Any, path: str) -> None:
    wires = {field.name: field.wire for field in fields_of(cls)}
    name, rest = steps[0], steps[1:]
    if name not in wires:
        raise EncodeError(f"has no field {spelt(steps[:1])!r}{nearest(str(name), wires)}", path=path)
    _check_in(wires[str(name)], rest, value, f"{path}.{name}")


def _check_in(wire: WireType, steps: Sequence[Step], value: Any, path: str) -> None:
    """The same, from a value of this wire type on."""
    if not steps:
        wire.from_json(value, path)
    elif isinstance(wire, UnionSlot | JsonValue | BytesSlot):
        return
    elif isinstance(wire, JsonMap):
        if len(steps) == 1:
            wire.from_json({str(steps[0]): value}, path)
    elif (cls := wire.structure) is not None:
        if isinstance(steps[0], int):
            raise EncodeError("is not a list", path=path)
        _check(cls, steps, value, path)
    elif (element := _element(wire)) is not None:
        if not isinstance(steps[0], int):
            raise EncodeError("is a list: [0] is its first element", path=path)
        _check_in(element, steps[1:], value, f"{path}[{steps[0]}]")
    else:
        raise EncodeError(f"has no {spelt(steps)!r} in it", path=path)


def _element(wire: WireType) -> WireType | None:
    if isinstance(wire, TablesSlot):
        return TableSlot(wire.cls)
    return wire.element if isinstance(wire, ListOf | JsonList | ScalarsSlot) else None


# -- the places of one meaning -----------------------------------------------------------------------------------------


def offsets_in(cls: type[Message], *, also: Collection[str] = ()) -> Iterator[Pattern]:
    """Every place of an offset in messages of `cls`: by its name, which may be one of `also`."""
    for steps, wire, _ in _places(cls):
        name = _last_name(steps)
        if _is_number(wire) and (_OFFSET.search(name) or name in also):
            yield steps


def epochs_in(cls: type[Message]) -> Iterator[Pattern]:
    """Every place of an epoch in messages of `cls`, by name."""
    return (steps for steps, wire, _ in _places(cls) if _is_number(wire) and _EPOCH.search(_last_name(steps)))


def client_ids_in(cls: type[Message]) -> Iterator[Pattern]:
    """Every place in messages of `cls` of an id that a client makes up: a UUID, or by name that of a request."""
    for steps, wire, role in _places(cls):
        is_its_own = role is None or isinstance(role, Named)
        if is_its_own and (isinstance(wire, Uuid) or _REQUEST_ID.search(_last_name(steps))):
            yield steps


def roles_in(cls: type[Message]) -> Iterator[tuple[Pattern, Role]]:
    """Every place in messages of `cls` whose field is declared to have a role, and the role."""
    return ((steps, role) for steps, _, role in _places(cls) if role is not None)


def _is_number(wire: WireType) -> bool:
    return isinstance(wire, Int | JsonInt | Scalar) or _is_number_map(wire)


def _is_number_map(wire: WireType) -> bool:
    return isinstance(wire, JsonMap) and wire.has_numbers


def _last_name(steps: Pattern) -> str:
    return next((step for step in reversed(steps) if isinstance(step, str)), "")


#: Where, what stands there, and what it is to the conversation.
Found = tuple[Pattern, WireType, Role | None]


def _places(cls: type[Message], before: Pattern = (), above: Role | None = None) -> Iterator[Found]:
    if len(before) > DEPTH_MAX:
        return
    for field in fields_of(cls):
        yield from _places_in(field.wire, (*before, field.name), field.role or above)


def _places_in(wire: WireType, steps: Pattern, role: Role | None) -> Iterator[Found]:
    if (cls := wire.structure) is not None:
        yield from _places(cls, steps, role)
    elif (element := _element(wire)) is not None:
        yield from _places_in(element, (*steps, None), role)
    else:
        yield ((*steps, None) if _is_number_map(wire) else steps), wire, role


# -- in a JSON form ----------------------------------------------------------------------------------------------------


def with_value(form: Any, steps: Sequence[Step], value: Any, done: Sequence[Step] = ()) -> Any:
    """The form with that value at that place, copied on the way; EncodeError where the place is not in it.

    A structure that is absent is begun.
    """
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if not isinstance(form, list | tuple) or step >= len(form):
            count = f"{len(form)} elements" if isinstance(form, list | tuple) else "no elements"
            raise EncodeError(f"has {count}", path=spelt(done))
        copy = list(form)
        copy[step] = with_value(copy[step], rest, value, (*done, step))
        return copy
    if form is None:
        form = {}
    if not isinstance(form, Mapping):
        raise EncodeError("is not a structure", path=spelt(done))
    return {**form, step: with_value(form.get(step), rest, value, (*done, step))}


def changed_at(form: Any, pattern: Pattern, change: Callable[[Any], Any]) -> Any:
    """The form with `change` made of every value that the pattern leads to; the same object where nothing changed."""
    if not pattern:
        return change(form)
    step, rest = pattern[0], pattern[1:]
    if isinstance(form, Mapping):
        names = form if step is None else [step] if step in form else []
        made = {name: changed_at(form[name], rest, change) for name in names}
        return {**form, **made} if any(made[name] is not form[name] for name in made) else form
    if isinstance(form, list | tuple) and step is None:
        elements = [changed_at(each, rest, change) for each in form]
        return elements if any(new is not old for new, old in zip(elements, form, strict=True)) else form
    return form


def values_at(form: Any, pattern: Pattern, done: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Every value that the pattern leads to, with the steps to it; nothing where the form has no such place."""
    if not pattern:
        yield done, form
        return
    step, rest = pattern[0], pattern[1:]
    if type(form) is dict or isinstance(form, Mapping):
        for name in form if step is None else [step] if step in form else []:
            yield from values_at(form[name], rest, (*done, name))
    elif isinstance(form, (list, tuple)):
        for at, each in enumerate(form):
            if step is None or step == at:
                yield from values_at(each, rest, (*done, at))
