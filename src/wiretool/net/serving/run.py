"""A whole run of `wiretool serve` or `tap`: from options that were checked to the last goodbye."""

import asyncio
import json
import os
import ssl
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from wiretool.errors import system_reason, write_error
from wiretool.net.addresses import Address
from wiretool.net.loops import calm_collector, fill_standard_streams, loop_factory
from wiretool.net.serving.station import Station
from wiretool.net.signals import on_stop

#: How often the counters on a terminal are drawn anew.
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a host or tap listens and whom it tells."""

    listens: Mapping[str, Address]
    context: ssl.SSLContext | None = None
    ready_file: Path | None = None
    duration_s: float | None = None
    #: Called with the doors' addresses once clients may come.
    ready: Callable[[Mapping[str, Address]], None] = field(default=lambda bound: None)
    #: Called again and again while it runs.
    look: Callable[[], None] | None = None
    #: Whether the totals are reported at the end.
    has_totals: bool = True
    #: Entered when the doors are open, and left when it stops: the control API; each gives where it is.
    beside: Mapping[str, AbstractAsyncContextManager[Address]] = field(default_factory=dict)


def run(running: Station, plan: Plan) -> None:
    """Serve until SIGINT, SIGTERM or the end of the duration.

    PeerError where a door cannot be opened; BrokenPipeError or UsageError where what is said can be written no longer.
    """
    fill_standard_streams()
    calm_collector()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(running, plan))


async def serve(running: Station, plan: Plan) -> None:
    """As `run`, on a loop that is there."""
    stopped = asyncio.Event()
    running.on_failure = stopped.set
    with on_stop(stopped.set):
        await _run(running, plan, stopped)


async def _run(running: Station, plan: Plan, stopped: asyncio.Event) -> None:
    try:
        bound = {door: await running.listen(door, address, plan.context) for door, address in plan.listens.items()}
        async with AsyncExitStack() as stack:
            beside = {name: await stack.enter_async_context(context) for name, context in plan.beside.items()}
            if plan.ready_file is not None:
                tell_ready(plan.ready_file, running, bound, beside)
                stack.callback(plan.ready_file.unlink, missing_ok=True)
            plan.ready(bound)
            await _until(stopped, plan)
            if plan.has_totals:
                running.tell(running.totals())
    finally:
        await running.stop()
    if running.failure is not None:
        raise running.failure


def tell_ready(path: Path, running: Station, bound: Mapping[str, Address], beside: Mapping[str, Address]) -> None:
    """Write the file that says the server is ready, whole or not at all. UsageError where it cannot be written."""
    endpoints = {name: str(address) for name, address in bound.items()}
    others = {name: str(address) for name, address in beside.items()}
    text = json.dumps({"protocol": running.protocols[0], "pid": os.getpid(), "endpoints": endpoints, **others})
    whole = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        whole.write_text(text + "\n")
        whole.replace(path)
    except OSError as err:
        raise write_error(f"cannot write {path}: {system_reason(err)}", err) from err


async def _until(stopped: asyncio.Event, plan: Plan) -> None:
    """Wait for the end, with a look at the counters now and then."""
    loop = asyncio.get_running_loop()
    end = inf if plan.duration_s is None else loop.time() + plan.duration_s
    while not stopped.is_set() and (rest_s := end - loop.time()) > 0:
        if plan.look is not None:
            plan.look()
            rest_s = min(LOOK_S, rest_s)
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), None if rest_s == inf else rest_s)
