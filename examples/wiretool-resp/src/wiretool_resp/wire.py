"""The wire part: messages and framing."""

from wiretool.codec.json_types import bytes_from
from wiretool.protocols.base.exchanges import Exchanges, Fields, value_in
from wiretool.protocols.base.protocol import Wire
from wiretool_resp.conversation import RespConversation
from wiretool_resp.messages import MESSAGES, encode, from_json


def _failure(name: str, fields: Fields) -> str | None:
    """Return the kind of an error; its text is bytes in a message, and JSON elsewhere."""
    if name != "Error":
        return None
    text = value_in(fields, "text")
    return (text if isinstance(text, bytes) else bytes_from(text)).decode("utf-8", "replace").split(" ")[0]


WIRE = Wire(
    open=lambda from_start: RespConversation(from_start=from_start),
    messages=MESSAGES,
    encode=encode,
    from_json=from_json,
    exchanges=Exchanges(
        asks=frozenset((("Command", "client"),)),
        may_ask=frozenset((("InlineCommand", "client"),)),
        failure=_failure,
        failures=frozenset(("Error",)),
    ),
)
