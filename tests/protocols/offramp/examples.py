"""Example messages, a conversation of a thousand frames, and a session in which all of them occur."""

import json
import random
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from tests.bench.talk import FRAMES, Sent, frame
from tests.helpers.strategies import Saying, sender_of
from tests.protocols.offramp.talk import UPGRADE, event_of, session
from wiretool.codec.message import Message
from wiretool.protocols.offramp.handshake import request, response
from wiretool.protocols.offramp.messages import EVENTS, Close, Ping, Pong
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.server.options import MockOptions

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


def sayings() -> st.SearchStrategy[Saying]:
    """Return any message with its sender."""
    return _offramp.map(lambda message: (sender_of(message), message))


def beginning() -> tuple[Sent, ...]:
    """Return a session in which all frames occur."""
    return tuple(Sent(side, data) for side, data in session())


#: Other conversations of the protocol, by a name of their own.
VARIANTS = {"offramp-deflate": beginning}
#: A mock with messages for recorded consumers.
MOCK_OPTIONS = MockOptions(feed=[FeedMessage(payload={"number": number}) for number in range(60)])


def conversation(rng: random.Random) -> Iterator[Sent]:
    """A consumer with demand, messages, and commits between them."""
    target = "/offramp/v2/roads/bookings/streams/s/messages?defaultOffset=EARLIEST"
    head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    keys = "Sec-WebSocket-Key: XVEIJOj8c3GohncHWGgmxw==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    yield Sent("client", (head + keys).encode())
    answer = "HTTP/1.1 101 \r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    yield Sent("server", (answer + "Sec-WebSocket-Accept: b8WjGOh7bor93n1k0cr16ZxMX3I=\r\n\r\n").encode())
    yield frame("offramp", "server", "CONNECTION", {"agentName": "offramp-0"})
    yield frame("offramp", "client", "REQUEST", {"count": FRAMES})
    yield frame("offramp", "server", "REBALANCE", {"assignment": [0]})
    for number in range(FRAMES):
        payload = {"hotel": rng.choice(("Alpenhof", "Casa Sol")), "id": number, "note": "x" * rng.randrange(300)}
        event = {"partition": 0, "offset": number, "schema": 1, "timestampMs": 1_605_900_000_000 + number}
        yield frame("offramp", "server", "MESSAGE", {**event, "payload": json.loads(json.dumps(payload))})
        correlation, offsets = f"commit-{number}", {"0": number + 1}
        yield frame("offramp", "client", "COMMIT", {"correlationId": correlation, "offsets": offsets})
        yield frame("offramp", "server", "COMMIT_RESPONSE", {"correlationId": correlation, "success": True})
