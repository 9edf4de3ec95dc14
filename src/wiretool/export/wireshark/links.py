"""The links of replies to requests, as tables of Lua; `linker` in runtime.lua reads them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from wiretool.codec.message import Message, fields_of
from wiretool.export.wireshark.lua import quoted
from wiretool.protocols.base.exchanges import Match


def link_rules(matches: Sequence[Match], cls: type[Message]) -> tuple[list[str], set[str]]:
    """Return the members of the table of a message for its links, and the fields that these depend on.

    Requests wait in an index for each set of requests and fields, whichever the reply.
    """
    name, own_fields = cls.declaration.name, {field.name for field in fields_of(cls)}
    indexes = {pair: number for number, pair in enumerate(dict.fromkeys(map(_index, matches)), 1)}
    asked = [each for each in matches if name in each.requests and own_fields.issuperset(each.request_fields)]
    answered = [each for each in matches if name in each.replies and own_fields.issuperset(each.reply_fields)]
    parts = []
    if asked:
        parts.append(f"asks = {{ {', '.join(_asks(asked, indexes))} }}")
    if answered:
        parts.append(f"answers = {{ {', '.join(_answers(answered, indexes))} }}")
    linked = {field for each in asked for field in each.request_fields}
    return parts, linked | {field for each in answered for field in each.reply_fields}


_Index = tuple[frozenset[str], tuple[str, ...]]


def _index(match: Match) -> _Index:
    return match.requests, match.request_fields


def _asks(matches: Sequence[Match], indexes: dict[_Index, int]) -> Iterator[str]:
    """Yield the indexes in which a request waits, each with its fields."""
    for pair in dict.fromkeys(map(_index, matches)):
        settles = any(match.settles for match in matches if _index(match) == pair)
        yield _rule([f"index = {indexes[pair]}"], pair[1], settles=settles)


def _answers(matches: Sequence[Match], indexes: dict[_Index, int]) -> Iterator[str]:
    """Yield the fields of a reply, in the order of the matches, with the indexes that these look into."""
    for (fields, settles), alike in groupby(matches, key=lambda match: (match.reply_fields, match.settles)):
        numbers = ", ".join(str(indexes[_index(match)]) for match in alike)
        yield _rule([f"indexes = {{ {numbers} }}"], fields, settles=settles)


def _rule(parts: list[str], fields: Iterable[str], *, settles: bool) -> str:
    return f"{{ {', '.join((*parts, *(['settles = true'] if settles else []), *map(quoted, fields)))} }}"
