"""The mark `@pytest.mark.wiretool`: fault rules and options for the servers of a test."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from wiretool.codec.jsonform import nearest
from wiretool.errors import UsageError
from wiretool.expectations import json_problem

if TYPE_CHECKING:
    from wiretool.commands.serve.options import MockArguments
    from wiretool.faults import Rule

#: The arguments of the mark.
ARGUMENTS = ("fault", "options", "process")


@dataclass(slots=True)
class ServerSettings:
    """The settings of one server, from all marks of a test."""

    rules: "list[Rule]" = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    #: Whether it has a process of its own; None where no mark decides.
    process: bool | None = None


def settings_from(
    marks: Iterable[tuple[tuple[Any, ...], Mapping[str, Any]]], protocol: str, protocols: Iterable[str]
) -> ServerSettings:
    """Return the settings for a protocol: fault rules of all marks, each option from the first mark that has it.

    A mark is its positional and its named arguments. `protocols` are those at the endpoints of the server. UsageError
    for a mark that makes no sense.
    """
    found, known = ServerSettings(), list(protocols)
    for names, arguments in marks:
        check_mark(names, arguments)
        if names and protocol not in names:
            continue
        found.rules += rules_from(arguments.get("fault", ()), known)
        found.options = {**arguments.get("options", {}), **found.options}
        if found.process is None:
            found.process = arguments.get("process")
    return found


def check_mark(names: tuple[Any, ...], arguments: Mapping[str, Any]) -> None:
    """UsageError for an unknown protocol or argument, or a value of the wrong type."""
    from wiretool.protocols.base.registry import protocol_named
    from wiretool.server.part import required_part

    for name in names:
        required_part(protocol_named(str(name)).name)
    for name, value in arguments.items():
        if name not in ARGUMENTS:
            raise UsageError(f"{name}: no such argument{nearest(name, ARGUMENTS)}; expected {', '.join(ARGUMENTS)}")
        if name == "options" and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
            raise UsageError(f'options={value!r}: not a mapping; expected options of serve, such as {{"seed": 7}}')
        if name == "process" and not isinstance(value, bool):
            raise UsageError(f"process={value!r}: expected True or False")


def rules_from(given: object, protocols: list[str]) -> "list[Rule]":
    """Parse one fault rule or a sequence of them. UsageError for a bad one."""
    from wiretool.faults import parse_rule

    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"fault={given!r}: expected a rule, or a list of rules")
    return [parse_rule(text, protocols=protocols, origin="fault") for text in texts]


def arguments_from(options: Mapping[str, Any]) -> "MockArguments":
    """Return options of `wiretool serve` from a mapping, in which names have underscores.

    Numbers may stand for their texts, as in `rate=200`. UsageError for an unknown option or a value of the wrong type.
    """
    from wiretool.commands.serve.options import MockArguments

    types = get_type_hints(MockArguments)
    for name in options:
        if name not in types:
            raise UsageError(f"options: no option {name!r}{nearest(name, types)}; expected {', '.join(types)}")
    values: dict[str, Any] = {name: _value_of(name, value, types[name]) for name, value in options.items()}
    return MockArguments(**values)


def _value_of(name: str, value: object, kind: Any) -> object:
    """Return a value as its option has it. UsageError where it is of another type."""
    import msgspec

    if kind is str and type(value) in (int, float):
        return str(value)
    if kind == Path | None and isinstance(value, str):
        return Path(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as err:
        raise UsageError(f"options: {name}={value!r}: {json_problem(err)}") from err
