"""What servers of the newest schema knew before a recording began, as far as their answers show it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wiretool.analysis.dialogues import Exchange
from wiretool.protocols.sbp.replay.recorded_facts import OK, RangeKey, entries_of, range_of
from wiretool.protocols.sbp.replay.servers import code_of, fields_in

RANGE_NOT_FOUND, SEALED, COMMITTED, NO_NEW_RECORD = 1462, 1460, 1464, 1204
NOT_FOUND, EXPIRED = 1404, 1471
#: "invalid epoch 0 (less than 1) for ..."
_EPOCH = re.compile(r"\(less than (-?\d+)\)")
Fields = Mapping[str, Any]


@dataclass
class DriverPast:
    """The streams, ranges and range servers that a placement driver had."""

    streams: dict[int, Fields] = field(default_factory=dict)
    #: As they were then, by index.
    ranges: dict[int, dict[int, Fields]] = field(default_factory=dict)
    #: Range servers by number, with where they are; and those of them that took new ranges.
    servers: dict[int, str] = field(default_factory=dict)
    living: set[int] = field(default_factory=set)
    #: Streams that were gone by then, though their ranges were not.
    deleted: set[int] = field(default_factory=set)
    #: Numbers of streams that were asked for and were none then.
    strange: set[int] = field(default_factory=set)


class DriverSeen:
    """Goes over the exchanges with a placement driver in their order, for what nothing in them made."""

    def __init__(self) -> None:
        self.past = DriverPast()
        self._streams: set[int] = set()
        #: Those of them of which ranges alone have told so far.
        self._sketched: set[int] = set()
        self._ranges: set[RangeKey] = set()
        self._heard: set[int] = set()
        #: Of open ranges, as refusals tell them.
        self._epochs: dict[RangeKey, int] = {}

    def look(self, exchange: Exchange) -> None:
        """One request and its answer."""
        asked, name = fields_in(exchange.request), exchange.request.message
        self.past.strange |= _streams_in(asked) - self._streams
        server = asked.get("range_server") or {}
        if name in ("HEARTBEAT", "REPORT_METRICS") and "server_id" in server:
            self._heard.add(server["server_id"])
        for answer in exchange.replies[:1]:
            said = fields_in(answer)
            if code_of(answer) == OK:
                self._look_at_stream(name, asked, said)
                self._look_at_ranges(name, said)
            elif code_of(answer) == EXPIRED and name == "SEAL_RANGE" and asked.get("range"):
                found = _EPOCH.search(said["status"].get("message") or "")
                if found:
                    self._epochs.setdefault(range_of(asked["range"]), int(found[1]))
            elif code_of(answer) == NOT_FOUND and name in ("DESCRIBE_STREAM", "DELETE_STREAM"):
                self._streams.add(asked.get("stream_id", 0))
                if asked.get("stream_id") in self.past.ranges and asked["stream_id"] not in self.past.streams:
                    self.past.deleted.add(asked["stream_id"])

    def _look_at_stream(self, name: str, asked: Fields, said: Fields) -> None:
        told = said.get("stream")
        if name == "UPDATE_STREAM" and told is None and asked.get("stream"):
            self._streams.add(asked["stream"]["stream_id"])  # it was made by that
        elif told is not None and name == "CREATE_STREAM":
            self._streams.add(told["stream_id"])
        elif told is not None:
            self._stream(told)
            self._sketched.discard(told["stream_id"])

    def _stream(self, told: Fields) -> None:
        if told["stream_id"] not in self._streams or told["stream_id"] in self._sketched:
            self._streams.add(told["stream_id"])
            self.past.streams[told["stream_id"]] = told

    def _look_at_ranges(self, name: str, said: Fields) -> None:
        if name == "LIST_RANGE":
            for told in said.get("ranges") or ():
                self._range(told)
        elif said.get("range") and name == "SEAL_RANGE":
            self._range({**said["range"], "end": -1})
        elif said.get("range") and name == "CREATE_RANGE":
            self._made(said["range"])

    def _range(self, told: Fields) -> None:
        """A range that is there, and was before unless it was made since."""
        self._of_stream(told)
        if range_of(told) not in self._ranges:
            self._ranges.add(range_of(told))
            made = {**told, "epoch": self._epochs.get(range_of(told), told["epoch"])}
            self.past.ranges.setdefault(told["stream_id"], {})[told["index"]] = made
            for server in told.get("servers") or ():
                self._server(server)

    def _made(self, told: Fields) -> None:
        """A range that was made: the one in front of it ends where it starts, and its servers lived."""
        self._of_stream(told)
        for server in told.get("servers") or ():
            if server["server_id"] not in self._heard:
                self.past.living.add(server["server_id"])
                self._server(server)
        before = (told["stream_id"], told["index"] - 1)
        if told["index"] > 0 and before not in self._ranges:
            self._ranges.add(before)
            made = {**told, "index": told["index"] - 1, "start": 0, "end": told["start"], "epoch": 0}
            self.past.ranges.setdefault(told["stream_id"], {})[told["index"] - 1] = made
        self._ranges.add(range_of(told))

    def _of_stream(self, told: Fields) -> None:
        if told["stream_id"] not in self._streams:
            self._sketched.add(told["stream_id"])
            counts = {"replica": told.get("replica_count", 0), "ack_count": told.get("ack_count", 0)}
            self._stream({"stream_id": told["stream_id"], "retention_period_ms": 0, **counts})

    def _server(self, server: Fields) -> None:
        self.past.servers.setdefault(server["server_id"], server.get("advertise_addr") or "")


def _streams_in(asked: Fields) -> set[int]:
    """The streams that a request to a placement driver is about."""
    tables = (asked, *(asked.get(name) or {} for name in ("stream", "range", "criteria")))
    return {table["stream_id"] for table in tables if table.get("stream_id", -1) >= 0}


@dataclass
class ReplicaPast:
    """What a range server had of one range: batches with offsets, up to where it took the next, and whether it did."""

    batches: dict[int, Fields] = field(default_factory=dict)
    next: int | None = None
    is_sealed: bool = False


class ServerSeen:
    """Goes over the exchanges with a range server in their order, for what nothing in them made."""

    def __init__(self) -> None:
        self.past: dict[RangeKey, ReplicaPast] = {}
        #: Every range that is spoken of, and those that clients made; base offsets of what they appended.
        self.named: set[RangeKey] = set()
        self._made: set[RangeKey] = set()
        self._appended: dict[RangeKey, set[int]] = {}

    def look(self, exchange: Exchange) -> None:
        """One request and its answer."""
        request, name = exchange.request, exchange.request.message
        asked = fields_in(request)
        wanted = asked.get("range")
        self.named |= {range_of(each) for each in ([wanted] if wanted else []) if each}
        self.named |= {range_of(entry["meta"]) for entry in entries_of(request)}
        for entry in entries_of(request) if name == "APPEND" and not exchange.replies else ():
            self._appended.setdefault(range_of(entry["meta"]), set()).add(entry["meta"]["base_offset"])
        for answer in exchange.replies[:1]:
            said = fields_in(answer)
            if name == "APPEND":
                self._append(entries_of(request), said.get("entries") or ())
            elif wanted and name == "FETCH" and code_of(answer) in (OK, NO_NEW_RECORD):
                self._fetched(range_of(wanted), entries_of(answer))
            elif wanted and name == "SEAL_RANGE" and code_of(answer) == OK:
                self._sealed(range_of(wanted), said.get("range") or {})
            elif wanted and name == "CREATE_RANGE" and code_of(answer) == OK and range_of(wanted) not in self.past:
                self._made.add(range_of(wanted))

    def _replica(self, key: RangeKey) -> ReplicaPast | None:
        """What was there of a range; None where a client made it."""
        return None if key in self._made else self.past.setdefault(key, ReplicaPast())

    def _append(self, entries: Iterable[Fields], results: Iterable[Fields]) -> None:
        for entry, result in zip(entries, results, strict=False):
            key, base, code = range_of(entry["meta"]), entry["meta"]["base_offset"], result["status"]["code"]
            is_first = not self._appended.get(key)
            if code == OK:
                self._appended.setdefault(key, set()).add(base)
            if code == RANGE_NOT_FOUND or (replica := self._replica(key)) is None:
                continue
            if code == OK and is_first:
                replica.next = base
            elif code == SEALED and is_first:
                replica.is_sealed = True
            elif code == COMMITTED and is_first:
                replica.next = max(replica.next or 0, base + 1)

    def _fetched(self, key: RangeKey, entries: Iterable[Fields]) -> None:
        replica = self._replica(key)
        for entry in entries if replica is not None else ():
            assert replica is not None
            base = entry["meta"]["base_offset"]
            if base not in self._appended.get(key, ()):
                replica.batches.setdefault(base, entry)

    def _sealed(self, key: RangeKey, told: Fields) -> None:
        """It was where it ends, unless appends since moved it; one that was not there is made by that."""
        end = told.get("end", -1)
        if key not in self._made and key not in self.past and end == told.get("start", -1):
            self._made.add(key)
            return
        replica = self._replica(key)
        if replica is not None and replica.next is None and end >= 0:
            replica.next = end
