"""What is declared, for people or for programs."""

import json
from collections.abc import Sequence

from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols.base.protocol import Protocol
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.output import Output
from wiretool.sinks.text import explain as text

Found = list[tuple[Protocol, type[Message]]]


def write_explanation(protocols: Sequence[Protocol], name: str, output: Output, form: str) -> None:
    """Write the pages of every message called `name`, or for no name the list of all; as `text` or `json`.

    UsageError with the nearest name where there is none.
    """
    found = messages_called(protocols, name)
    if form == "json":
        output.write(json.dumps([text.as_json(*each) for each in found], indent=2) + "\n")
    elif name:
        pages = [text.page(*each, colour=is_coloured(output), width=width_of(output)) for each in found]
        output.write("\n".join(pages))
    else:
        output.write(text.overview(protocols, colour=is_coloured(output), width=width_of(output)))


def messages_called(protocols: Sequence[Protocol], name: str) -> Found:
    """The messages with that name, in any spelling of its capitals; all of them for no name."""
    every = [(protocol, cls) for protocol in protocols for cls in protocol.messages]
    if not name:
        return every
    found = [(protocol, cls) for protocol, cls in every if folded(name) in {folded(each) for each in names_of(cls)}]
    if not found:
        known = {each for _, cls in every for each in names_of(cls)}
        raise UsageError(f"no message is called {name!r}{nearest(name, known)}; wiretool explain lists them")
    return found


def names_of(cls: type[Message]) -> set[str]:
    """The protocol's name of a message, and that of its class."""
    declared = text.declaration_of(cls)
    return {cls.__name__, declared.name if declared is not None else cls.__name__}


def folded(name: str) -> str:
    """A name without what people spell differently: SETUP_APPEND is SetupAppend."""
    return name.replace("_", "").lower()
