"""The interface of a consistency model: records in, anomalies out, and the questions that read everything back.

A model knows no I/O. A protocol declares its own in the module that `Protocol.consistency` names.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from typing import Literal, NamedTuple

from wiretool.codec.message import Message, Side
from wiretool.records import Record

AnomalyName = Literal["lost-event", "doubled-event", "changed-event"]

#: Yields messages to send on one connection, and is sent the records of the replies. An empty list asks for the
#: server's next messages; the answer is empty where none came in the time that the asker allows.
ReadTalk = Generator[Sequence[Message], Sequence[Record], None]


class Anomaly(NamedTuple):
    """A read that contradicts an acknowledgement."""

    name: AnomalyName
    #: In the protocol's own words: a segment, a range, a partition.
    place: str
    #: One sentence.
    why: str
    #: Numbers of the records that prove it, the fewest: the append, its acknowledgement, the read.
    evidence: tuple[int, ...]


class Question(NamedTuple):
    """A conversation that reads one place back, on a new connection of its own."""

    place: str
    #: The name of the mock server's endpoint that answers it.
    endpoint: str
    #: The address of the server in the records, `ip:port`: each server has data of its own. Empty for any server.
    server: str
    talk: ReadTalk
    #: Seconds that must pass before it is asked, for a server that shows its latest events some time later.
    after_s: float = 0.0


class Consistency(ABC):
    """The acknowledged events of one server, over all of its connections, in the order of time.

    `is_new`: the server had no data before the first record, so that every stored event must be in the records.
    """

    def __init__(self, *, is_new: bool = False) -> None:
        self.is_new = is_new

    @property
    @abstractmethod
    def judged(self) -> int:
        """Return the number of acknowledged events that reads returned or showed to be missing.

        Zero means that nothing was compared.
        """

    @abstractmethod
    def follow(self, record: Record) -> Sequence[Anomaly]:
        """Take the next record of either side; return the anomalies that it proves, each once.

        Records of other protocols and of other kinds than `frame` change nothing.
        """

    @abstractmethod
    def forget(self, connection: int, side: Side) -> None:
        """Bytes of a connection are missing: their content is unknown, and nothing that depends on it is judged."""

    def end(self) -> Sequence[Anomaly]:
        """Return the anomalies that a missing byte could have explained: there are no more records.

        A gap may be reported later than records of other connections that depend on its content.
        """
        return ()

    @abstractmethod
    def questions(self) -> Iterable[Question]:
        """Return the questions whose answers contain all acknowledged events that nothing has deleted."""
