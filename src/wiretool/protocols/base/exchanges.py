"""What a protocol says of asking and answering: which messages wait for an answer, and how one says that it failed."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wiretool.codec.json_types import bytes_from
from wiretool.codec.message import Message, Side

#: A message by its name, and who sends it.
Spoken = tuple[str, Side]
#: The fields of a frame, as its record has them.
Fields = Message | Mapping[str, Any] | None


def _no_failure(name: str, fields: Fields) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Match:
    """Replies and requests that belong together where some of their fields have equal values, by their names.

    For readers that know declarations alone, such as a dissector of Wireshark; a conversation knows more cases.
    """

    replies: frozenset[str]
    requests: frozenset[str]
    #: Fields of the reply, and those of the request with the same values, in the same order.
    reply_fields: tuple[str, ...]
    request_fields: tuple[str, ...]
    #: Whether the reply stands for all earlier requests too that have the same values in all fields but the last.
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Requests and answers of one protocol, by the names of messages."""

    #: What waits for an answer; and what is answered at times only, so that nothing is missing where it is not.
    asks: frozenset[Spoken] = frozenset()
    may_ask: frozenset[Spoken] = frozenset()
    #: The field that is true in what has such a name and is an answer itself; empty where names tell.
    unless: str = ""
    #: Answers that stand for all earlier requests of their writer as well, and what these are called.
    settles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: What an answer of that name, with these fields, says went wrong: in the protocol's own word; None for nothing.
    failure: Callable[[str, Fields], str | None] = _no_failure
    #: Where that can only be so, for who looks at many at once: answers by name, and fields with any but these numbers.
    failures: frozenset[str] = frozenset()
    fine: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: Requests whose reply may come as late as it likes: it waits for data.
    may_wait: frozenset[str] = frozenset()
    #: Messages of the server after which it answers no request that is open.
    farewells: frozenset[str] = frozenset()
    #: Which fields tell what a reply answers; the first match of a reply counts.
    matches: tuple[Match, ...] = ()

    @classmethod
    def declared(cls, messages: Iterable[type[Message]], may_ask: Collection[type[Message]] = ()) -> "Exchanges":
        """Return the exchanges of a protocol by its declarations: clients ask, and failures have their own names.

        `may_ask`: messages of clients that are answered at times only.
        """
        declarations = [message.declaration for message in messages]
        clients = frozenset((each.name, each.sender) for each in declarations if each.sender == "client")
        optional = frozenset(each.declaration.name for each in may_ask)
        asks = frozenset(pair for pair in clients if pair[0] not in optional)
        kinds = {each.name: each.failure_field for each in declarations if each.is_failure}

        def failure(name: str, fields: Fields) -> str | None:
            if name not in kinds:
                return None
            text = value_in(fields, kinds[name])
            return name if text is None else first_word(text) or name

        return cls(asks=asks, may_ask=clients - asks, failure=failure, failures=frozenset(kinds))


def first_word(text: Any) -> str:
    """Return the first word of a text, which may be bytes, or bytes in their JSON form; empty for none."""
    words = (text if isinstance(text, bytes) else bytes_from(text)).split(maxsplit=1)
    return words[0].decode("utf-8", "replace") if words else ""


def value_in(fields: Fields, name: str) -> Any:
    """The field called so; None where there is none."""
    return fields.get(name) if isinstance(fields, Mapping) else getattr(fields, name, None)
