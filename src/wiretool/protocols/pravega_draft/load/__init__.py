"""The load part of Pravega's draft of 2017: the users that Locust runs, and the blocking clients behind them."""

from wiretool.load.part import JoinedAppends, LoadPart, StoredFormat
from wiretool.protocols.pravega_draft.load.client import HEAD, Store

LOAD = LoadPart(
    appender="wiretool.protocols.pravega_draft.load.users:PravegaDraftAppender",
    fetcher="wiretool.protocols.pravega_draft.load.users:PravegaDraftFetcher",
    stored=StoredFormat(HEAD, lambda link, token: Store(link)),
    is_positional=True,
    recorded=JoinedAppends(writer="connection_id"),
    read_message="ReadSegment",
)
