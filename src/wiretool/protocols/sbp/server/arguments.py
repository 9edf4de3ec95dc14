"""The arguments of operations that are done to a mock from outside its protocol."""

from collections.abc import Mapping
from typing import Any

from wiretool.errors import UsageError


def whole_number(what: str, arguments: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """The argument of that name of the operation `what`.

    UsageError where it is no whole number, or missing without a default.
    """
    if name not in arguments and default is None:
        raise UsageError(f"{what}: missing {name}; expected a whole number")
    value = arguments.get(name, default)
    if type(value) is not int:
        raise UsageError(f"{name} is a whole number, not {value!r}")
    return value
