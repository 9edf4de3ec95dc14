"""The load part of SBP v0.1: the users that Locust runs, and the blocking clients behind them."""

from wiretool.load.part import LoadPart, StoredFormat
from wiretool.protocols.sbp.load.recorded import appends_of
from wiretool.protocols.sbp_0_1.load.client import HEAD, StreamTalk

LOAD = LoadPart(
    appender="wiretool.protocols.sbp_0_1.load.users:SbpBatchAppender",
    fetcher="wiretool.protocols.sbp_0_1.load.users:SbpBatchFetcher",
    stored=StoredFormat(HEAD, lambda link, token: StreamTalk(link)),
    has_shared_segments=False,
    is_cumulative=False,
    recorded=appends_of(HEAD),
    read_message="FETCH",
)
