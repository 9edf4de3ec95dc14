"""The load part of Offramp: the users that Locust runs, and the blocking clients behind them."""

from wiretool.load.part import Consumption, LoadPart

LOAD = LoadPart(
    fetcher="wiretool.protocols.offramp.load.users:OfframpConsumer",
    operations=("consume", "tail", "commit"),
    reads=("consume", "tail"),
    batch=1_000,
    recorded=Consumption(message="MESSAGE", request="REQUEST", number="count", cancel="CANCEL"),
)
