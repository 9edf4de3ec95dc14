"""A consumer of Offramp on the `websockets` library: `python offramp_client.py HOST:PORT [MISBEHAVIOUR]`.

It reads MESSAGES messages with a window of demand, commits what it has read, and comes back after a lost connection.
With the name of a misbehaviour it breaks one requirement.
"""

import asyncio
import json
import os
import socket
import sys
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import websockets.client
import websockets.frames
import websockets.protocol
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.frames import Frame, Opcode

MESSAGES, WINDOW, REFILL = 20, 10, 5
ATTEMPTS, PAUSE_S = 4, 0.2
#: Seconds to wait for the next event, and connections that the storm makes.
PATIENCE_S, STORM = 4.0, 40
#: Seconds to wait for the Close of the server.
CLOSE_S = 2.0
PATH = "/offramp/v2/roads/road/streams/client/messages?defaultOffset="
#: What the consumer does wrong once the first messages have come, as bytes of a frame without its mask.
TEXTS = {
    "single-quotes": b"{'type':'CANCEL'}",
    "server-event": b'{"type":"CONNECTION","agentName":"me"}',
    "type-last": b'{"count":1,"type":"REQUEST"}',
    "request-zero": b'{"type":"REQUEST","count":0}',
    "bad-utf8": b'{"type":"\xff"}',
    "long-commit": b'{"type":"COMMIT","correlationId":"' + b"x" * 9_000 + b'","offsets":{}}',
}


class Refused(Exception):
    """The server does not serve this consumer."""


class Consumer:
    """One consumer, over all its connections."""

    def __init__(self, address: str, wrong: str) -> None:
        self.address, self.wrong = address, wrong
        self.count = 0
        self.positions: dict[int, int] = {}
        self.failed_commits = 0

    async def run(self) -> int:
        """Return the exit code."""
        if self.wrong == "storm":
            await asyncio.gather(*(self.read() for _ in range(STORM)), return_exceptions=True)
            return 1
        for _ in range(ATTEMPTS):
            try:
                await self.read()
            except Refused as err:
                print(err, file=sys.stderr)
                return 0 if self.wrong == "hides-refusal" else 3
            except (ConnectionClosed, InvalidHandshake, OSError, EOFError) as err:
                print(f"lost: {err!r}", file=sys.stderr)
                if self.wrong == "no-retry":
                    return 1
                await asyncio.sleep(PAUSE_S)
                continue
            if self.failed_commits and self.wrong != "hides-failed-commits":
                return 4
            return 5 if self.wrong == "exit-code" else 0
        return 1

    async def read(self) -> None:
        """Read on one connection until all messages are there."""
        offset = "NEWEST" if self.wrong == "bad-offset" else "EARLIEST"
        try:
            link = await connect(f"ws://{self.address}{PATH}{offset}", compression=None, close_timeout=CLOSE_S)
        except InvalidStatus as err:
            raise Refused(f"status {err.response.status_code}") from err
        ids: set[str] = set()
        try:
            await self.exchange(link, ids)
            if self.wrong == "no-close":
                link.transport.close()
                return
            await link.close()
        finally:
            if link.close_code is None:
                link.transport.abort()

    async def exchange(self, link: ClientConnection, ids: set[str]) -> None:
        """Ask for messages and commit them."""
        is_greeted = False
        outstanding = 0
        while self.count < MESSAGES or ids:
            try:
                event = json.loads(await asyncio.wait_for(link.recv(), PATIENCE_S))
            except ConnectionClosed as err:
                if err.rcvd is not None and err.rcvd.code == 1000 and not is_greeted:
                    if self.wrong == "waits-for-ever":
                        await asyncio.sleep(3_600)
                    raise Refused("closed with 1000 before any event") from err
                raise
            kind = event["type"]
            if kind == "CONNECTION":
                is_greeted = True
                await self.send(link, {"type": "REQUEST", "count": WINDOW})
                outstanding = WINDOW
            elif kind == "ERROR" and self.wrong == "error-ends":
                raise Refused("an ERROR event")
            elif kind == "COMMIT_RESPONSE":
                ids.discard(event["correlationId"])
                self.failed_commits += not event["success"]
            elif kind == "MESSAGE":
                outstanding -= 1
                await self.take(link, event, ids)
                if outstanding <= WINDOW - REFILL and self.count < MESSAGES:
                    await self.send(link, {"type": "REQUEST", "count": REFILL})
                    outstanding += REFILL
        await self.send(link, {"type": "CANCEL"})

    async def take(self, link: ClientConnection, event: dict[str, Any], ids: set[str]) -> None:
        """Process a message, once, and commit every fifth."""
        partition, offset = event["partition"], event["offset"]
        if offset < self.positions.get(partition, 0):
            if self.wrong == "no-duplicates":
                raise Refused(f"offset {offset} came again")
            return
        self.positions[partition] = offset + 1
        self.count += 1
        if self.count == 3:
            await self.misbehave(link)
        if self.count % REFILL == 0:
            await self.commit(link, partition, ids)

    async def commit(self, link: ClientConnection, partition: int, ids: set[str]) -> None:
        """Save the position of a partition."""
        position = self.positions[partition]
        ahead = {"commit-ahead": 100, "commit-back": REFILL - self.count - self.count // REFILL}.get(self.wrong, 0)
        event = {"type": "COMMIT", "offsets": {str(partition): position + ahead}}
        if self.wrong == "one-id":
            ids.add("same")
            text = json.dumps(event | {"correlationId": "same"}).encode()
            # In one write: between two the server could answer the first, and the identifier would be free again.
            link.transport.write(masked(text) * 2)
            return
        id = str(uuid.uuid4())
        ids.add(id)
        await self.send(link, event | {"correlationId": id})

    async def send(self, link: ClientConnection, event: dict[str, Any]) -> None:
        """Send an event."""
        await link.send(json.dumps(event))

    async def misbehave(self, link: ClientConnection) -> None:
        """Do what this consumer does wrong in the middle of a conversation."""
        write = link.transport.write
        if self.wrong in TEXTS:
            write(masked(TEXTS[self.wrong]))
        elif self.wrong == "unmasked":
            write(Frame(Opcode.TEXT, b'{"type":"CANCEL"}').serialize(mask=False))
        elif self.wrong == "close-code":
            write(masked((1005).to_bytes(2, "big"), Opcode.CLOSE))
        elif self.wrong == "after-close":
            write(masked((1000).to_bytes(2, "big"), Opcode.CLOSE) + masked(b'{"type":"CANCEL"}'))


def masked(payload: bytes, opcode: Opcode = Opcode.TEXT) -> bytes:
    """Return a frame of a client."""
    return Frame(opcode, payload).serialize(mask=True)


def speak_early(address: str) -> int:
    """Send a request before the server has upgraded."""
    host, _, port = address.rpartition(":")
    head = (
        f"GET {PATH}EARLIEST HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), PATIENCE_S) as link:
        link.sendall(head.encode() + masked(b'{"type":"REQUEST","count":1}'))
        link.recv(65_536)
        link.sendall(masked((1000).to_bytes(2, "big"), Opcode.CLOSE))
        while link.recv(65_536):
            pass
    return 0


def patch_library(wrong: str) -> None:
    """Make the library do what it never does."""
    if wrong == "short-key":
        setattr(websockets.client, "generate_key", lambda: "c2hvcnQ=")  # noqa: B010
    elif wrong == "one-mask":
        setattr(websockets.frames, "secrets", SimpleNamespace(token_bytes=lambda count: b"same"))  # noqa: B010
    elif wrong in ("other-pong", "no-close-reply", "talks-after-close"):
        setattr(websockets.protocol.Protocol, "send_frame", other_frames(wrong))  # noqa: B010


def other_frames(wrong: str) -> Callable[[websockets.protocol.Protocol, Frame], None]:
    """Return what sends another frame than the library asks for."""
    send_frame: Callable[[Any, Frame], None] = websockets.protocol.Protocol.send_frame

    def send_other(protocol: websockets.protocol.Protocol, frame: Frame) -> None:
        if wrong == "other-pong" and frame.opcode is Opcode.PONG:
            frame = Frame(Opcode.PONG, b"other")
        if wrong == "talks-after-close" and frame.opcode is Opcode.CLOSE:
            send_frame(protocol, Frame(Opcode.TEXT, b'{"type":"CANCEL"}'))
        if wrong != "no-close-reply" or frame.opcode is not Opcode.CLOSE:
            send_frame(protocol, frame)

    return send_other


def main() -> int:
    """Return the exit code."""
    address = sys.argv[1] if len(sys.argv) > 1 else os.environ["WIRETOOL_ADDRESS"]
    wrong = sys.argv[2] if len(sys.argv) > 2 else ""
    if wrong == "early":
        return speak_early(address)
    patch_library(wrong)
    return asyncio.run(Consumer(address, wrong).run())


if __name__ == "__main__":
    sys.exit(main())
