"""For every protocol: strategies of whole messages with their senders, and conversations in which all of them occur."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice

import msgspec
from hypothesis import strategies as st

from tests.bench.talk import TALKS, Sent
from tests.helpers.strategies import messages
from tests.helpers.tables import tables
from tests.protocols.offramp.talk import UPGRADE, event_of, session
from tests.protocols.pravega_controller import talk as controller
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import Message, Side
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.offramp.handshake import request, response
from wiretool.protocols.offramp.messages import EVENTS, Close, Ping, Pong
from wiretool.protocols.sbp.messages import SbpFrame

#: Who sends a message, and the message.
Saying = tuple[Side, Message]
SIDES: tuple[Side, Side] = ("client", "server")


def sender_of(message: Message) -> Side:
    """Who may send it; the client where both may."""
    return "server" if type(message).declaration.sender == "server" else "client"


def _commands(name: str) -> st.SearchStrategy[Saying]:
    """Any message of a protocol whose frames hold one each."""
    made = st.sampled_from(PROTOCOLS[name].messages).flatmap(messages)
    return made.map(lambda message: (sender_of(message), message))


@st.composite
def _frames(draw: st.DrawFn, name: str) -> Saying:
    """A frame with any table that an operation carries."""
    carried = [cls for cls in PROTOCOLS[name].messages if issubclass(cls, Table) and _is_carried(cls)]
    table = draw(st.sampled_from(carried))
    declared = table.declaration
    side: Side = "client" if declared.sender == "client" else "server"
    flags = 0 if side == "client" else draw(st.sampled_from([1, 3]))
    stream_id = draw(st.integers(0, 2**32 - 1))
    header = draw(tables(table))
    return side, SbpFrame(opcode=declared.type_id, flags=flags, stream_id=stream_id, header=header)


def _is_carried(cls: type[Message]) -> bool:
    return cls.declaration.type_id > 0 and cls.declaration.sender in SIDES


_ascii = st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters=" ")
_texts = st.text(_ascii, min_size=1, max_size=9)
_reasons = st.text(st.characters(codec="utf-8"), max_size=9)
_OFFRAMP: Sequence[st.SearchStrategy[Message]] = (
    *(event_of(cls) for cls in EVENTS),
    st.builds(Ping, payload=st.binary(max_size=125)),
    st.builds(Pong, payload=st.binary(max_size=125)),
    st.builds(Close, code=st.sampled_from([1000, 1002, 1003]), reason=_reasons),
    _texts.map(lambda road: request(f"/offramp/v2/roads/{road}/streams/s/messages", UPGRADE)),
    _texts.map(lambda key: response(101, (("Upgrade", "websocket"), ("X-Key", key)))),
)
_offramp: st.SearchStrategy[Message] = st.one_of(_OFFRAMP)

SAYINGS: Mapping[str, Callable[[], st.SearchStrategy[Saying]]] = {
    "pravega": lambda: _commands("pravega"),
    "pravega-controller": controller.sayings,
    "pravega-draft": lambda: _commands("pravega-draft"),
    "sbp": lambda: _frames("sbp"),
    "sbp-0.1": lambda: _frames("sbp-0.1"),
    "offramp": lambda: _offramp.map(lambda message: (sender_of(message), message)),
}


def comparable(message: Message) -> Message:
    """The message as reading gives it back: what the writer fills in is left out."""
    return msgspec.structs.replace(message, checksum=None) if isinstance(message, SbpFrame) else message


def before(protocol: str, message: Message) -> list[Sent]:
    """What has to be said on a connection before the frame of a message tells what it is."""
    said = controller.before(message) if protocol == "pravega-controller" else []
    return [Sent(side, data) for side, data in said]


@cache
def talk(name: str, frames: int = 60) -> tuple[Sent, ...]:
    """The beginning of a conversation of that protocol, a frame each."""
    sent = tuple(islice(TALKS[name](random.Random(3)), frames))
    return sent if name != "offramp" else tuple(Sent(side, data) for side, data in session())
