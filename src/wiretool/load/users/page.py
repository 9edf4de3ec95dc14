"""Locust's own page, for whoever wants to watch a run there."""

from collections.abc import Callable

import gevent
from flask import Response, request
from locust.env import Environment
from locust.stats import stats_history

from wiretool.load.intervals import Orders
from wiretool.net.same_site import refusal


def show(environment: Environment, orders: Orders, stop: Callable[[], None]) -> None:
    """Serve the page while the process lives, if it was ordered; its button to stop ends the run."""
    if not orders.page_port:
        return
    page = environment.create_web_ui(orders.page_host, orders.page_port, delayed_start=True)
    assert page.app is not None, "it is made with the page"
    page.app.before_request(_refuse_other_pages)
    page.start()  # type: ignore[no-untyped-call]
    gevent.spawn(stats_history, environment.runner)
    environment.events.test_stopping.add_listener(lambda **_: stop())  # type: ignore[no-untyped-call]


def _refuse_other_pages() -> Response | None:
    """Refuse what a page of another site has a browser send: that could start loads, and stop this one."""
    why = refusal(dict(request.headers))
    return Response(f"{why}\n", status=403, mimetype="text/plain") if why else None
