"""A stream on a real server for the time of one run: made, found and taken away through the server's controller."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from wiretool import limits
from wiretool.errors import PeerError
from wiretool.load.link import Link
from wiretool.load.part import StreamSegments
from wiretool.load.plan import Place, Plan
from wiretool.net.addresses import EVERYWHERE, PORT_MAX, Address
from wiretool.protocols.pravega.server.tokens import lifetime_s
from wiretool.protocols.pravega_controller.load.client import Controller, Undone
from wiretool.protocols.pravega_controller.server.names import segment_name
from wiretool.sinks.printable import printable

#: What the stream of a run is called, in the scope of that run.
STREAM = "load"
#: Makes or takes away something: the method that does it, and what is said with it.
_Call = tuple[str, Mapping[str, Any]]
#: What is as good as done where something is taken away: an answer before may have been lost.
_GONE = {"deleteStream": "STREAM_NOT_FOUND", "deleteScope": "SCOPE_NOT_FOUND"}
#: A segment's id: its number, and above that the epoch in which it was made.
_NUMBER_BITS = 32


class ControllerStream:
    """The scope `bench-RUN` and its one stream. PeerError, with the controller's address, wherever that says no."""

    def __init__(self, controller: Address, run: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        self._address = controller
        self._headers = headers
        self._scope: Mapping[str, Any] = {"scope": f"bench-{run}"}
        self._stream: Mapping[str, Any] = {**self._scope, "stream": STREAM}
        #: What there is to take away, in the order in which it goes.
        self._owed: list[_Call] = []
        #: Whether the scope is known to be made.
        self._is_made = False

    def make(self, segments: int) -> StreamSegments:
        """Make it, of so many segments for all of its time."""
        scaling = {"scaleType": "FIXED_NUM_SEGMENTS", "minNumSegments": segments}
        with closing(self._controller()) as controller:
            self._create(controller, ("createScope", self._scope), ("deleteScope", self._scope))
            self._is_made = True
            stream = {"streamInfo": self._stream, "scalingPolicy": scaling}
            undoing = [("sealStream", self._stream), ("deleteStream", self._stream)]
            self._create(controller, ("createStream", stream), *undoing)
            token = self._token(controller)
            ids = self._segment_ids(controller, segments)
            places = tuple(self._place(controller, segment_id) for segment_id in ids)
            return StreamSegments(places, token, lifetime_s(token))

    def renewed(self, plan: Plan) -> Plan:
        """The plan with a new token, if it has one: that may be too old by now."""
        if not plan.token:
            return plan
        with closing(self._controller()) as controller:
            return plan.at(plan.places, self._token(controller))

    def remove(self) -> str:
        """Take away what was made; why something is left, empty where nothing is. Asked again it does nothing.

        Where Ctrl-C ends it, it can be asked again, and does what is left.
        """
        refusals = [""]
        try:
            if self._owed:
                with closing(self._controller()) as controller:
                    refusals = list(self._removing(controller))
        except PeerError as err:
            self._owed = []
            refusals = [str(err)]
        # A stream that was never made cannot be taken away; a scope goes only when nothing is in it.
        return self._left(next(filter(None, refusals))) if refusals[-1] else ""

    def left(self, why: str) -> str:
        """That something is left, and why; empty where nothing is."""
        return self._left(why) if self._owed else ""

    def _left(self, why: str) -> str:
        return f"scope {self._scope['scope']} {'is' if self._is_made else 'may be'} left on the server: {why}"

    def _create(self, controller: Controller, creating: _Call, *undoing: _Call) -> None:
        """Make something: from the asking on it may be there, unless the answer says that it is not."""
        before = self._owed
        self._owed = [*undoing, *before]
        try:
            controller.do(*creating)
        except Undone:
            self._owed = before
            raise

    def _removing(self, controller: Controller) -> Iterator[str]:
        """What is owed, call by call: each is owed until it has been answered. Why it was refused, empty if not."""
        while self._owed:
            method, fields = self._owed[0]
            refusal = controller.refusal(method, fields, also=_GONE.get(method, ""))
            self._owed = self._owed[1:]
            yield refusal

    def _controller(self) -> Controller:
        return Controller(Link(*self._address), self._headers)

    def _token(self, controller: Controller) -> str:
        """The token for reading and writing the stream."""
        answer = controller.ask("getDelegationToken", {**self._stream, "accessOperation": "READ_WRITE"})
        token: str = answer["delegationToken"]
        if len(token) > limits.BENCH_TOKEN_CHARACTERS_MAX or not (token.isascii() and token.isprintable()):
            raise self._wrong("a token that no request can have")
        return token

    def _segment_ids(self, controller: Controller, segments: int) -> list[int]:
        """The ids of the segments that take events."""
        ranges = controller.ask("getCurrentSegments", self._stream)["segmentRanges"]
        told = [each["segmentId"] or {} for each in ranges]
        ids = [each.get("segmentId", -1) for each in told]
        if len(set(ids)) != segments or len(ids) != segments:
            raise self._wrong(f"{len(ids):,} segments, where {segments:,} were asked for")
        if min(ids) < 0 or any(not self._is_ours(each["streamInfo"]) for each in told):
            raise self._wrong("segments of another stream")
        return sorted(ids)

    def _is_ours(self, stream: Mapping[str, Any] | None) -> bool:
        return stream is not None and all(stream[name] == value for name, value in self._stream.items())

    def _place(self, controller: Controller, segment_id: int) -> Place:
        """Where a segment is."""
        node = controller.ask("getURI", {"streamInfo": self._stream, "segmentId": segment_id})
        host, port = node["endpoint"], node["port"]
        if not (host.isascii() and host.isprintable() and " " not in host and host and 0 < port <= PORT_MAX):
            raise self._wrong(f"a store at {printable(host[: limits.BENCH_SAID_CHARACTERS_MAX])!r}, port {port}")
        host = self._address.host if host in EVERYWHERE else host  # a store that was not told its name
        epoch, number = segment_id >> _NUMBER_BITS, segment_id & (1 << _NUMBER_BITS) - 1
        name = segment_name(self._scope["scope"], STREAM, number, epoch)
        return Place(segment=name, host=host, port=port)

    def _wrong(self, what: str) -> PeerError:
        return PeerError(f"the controller at {self._address} returned {what}")
