"""RESP, the protocol of Redis, in its versions 2 and 3: a protocol for wiretool from outside."""

from wiretool.protocols.base.protocol import Protocol

PROTOCOL = Protocol(
    name="resp",
    title="RESP 2 and 3 (Redis)",
    ports=(6379,),
    wire="wiretool_resp.conversation:WIRE",
    server="wiretool_resp.server:SERVER",
)
