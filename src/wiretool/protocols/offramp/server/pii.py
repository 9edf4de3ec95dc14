"""Payloads without what only a consumer with the grant PII gets to see (protocols: Offramp, sensitivity)."""

from collections.abc import Sequence
from typing import Any


def blanked(payload: Any, paths: Sequence[str]) -> Any:
    """The payload with the text at each path made empty; null and numbers stay, as does what has no such field.

    A path follows every element of an array it meets.
    """
    for path in paths:
        payload = _blanked_at(payload, path.split("."))
    return payload


def _blanked_at(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_blanked_at(each, names) for each in value]
    if not names:
        return "" if isinstance(value, str) else value
    if isinstance(value, dict) and names[0] in value:
        return {**value, names[0]: _blanked_at(value[names[0]], names[1:])}
    return value
