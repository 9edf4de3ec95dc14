"""The state of an open flow as bytes, from which another process goes on: what is in them, class by class.

They begin with a line that says which version of this schema they follow. Bytes of another one are refused, and so is
what does not follow the schema: nothing in a state can name a class, a function or a file.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from typing import Annotated, Literal, Protocol

import msgspec

import wiretool
from wiretool import limits
from wiretool.analysis.exchange_rows import Source
from wiretool.analysis.exchanges import Open, Requests
from wiretool.analysis.subjects import Subject
from wiretool.capture.columns.streams import BulkStreams
from wiretool.capture.tcp.closed_flows import PACKED_BYTES, EndedFlows
from wiretool.capture.tcp.direction import Flow as StreamFlow
from wiretool.capture.tcp.direction import Shared
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.reassembly_buffer import Held, Piece, Pieces, Ranges
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.capture.tcp.stream_events import NO_DUPLICATES, Connection, Data, End, Finding, Gap
from wiretool.codec.columns import Integers
from wiretool.codec.frames.splitter import Mark, Splitter
from wiretool.codec.state_types import (
    ARRAY,
    BOOL,
    BYTES,
    COUNTED,
    INT,
    LONGS,
    NATURAL,
    OFFSETS,
    SIDE,
    TEXT,
    FieldType,
    StateError,
    fresh,
    host,
    many,
    method,
    named,
    optional,
    pairs,
    plain,
    ref,
    row,
)
from wiretool.codec.states import NotInSchemaError, Schema, StateClass, attributes, value
from wiretool.dissect.columns.column_protocols import ColumnProtocols
from wiretool.dissect.columns.numbering import Numbers, Settled
from wiretool.dissect.columns.pace import Pace
from wiretool.dissect.columns.pending_batch import PendingBatch
from wiretool.dissect.columns.pending_output import PendingOutput
from wiretool.dissect.columns.read import BulkDissector
from wiretool.dissect.columns.rounds import Rounds
from wiretool.dissect.columns.watch import BulkWatch, EndedBulkWatch
from wiretool.dissect.connection import connection_number
from wiretool.dissect.dissector import Connections
from wiretool.dissect.foreign_bytes import ForeignBytes
from wiretool.dissect.packet_index import Stretches
from wiretool.errors import CaptureError, UsageError
from wiretool.ledger import Account, ConnectionAccount, Ledger
from wiretool.memory_budget import MemoryBudget
from wiretool.pipeline.flows.deduplicate import Once, Seen
from wiretool.pipeline.flows.positions import Places
from wiretool.pipeline.flows.reading import Flow, Over
from wiretool.pipeline.flows.segments import Namer
from wiretool.pipeline.tables import Kept
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.registry import PROTOCOLS, protocols_with, registered
from wiretool.protocols.base.state import ConversationState
from wiretool.sinks.arrow.events import Block

#: Counts the forms that states have had; within one, the fingerprint of the schema tells the fields apart.
FORM = 3
#: Bytes of the checksum after that line.
DIGEST_BYTES = 16
#: The first line of a state of any version.
_HEAD = re.compile(rb"(wiretool [\w.+-]{1,40} flow \d{1,9}(?:-[0-9a-f]{1,40})?)\n")
#: The name of a state that is from another process.
_NO_FILE = "state of an open flow"
_RESTART = "start again with another checkpoint and other tables"

_PROTOCOL = named(lambda: PROTOCOLS, lambda protocol: str(protocol.name))
_HOW = Literal["fin", "rst", "reused", "capture-end", "evicted"]
_MAYBE_SIDE = plain(Literal["client", "server", ""])
_ITEM = ref(Data, Gap, Finding, End)
_SIDES = many(SIDE, frozenset)
_NO_DUPLICATES = 0, 0
_DUPLICATES = FieldType(
    tuple[int, int],
    lambda sizes, _: (sizes["client"], sizes["server"]),
    lambda sizes, _: NO_DUPLICATES if sizes == _NO_DUPLICATES else {"client": sizes[0], "server": sizes[1]},
)
_NUMBERS_AND_PACE = row(ref(Numbers), ref(Pace))
#: How new watches are made: of the numbers and the pace of their dissector.
_KIND = FieldType(
    _NUMBERS_AND_PACE.wire,
    lambda kind, dumper: _NUMBERS_AND_PACE.dump_of()(kind.args, dumper),
    lambda given, loader: partial(BulkWatch, *_NUMBERS_AND_PACE.load_of()(given, loader)),
)


class Index(Protocol):
    """What is asked by numbers that the rest of a state holds."""

    def keep(self, numbers: Integers, /) -> None: ...


@cache
def schema() -> Schema:
    """Return the schema, with what the protocols add to it.

    UsageError where a part of a plugin does not load: without it, the fingerprint would be another.
    """
    known = registered().protocols
    states: list[ConversationState] = [known[name].part("state", ConversationState) for name in protocols_with("state")]
    own = _classes([each.conversation for each in states])
    return Schema([*own, *(cls for each in states for cls in each.classes)])


@cache
def state_head() -> bytes:
    """Return the line with which states of this version begin."""
    return f"wiretool {wiretool.__version__} flow {FORM}-{schema().fingerprint}\n".encode()


def serialize(flow: Flow, kept: Kept, indices: Sequence[Index]) -> bytes:
    """Return a flow, and what tables know of it, as bytes.

    Of its `indices` is kept what numbers in the state may ask for: each whole number in it is taken for one.
    UsageError where its protocol has no schema of open conversations.
    """
    try:
        body = schema().dump([flow, kept], {id(index): index.keep for index in indices})
    except NotInSchemaError as err:
        raise _missing_state(err) from err
    return b"".join((state_head(), blake2b(body, digest_size=DIGEST_BYTES).digest(), body))


def _missing_state(err: NotInSchemaError) -> Exception:
    """Return the error of a protocol without a state part; `err` where the class is not a conversation."""
    if not issubclass(err.cls, Conversation):
        return err
    name = next(name for name, protocol in PROTOCOLS.items() if type(protocol.open(False)) is err.cls)
    known = ", ".join(protocols_with("state"))
    return UsageError(
        f"{name}: it has no schema by which open connections are saved between batches; expected one of {known}; "
        "`pipeline run` needs none"
    )


def deserialize(data: bytes, hosts: Mapping[str, object], *, name: str = "") -> tuple[Flow, Kept]:
    """Return the flow that was serialized, with hosts of these names; `name` is that of its file, for errors.

    UsageError where another version of wiretool has written it; CaptureError where it is damaged, or was forged.
    """
    head = state_head()
    if not data.startswith(head):
        other = _HEAD.match(data)
        if other is None:
            why = f"damaged state: it begins with none of the lines that wiretool writes; {_RESTART}"
            raise CaptureError(name or _NO_FILE, why)
        by = other[1].decode("ascii")
        raise UsageError(
            f"the state of an open flow is of {by!r}; expected {head.decode().strip()!r}; "
            "continue with the version that wrote it, or start again in another folder"
        )
    digest, body = data[len(head) : len(head) + DIGEST_BYTES], data[len(head) + DIGEST_BYTES :]
    try:
        if blake2b(body, digest_size=DIGEST_BYTES).digest() != digest:
            raise StateError("its checksum is wrong")
        flow, kept = schema().load(body, (Flow, Kept), hosts)
    except StateError as err:
        why = f"damaged state: {err}; {_RESTART}"
        raise CaptureError(name or _NO_FILE, why) from None
    return flow, kept


def _classes(conversations: Sequence[type]) -> list[StateClass]:
    return [*_PIPELINE, *_TABLES, *_STREAMS, *_ITEMS, *_DISSECTOR, *_watches(conversations)]


_PIPELINE = (
    attributes(
        "flow",
        Flow,
        key=BYTES,
        places=ref(Places),
        once=ref(Once),
        ledger=ref(Ledger),
        over=many(ref(Over)),
        dissector=ref(BulkDissector),
    ),
    value("over", Over, connection=ref(Connection), account=ref(ConnectionAccount)),
    attributes("namer", Namer, _flow=BYTES, _seen=pairs(row(INT, INT, BOOL), INT, lambda each: Counter(dict(each)))),
    attributes(
        "places", Places, _files=many(ARRAY), _numbers=many(ARRAY), _count=INT, _kept=ARRAY, _before=INT
    ),
    attributes("once", Once, _seen=pairs(INT, many(ref(Seen))), _tail=many(ARRAY, tuple), _files=many(INT, set)),
    attributes("seen", Seen, turn_ns=INT, length=INT, files=many(INT, set)),
    attributes("ledger", Ledger, _accounts=many(ref(ConnectionAccount)), _complete=host(lambda _: None)),
    attributes(
        "connection-account", ConnectionAccount, connection=INT, client=TEXT, server=TEXT, protocol=TEXT,
        tls=TEXT, is_decrypted=BOOL, account=ref(Account),
    ),
    attributes("account", Account, **dict.fromkeys(Account.__dataclass_fields__, INT)),
)  # fmt: skip
_SUBJECT = ref(Subject)
_TABLES = (
    value("kept", Kept, protocols=pairs(INT, TEXT), blocks=pairs(INT, ref(Block)), requests=ref(Open)),
    value("event-block", Block, n=INT, offset=INT, raw=BYTES, protocol=TEXT),
    value(
        "open",
        Open,
        about=pairs(row(INT, TEXT), many(_SUBJECT, tuple)),
        requests=optional(ref(Requests)),
        sources=many(ref(Source)),
        subjects=many(optional(_SUBJECT)),
        writers=many(optional(TEXT)),
    ),
    value("requests", Requests, **dict.fromkeys(Requests.__dataclass_fields__, ARRAY)),
    value("source", Source, connection=INT, client=TEXT, server=TEXT, protocol=TEXT, message=TEXT, side=SIDE),
    value("subject", Subject, kind=TEXT, name=TEXT),
)
_OPTIONAL_INT = optional(INT)
_STREAMS = (
    attributes(
        "streams",
        LentStreams,
        _server_ports=many(INT, frozenset),
        _flows=pairs(BYTES, ref(StreamFlow)),
        _tracked=pairs(ref(Connection), ref(StreamFlow)),
        _ended=pairs(BYTES, ref(EndedFlows)),
        _name=ref(Namer),
        _shared=ref(Shared),
        _recent=ref(RecentRuns),
        _unstarted=pairs(ref(StreamFlow), fresh(type(None))),
        _waiting=pairs(ref(StreamFlow), fresh(type(None))),
        _look_ns=INT,
        _last=optional(ref(Segment)),
    ),
    attributes("shared", Shared, recent=ref(RecentRuns), held=ref(Held), no_pieces=ref(Pieces), no_ranges=ref(Ranges)),
    attributes("held", Held, size=COUNTED),
    attributes(
        "stream-flow",
        StreamFlow,
        peer=ref(StreamFlow),
        key=BYTES,
        connection=ref(Connection),
        side=SIDE,
        recent=ref(RecentRuns),
        is_plain=BOOL,
        is_started=BOOL,
        is_ended=BOOL,
        seq=INT,
        offset=INT,
        isn=_OPTIONAL_INT,
        ack=_OPTIONAL_INT,
        first_ack=_OPTIONAL_INT,
        fin=_OPTIONAL_INT,
        reach=INT,
        pieces=ref(Pieces),
        missing=ref(Ranges),
        settle_ns=INT,
        settle_packets=INT,
        settle_offset=INT,
    ),
    attributes("pieces", Pieces, Pieces.count_again, _pieces=many(ref(Piece)), _held=ref(Held), size=COUNTED),
    attributes("ranges", Ranges, _ranges=many(row(INT, INT)), _most=fresh(lambda: limits.FLOW_HOLES_MAX)),
    attributes(
        "ended-flows",
        EndedFlows,
        _key=BYTES,
        connection=ref(Connection),
        _packed=plain(Annotated[bytes, msgspec.Meta(min_length=PACKED_BYTES, max_length=PACKED_BYTES)]),
        _missing=many(ref(Ranges), tuple),
    ),
    StateClass(
        "recent",
        RecentRuns,
        {"bytes_max": INT, "next": INT, "streams": many(row(ref(Connection), SIDE)), "rows": OFFSETS, "data": BYTES},
        split=RecentRuns.split,
        restore=RecentRuns.restore,
    ),
)
_PLACE = {"time_ns": INT, "packet": INT}
_ITEMS = (
    attributes(
        "connection",
        Connection,
        id=INT,
        client=TEXT,
        client_port=INT,
        server=TEXT,
        server_port=INT,
        opened=BOOL,
        closed=plain(_HOW | Literal[""]),
        reset_by=_MAYBE_SIDE,
        duplicate_bytes=_DUPLICATES,
        first_ns=INT,
        last_ns=INT,
        packets=INT,
        reader=optional(ref(BulkWatch, EndedBulkWatch)),
        is_understood=BOOL,
    ),
    value("data", Data, connection=ref(Connection), side=SIDE, offset=INT, data=BYTES, **_PLACE),
    value(
        "gap", Gap, connection=ref(Connection), side=SIDE, offset=INT, length=NATURAL, **_PLACE, is_exact=BOOL, why=TEXT
    ),
    value(
        "finding", Finding, connection=ref(Connection), side=SIDE, offset=INT, length=INT, kind=TEXT, why=TEXT,
        **_PLACE, data=BYTES,
    ),
    value("end", End, connection=ref(Connection), side=_MAYBE_SIDE, how=plain(_HOW), **_PLACE),
    value("piece", Piece, offset=INT, data=BYTES, **_PLACE),
    value(
        "segment", Segment, number=INT, time_ns=INT, flow=BYTES, seq=INT, ack=INT, flags=INT, payload=BYTES, cut=INT
    ),
    value("mark", Mark, end=INT, packet=INT, time_ns=INT),
    attributes("stranger", ForeignBytes, length=INT, offset=INT, first_packet=INT, last_packet=INT, time_ns=INT),
    attributes("stretches", Stretches, _numbers=LONGS, _packets=LONGS),
)  # fmt: skip
_DISSECTOR = (
    attributes(
        "dissector",
        BulkDissector,
        BulkDissector.begin_steady,
        _numbers=ref(Numbers),
        _pace=ref(Pace),
        _pending=ref(PendingBatch),
        _connections=ref(Connections),
        _recent=ref(RecentRuns),
        _flows=ref(LentStreams),
        _steady=host(lambda _: None),
        _rounds=ref(Rounds),
        _streams=ref(BulkStreams),
        _last_packet=INT,
        _deferred=fresh(type(None)),
        _later=fresh(type(None)),
        _ragged=fresh(set),
    ),
    attributes(
        "pending-batch",
        PendingBatch,
        _numbers=ref(Numbers),
        _tell=host(lambda loader: loader.hosts["notes"]),
        output=fresh(lambda: PendingOutput([], [])),
        expanded_bytes=fresh(int),
        _notes=many(row(INT, TEXT)),
    ),
    attributes("column-protocols", ColumnProtocols, _connections=ref(Connections)),
    attributes(
        "rounds",
        Rounds,
        numbers=ref(Numbers),
        pace=ref(Pace),
        watch_of=method(BulkDissector, "_watch"),
        take=method(BulkDissector, "_take"),
    ),
    attributes(
        "connections",
        Connections,
        _numbers=method(Numbers, "take"),
        _kind=_KIND,
        forced=optional(_PROTOCOL),
        _ports=pairs(INT, _PROTOCOL),
        _ledger=ref(Ledger),
        _notes=method(BulkDissector, "_note"),
        _opened=method(Flow, "note_opened"),
        _count=INT,
        _watches=pairs(ref(Connection), ref(BulkWatch)),
        unfinished=ref(MemoryBudget),
    ),
    attributes(
        "unfinished",
        MemoryBudget,
        MemoryBudget.count_again,
        bytes_max=fresh(lambda: limits.UNFINISHED_BYTES_MAX),
        size=COUNTED,
        _sizes=pairs(ref(BulkWatch), NATURAL),
        _number_of=fresh(lambda: connection_number),
    ),
    attributes(
        "numbers",
        Numbers,
        next=INT,
        _step=INT,
        _last=INT,
        _packet=INT,
        _free=INT,
        _left=pairs(INT, INT),
        _count=INT,
        _settled=many(ref(Settled)),
        _firsts=many(INT),
    ),
    attributes("settled", Settled, _arrays=row(ARRAY, ARRAY, ARRAY, ARRAY), _packed=fresh(tuple)),
    attributes(
        "pace",
        Pace,
        growth=plain(Annotated[int, msgspec.Meta(gt=0)]),
        _bytes_per_record=plain(float),
        _bytes_together=plain(float),
    ),
    attributes(
        "column-streams",
        BulkStreams,
        BulkStreams.begin_steady,
        _streams=ref(LentStreams),
        _recent=ref(RecentRuns),
        _steady=host(lambda _: None),
        _leave=method(BulkDissector, "_leave"),
        _close=method(BulkDissector, "_close"),
        _is_single=method(ColumnProtocols, "is_single"),
        _is_start=method(ColumnProtocols, "is_start"),
        _is_expected=method(ColumnProtocols, "is_expected"),
        _turns=fresh(type(None)),
        pause=INT,
        feeds_each=BOOL,
    ),
)


def _watches(conversations: Sequence[type]) -> list[StateClass]:
    """What reads a connection, and frames in it: in one of the protocols."""
    conversation = ref(*conversations)
    return [
        attributes(
            "watch",
            BulkWatch,
            BulkWatch.count_again,
            _connection=ref(Connection),
            _began=BOOL,
            _forced=optional(_PROTOCOL),
            _expected=many(_PROTOCOL, tuple),
            _every=many(_PROTOCOL, tuple),
            _row=ref(ConnectionAccount),
            _account=ref(Account),
            _next_n=method(Numbers, "take"),
            _note=method(BulkDissector, "_note"),
            _over=optional(method(Connections, "_let_go")),
            _held=many(_ITEM),
            _held_bytes=COUNTED,
            _look_at=INT,
            _waiting=many(_ITEM),
            _waiting_bytes=COUNTED,
            _unfinished=optional(ref(MemoryBudget)),
            _in_doubt=BOOL,
            _protocol=TEXT,
            _foreign=TEXT,
            _conversation=optional(conversation),
            _splitters=pairs(SIDE, ref(Splitter)),
            _strangers=pairs(SIDE, ref(ForeignBytes)),
            _open_sides=_SIDES,
            _ended=_SIDES,
            _latest_packet=INT,
            _stretches=ref(Stretches),
            _is_settled=BOOL,
            _numbers=ref(Numbers),
            _pace=ref(Pace),
        ),
        attributes("ended-watch", EndedBulkWatch, _row=ref(ConnectionAccount), _next_n=method(Numbers, "take")),
        attributes(
            "splitter",
            Splitter,
            Splitter.count_again,
            _framing=conversation,
            _side=SIDE,
            _offset=INT,
            _parts=many(BYTES),
            _held=COUNTED,
            _need=NATURAL,
            _skip=NATURAL,
            _skip_error=TEXT,
            _skip_why=TEXT,
            _marks=many(ref(Mark)),
            _lost_error=TEXT,
            _lost_why=TEXT,
            is_searching=BOOL,
            _at_start=BOOL,
        ),
    ]
