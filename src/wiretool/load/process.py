"""`python -m wiretool.load.process`: a process of its own in which Locust runs, as importing it changes Python.

It reads its orders, one line of JSON, from standard input, and says what it has to say, a line of JSON at a time, on
standard output (load/intervals.py). A stop signal and the end of standard input end the run early.
"""

import logging
import os
import sys
from collections.abc import Callable
from functools import partial

import gevent
import msgspec
from gevent.socket import wait_read
from locust.env import Environment

from wiretool.load.distributed import Master, Worker
from wiretool.load.drain import Drain
from wiretool.load.intervals import Orders, Said
from wiretool.load.plan import GRACE_S
from wiretool.load.running import Running
from wiretool.load.session import Session
from wiretool.load.slowest import Slowest
from wiretool.load.users.figures import feed
from wiretool.load.users.ordered import user_classes
from wiretool.load.users.page import show
from wiretool.load.users.sessions import share
from wiretool.processes import STOP_SIGNALS, hand_over_signals

STDIN = 0
OLD_NEWS = ("didn't have proper args", "CPU usage above 90%", "CPU usage was too high")


def main() -> None:
    """Do what standard input orders."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    logging.getLogger("locust.runners").setLevel(logging.ERROR)
    for name in ("locust.runners", "root"):
        logging.getLogger(name).addFilter(is_news)
    if orders.role == "local":
        play(orders)
    else:
        player = Master(orders, say) if orders.role == "master" else Worker(orders, say)
        end_with(player.stop)
        player.run()


def play(orders: Orders) -> None:
    """All users in this process."""
    plan = orders.plan
    assert plan is not None
    classes = user_classes(plan)
    environment = Environment(user_classes=list(classes), host=plan.target, stop_timeout=GRACE_S)
    session = Session(run=plan.run, drain=Drain() if plan.has_backlog else None, slowest=Slowest(plan.keep_slow))
    share(environment, session)
    end_with(session.end)
    users = sum(classes.values())
    runner = environment.create_local_runner()
    show(environment, orders, session.end, say)
    runner.start(users, spawn_rate=users)
    Running(plan, session, say, count=partial(feed, environment.stats)).run(users)
    runner.quit()


def is_news(record: logging.LogRecord) -> bool:
    """Whether somebody should read that: our users end by themselves, which Locust's stopping may stumble over.

    And that a processor is used up stands in the report.
    """
    return not any(text in record.getMessage() for text in OLD_NEWS)


def end_with(stop: Callable[[], None]) -> None:
    """Stop when a signal says so, or whoever gave the orders is gone."""
    hand_over_signals()
    for number in STOP_SIGNALS:
        gevent.signal_handler(number, stop)
    gevent.spawn(_watch_orders, stop)


def _watch_orders(stop: Callable[[], None]) -> None:
    said = b"?"
    while said:
        wait_read(STDIN)
        said = os.read(STDIN, 1)
    stop()


def say(said: Said) -> None:
    """Write it as a line."""
    try:
        sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # nobody listens any more: there is nothing left to do
        os._exit(0)


if __name__ == "__main__":
    main()
