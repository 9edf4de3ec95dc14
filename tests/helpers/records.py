"""Records made by hand."""

from io import BytesIO
from typing import Annotated, Any

from wiretool.codec.message import Doc, Message, Unit, message
from wiretool.codec.nested import Nested
from wiretool.codec.types import I32, I64, Bytes32, Flag, ListOf, Rest, Text, UuidText
from wiretool.records import Record
from wiretool.sinks.output import Output

START_NS = 1_700_000_000_000_000_000
WRITER = "01234567-89ab-cdef-fedc-ba9876543210"


class Pair(Message, frozen=True, kw_only=True):
    """A key and its value."""

    key: Text
    value: Bytes32


@message(type_id=9, spec="a test", sender="both")
class Sample(Message, frozen=True, kw_only=True):
    """Something of everything."""

    request_id: Annotated[I64, Doc("chosen by the client")]
    offset: Annotated[I32, Unit("bytes"), Doc("where to begin")] = 0
    writer_id: UuidText = WRITER
    at_tail: Flag = False
    segment: Text = "scope/stream/0"
    pairs: Annotated[tuple[Pair, ...], ListOf(Nested(Pair))] = ()
    data: Rest = b""


def a_record(**changes: Any) -> Record:
    """A frame, unless the changes say otherwise."""
    values: dict[str, Any] = {
        "n": 1,
        "kind": "frame",
        "time_ns": START_NS,
        "connection": 0,
        "client": "10.0.0.1:40000",
        "server": "10.0.0.2:12345",
        "side": "client",
        "protocol": "pravega",
        "message": "Sample",
        "fields": Sample(request_id=7),
        "packets": (3, 4),
        "offset": 100,
        "length": 20,
    }
    return Record(**(values | changes))


def a_gap(**changes: Any) -> Record:
    """A hole in what the server sent."""
    values = {"kind": "gap", "side": "server", "message": "", "fields": None, "length": 1448, "why": "1448 bytes"}
    return a_record(**(values | changes))


def a_problem(**changes: Any) -> Record:
    """A defect of the frame before it."""
    values = {
        "kind": "problem",
        "message": "",
        "fields": None,
        "length": 0,
        "error": "bad-count",
        "why": "a count of -1",
    }
    return a_record(**(values | changes))


def an_other(**changes: Any) -> Record:
    """Bytes of an unknown protocol."""
    values = {"kind": "other", "protocol": "", "message": "", "fields": None, "length": 5321, "why": "TLS"}
    return a_record(**(values | changes))


class Paper(Output):
    """An output that can be read."""

    def __init__(self) -> None:
        self.file = BytesIO()
        super().__init__(self.file)

    @property
    def text(self) -> str:
        """All that was written so far."""
        self.flush()
        return self.file.getvalue().decode()
