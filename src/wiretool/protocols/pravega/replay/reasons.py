"""Why servers of Pravega's protocol may answer otherwise than they were recorded to: each with its clause."""

from wiretool.records import Record
from wiretool.replay.adapter import Excuse, Verdict

WRONG_HOST = Excuse(
    Verdict.EXPLAINED,
    "the recorded store did not have the container of the segment, this one has all (§5.1)",
)
UNAUTHORISED = Excuse(
    Verdict.EXPLAINED, "the recorded store asked for another delegation token; this one may ask for none (§4.3)"
)
VERSION = Excuse(Verdict.EXPLAINED, "the recorded server has a wire version that no mock supports (§4.1)")
MERGED_BEFORE = Excuse(
    Verdict.EXPLAINED,
    "for a segment that is already merged the store returns either reply, until cleanup (MERGE_SEGMENTS, §5.2)",
)
EMPTY_PAGE = Excuse(
    Verdict.EXPLAINED, "a delta without entries has 0 as its last position, some servers repeat the one asked (§5.2)"
)
REFUSED_AGAIN = Excuse(
    Verdict.EXPLAINED,
    "the recorded store forgot a writer whose append it had refused and ended the connection with its next one; "
    "the mock refuses that too (§3.7)",
)
FORGOTTEN = Excuse(
    Verdict.EXPLAINED,
    "a store forgets a writer whose append it refuses: if another one is on its way it ends the connection, and may "
    "do so before it sends the reason (§3.7)",
)
OUTRAN = Excuse(
    Verdict.EXPLAINED,
    "appends that came in one piece with their SetupAppend end a connection (§3.5); how bytes are packed is not kept",
)
PIPELINED = Excuse(
    Verdict.EXPLAINED,
    "the recorded store refused a conditional append before those ahead of it were stored, and so this one (§3.7)",
)
EXPIRED = Excuse(
    Verdict.EXPLAINED, "the token had expired: the recorded store closed the connection without a reply (§4.3)"
)
BROKEN = Excuse(
    Verdict.EXPLAINED,
    "the recorded store took an append to this table, which broke it for good (§5.2)",
)
DIED = Excuse(Verdict.EXPLAINED, "the recorded server ended the connection by itself: it died, stopped or timed out")
SEALED_AT = Excuse(
    Verdict.EXPLAINED,
    "SegmentIsSealed returns the event number of an append (§2); the recorded server returned the segment's length",
)
AT_ONCE = Excuse(
    Verdict.EXPLAINED, "segments are merged at once, and each reply has the length of the target at that time"
)
ACKS = Excuse(Verdict.EXPLAINED, "acks are merged as they come; this one follows another one than was recorded")
OVERTAKEN = Excuse(
    Verdict.EXPLAINED, "appends of several connections were on their way: the store takes them in any order"
)
ASKED_BEFORE = Excuse(Verdict.UNKNOWN, "its request is from before the recording")
UNPAIRED = Excuse(Verdict.UNKNOWN, "the recording begins in the middle: the requests of its first replies are unknown")
CUT_SHORT = Excuse(
    Verdict.UNKNOWN, "the recorded server ended the connection instead of an answer, the recording does not show why"
)
NOT_RECORDED = Excuse(Verdict.UNKNOWN, "the recorded server's reply, if any, is not in the recording")
MORE_ENTRIES = Excuse(Verdict.UNKNOWN, "the table was there before the recording, which does not show all of it")


def name_record(excuse: Excuse, record: Record | int) -> Excuse:
    """Return a reason that names the record that shows it."""
    number = record if isinstance(record, int) else record.n
    return excuse._replace(why=f"{excuse.why} (record {number})")
