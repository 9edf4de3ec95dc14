"""The load part of SBP: the users that Locust runs, and the blocking clients behind them."""

from wiretool.load.part import LoadPart, StoredFormat
from wiretool.protocols.sbp.load.client import HEAD, RangeTalk
from wiretool.protocols.sbp.load.recorded import appends_of

LOAD = LoadPart(
    appender="wiretool.protocols.sbp.load.users:SbpAppender",
    fetcher="wiretool.protocols.sbp.load.users:SbpFetcher",
    stored=StoredFormat(HEAD, lambda link, token: RangeTalk(link)),
    has_shared_segments=False,
    is_cumulative=False,
    recorded=appends_of(HEAD),
    read_message="FETCH",
)
