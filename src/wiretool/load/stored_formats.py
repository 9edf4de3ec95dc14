"""How what was written is read back, by protocol."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from wiretool.load.events import Head
from wiretool.load.link import Link
from wiretool.protocols.pravega.load import client as pravega
from wiretool.protocols.pravega_draft.load import client as pravega_draft
from wiretool.protocols.sbp.load import client as sbp
from wiretool.protocols.sbp_0_1.load import client as sbp_0_1


class Reader(Protocol):
    """A connection over which segments are read."""

    link: Link

    def read(self, segment: str) -> Iterator[bytes]:
        """All bytes that a segment has now, a piece at a time. Unmet where it has lost its first ones."""


class Dialect(NamedTuple):
    """What stands before each event as it is stored, and who reads that."""

    head: Head
    reader: Callable[[Link], Reader]


#: The protocols in which can be appended, by name.
DIALECTS: Mapping[str, Dialect] = {
    "pravega": Dialect(pravega.HEAD, pravega.Store),
    "pravega-draft": Dialect(pravega_draft.HEAD, pravega_draft.Store),
    "sbp": Dialect(sbp.HEAD, sbp.RangeTalk),
    "sbp-0.1": Dialect(sbp_0_1.HEAD, sbp_0_1.StreamTalk),
}
