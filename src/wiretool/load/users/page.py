"""Locust's own page, for whoever wants to watch a run there."""

from collections.abc import Callable

import gevent
from flask import Response, request
from locust.env import Environment
from locust.stats import stats_history
from locust.web import WebUI

from wiretool.load.measure.intervals import Orders, PageOpen
from wiretool.net.serving.same_site import refusal

#: How often is looked whether the page is open.
LOOK_S = 0.01


def show(
    environment: Environment, orders: Orders, stop: Callable[[], None], report: Callable[[PageOpen], None]
) -> None:
    """Serve the page while the process lives, if it was ordered; its button to stop ends the run.

    `report` is called once it accepts connections.
    """
    if not orders.page_port:
        return
    page = environment.create_web_ui(orders.page_host, orders.page_port, delayed_start=True)
    assert page.app is not None, "it is made with the page"
    page.app.before_request(_refuse_other_pages)
    page.start()  # type: ignore[no-untyped-call]
    gevent.spawn(_report_when_open, page, report)
    gevent.spawn(stats_history, environment.runner)
    environment.events.test_stopping.add_listener(lambda **_: stop())  # type: ignore[no-untyped-call]


def _report_when_open(page: WebUI, report: Callable[[PageOpen], None]) -> None:
    while page.server is None or not page.server.started:
        gevent.sleep(LOOK_S)
    report(PageOpen())


def _refuse_other_pages() -> Response | None:
    """Refuse what a page of another site has a browser send: that could start loads, and stop this one."""
    why = refusal(dict(request.headers))
    return Response(f"{why}\n", status=403, mimetype="text/plain") if why else None
