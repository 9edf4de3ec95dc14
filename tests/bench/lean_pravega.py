"""The leanest server that Pravega's client can write to: what the mock's speed is held against, and that of loads.

    python -m tests.bench.lean_pravega --ready-file FILE

It answers writers and nothing else: gRPC by grpcio with answers made beforehand, and of an append only the
bytes at fixed places that its acknowledgement repeats. It checks nothing, keeps nothing and knows no segment.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
import uvloop

from wiretool.protocols.pravega_controller import controller_pb2 as pb

SERVICE = "io.pravega.controller.stream.api.grpc.v1.ControllerService"
HEADER_BYTES = 8
SETUP_APPEND, APPEND_SETUP, APPEND_BLOCK_END, DATA_APPENDED, CREATE_SEGMENT, SEGMENT_CREATED, HELLO = (
    kind.to_bytes(4, "big", signed=True) for kind in (1, 2, 4, 7, 20, 21, -127)
)
NO_EVENT = (-(2**63)).to_bytes(8, "big", signed=True)
ACK = DATA_APPENDED + (48).to_bytes(4, "big")
OFFSET = bytes(8)


class Store(asyncio.Protocol):
    """One connection to the segment store."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast(asyncio.WriteTransport, transport).write
        self._rest = b""
        self._last = NO_EVENT

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        begin, left = 0, len(data)
        while left >= HEADER_BYTES:
            size = HEADER_BYTES + int.from_bytes(data[begin + 4 : begin + HEADER_BYTES], "big")
            if size > left:
                break
            self._answer(data, begin, begin + size)
            begin, left = begin + size, left - size
        self._rest = data[begin:]

    def _answer(self, data: bytes, begin: int, end: int) -> None:
        kind, body = data[begin : begin + 4], begin + HEADER_BYTES
        if kind == APPEND_BLOCK_END:
            # Writer id first; the last 16 bytes are event number and request id.
            number = data[end - 16 : end - 8]
            self._write(ACK + data[body : body + 16] + number + self._last + data[end - 8 : end] + OFFSET)
            self._last = number
        elif kind == SETUP_APPEND:
            # Request id, writer id, segment with its length; a token follows.
            request_id, writer, name = data[body : body + 8], data[body + 8 : body + 24], data[body + 24 : end]
            name = name[: 2 + int.from_bytes(name[:2], "big")]
            answer = request_id + name + writer + NO_EVENT
            self._write(APPEND_SETUP + len(answer).to_bytes(4, "big") + answer)
        elif kind == CREATE_SEGMENT:
            # Request id and segment, which the answer has too; more follows.
            size = 10 + int.from_bytes(data[body + 8 : body + 10], "big")
            self._write(SEGMENT_CREATED + size.to_bytes(4, "big") + data[body : body + size])
        elif kind == HELLO:
            self._write(data[begin:end])


def answers(store: str) -> dict[str, bytes]:
    """What the controller says, whatever it is asked: one segment, there, and everything well."""
    host, _, port = store.rpartition(":")
    stream = pb.StreamInfo(scope="bench", stream="stream")
    segment = pb.SegmentRange(segmentId=pb.SegmentId(streamInfo=stream), minKey=0.0, maxKey=1.0)
    return {
        "createScope": pb.CreateScopeStatus().SerializeToString(),
        "createStream": pb.CreateStreamStatus().SerializeToString(),
        "getCurrentSegments": pb.SegmentRanges(segmentRanges=[segment]).SerializeToString(),
        "getURI": pb.NodeUri(endpoint=host, port=int(port)).SerializeToString(),
    }


def saying(answer: bytes) -> Callable[[bytes, object], Awaitable[bytes]]:
    """A call that always answers the same."""

    async def call(request: bytes, context: object) -> bytes:
        return answer

    return call


async def serve(ready: Path) -> None:
    """Both doors open until SIGTERM."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    store = await loop.create_server(Store, "127.0.0.1", 0)
    store_at = f"127.0.0.1:{store.sockets[0].getsockname()[1]}"
    controller = grpc.aio.server()
    handlers = {name: grpc.unary_unary_rpc_method_handler(saying(answer)) for name, answer in answers(store_at).items()}
    controller.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = controller.add_insecure_port("127.0.0.1:0")
    await controller.start()
    ready.write_text(json.dumps({"endpoints": {"store": store_at, "controller": f"127.0.0.1:{port}"}}))
    await stopped.wait()
    await controller.stop(0)


def main() -> int:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ready-file", type=Path, required=True)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(options.ready_file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
