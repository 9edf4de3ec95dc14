"""A small SBP client: creates a range, appends to it and fetches. A fault, by name, makes it misbehave.

`python sbp_client.py HOST:PORT [FAULT]`
"""

import socket
import sys
import time
import zlib
from typing import Any

import wiretool
from wiretool.protocols.base.registry import protocol_named
from wiretool.protocols.sbp.framing import LENGTH_BYTES

APPENDS = 8
RECORDS = 2
#: Lost connections after which the client fails.
LOST_MAX = 3
#: A pause before each request after the second: the client has read what the server sent before it.
PAUSE_S = 0.1
RANGE = {"stream_id": 1000, "epoch": 0, "index": 0, "start": 0, "end": -1}
SERVERS = [{"server_id": 0, "advertise_addr": "127.0.0.1:10911"}]


class Leave(Exception):
    """The server goes away."""


class Client:
    """One writer, on one connection after the other."""

    def __init__(self, address: str, fault: str) -> None:
        host, _, port = address.rpartition(":")
        self.address = (host, int(port))
        self.fault = fault
        self.at = 0
        self.number = 0
        self.lost = 0
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection(self.address, timeout=1)
        self.number = 100 if self.fault == "falling-ids" else 0

    def frame(self, name: str, header: Any = None, payload: Any = None, **more: Any) -> bytes:
        self.number += -1 if self.fault == "falling-ids" else 1
        flags = 0x80 if self.fault == "odd-flags" else 0
        number = 1 << 31 | self.number if self.fault == "negative-ids" else self.number
        fields = {"flags": flags, "stream_id": number, "header": header, "payload": payload, **more}
        return self.encoded(name, fields)

    def encoded(self, name: str, fields: dict[str, Any]) -> bytes:
        convert = protocol_named("sbp").from_json
        assert convert is not None
        return wiretool.encode(convert(name, "client", fields), protocol="sbp", side="client")

    def append(self) -> bytes:
        meta = {"stream_id": 1000, "range_index": 0, "base_offset": self.at, "last_offset_delta": RECORDS}
        if self.fault == "no-records":
            meta["last_offset_delta"] = 0
        if self.fault == "gap" and self.at > RECORDS:
            meta["base_offset"] += 5
        payload: Any = {"entries": [{"meta": meta, "payload": "text"}]}
        if self.fault == "bad-batch":
            payload = {"hex": "2200"}
        data = self.frame("APPEND", {"table": "AppendRequest", "fields": {"timeout_ms": 1000}}, payload)
        return data[:-1] + bytes((data[-1] ^ 1,)) if self.fault == "wrong-checksum" else data

    def exact(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data

    def receive(self) -> bytes:
        """Return the next response; answer PING, and raise Leave after GOAWAY."""
        while True:
            head = self.exact(LENGTH_BYTES)
            data = self.exact(int.from_bytes(head, "big"))
            opcode, is_response = int.from_bytes(data[1:3], "big"), data[3] & 1
            if is_response:
                return data
            if opcode == 2:
                if self.fault == "ignores-goaway":
                    return data
                raise Leave
            if opcode == 1 and self.fault != "ignores-ping":
                self.socket.sendall(head + data[:3] + b"\x03" + data[4:])

    def ask(self, data: bytes) -> None:
        self.socket.sendall(data * 2 if self.fault == "same-ids" else data)
        if self.fault == "impatient":
            self.socket.settimeout(0.1)
            try:
                self.receive()
            except TimeoutError:
                self.socket.sendall(data)
                self.socket.settimeout(1)
                self.receive()
            return
        self.receive()

    def heartbeat(self) -> bytes:
        header: dict[str, Any] = {"table": "HeartbeatRequest", "fields": {"client_id": "c", "client_role": 3}}
        more: dict[str, Any] = {}
        if self.fault == "no-header":
            header = {"raw_hex": b"abc".hex()}
        if self.fault == "stray-payload":
            more["payload"] = {"hex": "00"}
        data = self.frame("HEARTBEAT", header, **more)
        return data[:-4] + zlib.crc32(b"x").to_bytes(4, "big") if self.fault == "stray-checksum" else data

    def begin(self) -> None:
        self.ask(self.heartbeat())
        fields = {"range": {**RANGE, "servers": SERVERS}}
        self.ask(self.frame("CREATE_RANGE", {"table": "CreateRangeRequest", "fields": fields}))

    def run(self) -> None:
        is_begun = False
        while self.at < APPENDS * RECORDS:
            try:
                if not is_begun:
                    self.begin()
                    is_begun = True
                time.sleep(PAUSE_S)
                self.ask(self.append())
                self.at += RECORDS
            except (Leave, ConnectionResetError, TimeoutError):
                self.lost += 1
                if self.fault == "gives-up":
                    return
                if self.lost > LOST_MAX:
                    sys.exit("the server is gone")
                if self.fault == "starts-again":
                    self.at = 0
                self.socket.close()
                self.connect()
                is_begun = False
        if self.fault == "fails":
            sys.exit("it is not to be")


if __name__ == "__main__":
    Client(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "").run()
