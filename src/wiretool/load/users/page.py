"""Locust's own page, for whoever wants to watch a run there."""

from collections.abc import Callable

import gevent
from locust.env import Environment
from locust.stats import stats_history

from wiretool.load.intervals import Orders


def show(environment: Environment, orders: Orders, stop: Callable[[], None]) -> None:
    """Serve the page while the process lives, if it was ordered; its button to stop ends the run."""
    if not orders.page_port:
        return
    environment.create_web_ui(orders.page_host, orders.page_port)
    gevent.spawn(stats_history, environment.runner)
    environment.events.test_stopping.add_listener(lambda **_: stop())  # type: ignore[no-untyped-call]
