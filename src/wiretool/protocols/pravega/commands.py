"""All the commands, and the table from the first four bytes of a frame to what it is."""

import re
from collections.abc import Mapping

from wiretool.codec.compiled import Decoder, decoder
from wiretool.codec.message import Message, Side, by_type_id
from wiretool.protocols.pravega import failures, messages, segments, tables

#: Every declared command, by its code.
MESSAGES: tuple[type[Message], ...] = tuple(
    sorted(
        messages.MESSAGES + segments.MESSAGES + failures.MESSAGES + tables.MESSAGES,
        key=lambda cls: cls.declaration.type_id,
    )
)
BY_CODE: Mapping[int, type[Message]] = by_type_id(MESSAGES)
#: The type as it stands in a header -> its class, name and decoder.
BY_HEAD: Mapping[bytes, tuple[type[Message], str, Decoder]] = {
    code.to_bytes(4, "big", signed=True): (cls, cls.declaration.name, decoder(cls)) for code, cls in BY_CODE.items()
}


def enum_name(cls: type[Message]) -> str:
    """The name of the command in WireCommandType: SETUP_APPEND for SetupAppend."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.declaration.name).upper()


def may_send(side: Side, cls: type[Message]) -> bool:
    """Whether `side` may send the command as a frame of its own."""
    return cls.declaration.sender in (side, "both") or (cls is messages.Padding and side == "client")
