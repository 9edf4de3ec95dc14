"""The load part of Pravega: the users that Locust runs, and the blocking clients behind them."""

from wiretool.load.part import JoinedAppends, LoadPart, StoredFormat
from wiretool.protocols.pravega.load.client import HEAD, Store

LOAD = LoadPart(
    appender="wiretool.protocols.pravega.load.users:PravegaAppender",
    fetcher="wiretool.protocols.pravega.load.users:PravegaFetcher",
    stored=StoredFormat(HEAD, Store),
    has_conditional_appends=True,
    recorded=JoinedAppends(writer="writer_id"),
    read_message="ReadSegment",
    mock_options=("--controller", "127.0.0.1:0"),
    run_stream="wiretool.protocols.pravega_controller.load.streams:ControllerStream",
)
