"""The control API: a running server or tap over HTTP, on loopback, described by OpenAPI at /openapi.json."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Annotated, Any, Protocol

import uvicorn
from fastapi import Body, FastAPI, HTTPException, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel
from starlette.middleware.trustedhost import TrustedHostMiddleware

from wiretool import __version__
from wiretool.errors import PeerError, UsageError
from wiretool.expectations import expectation
from wiretool.faults import parse_rule
from wiretool.net.addresses import Address
from wiretool.net.bell import Bell
from wiretool.net.serving.openapi import METRICS, NO_CONTENT, refusals
from wiretool.net.serving.same_site import is_of_other_site
from wiretool.net.sockets import Socket, why_lost
from wiretool.net.telemetry.metrics import Observed, RunMetrics

LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: How long answers that are under way may take when it stops.
GOODBYE_S = 1.0
#: The longest wait for a rule that a client may ask for.
WAIT_S_MAX = 600.0
#: Headers by which a browser names the page that sends a request.
_PAGE_HEADERS = {"origin", "referer"}


class Subject(Observed, Protocol):
    """What is controlled: a host or a tap."""

    @property
    def bell(self) -> Bell: ...
    def connections(self) -> Iterator[Socket]: ...
    def messages(self) -> Mapping[str, Mapping[str, int]]: ...
    def operate(self, what: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]: ...
    def restart(self) -> None: ...
    def wake(self) -> None: ...
    def cut(self, connection: int, *, is_abort: bool) -> bool: ...


class ConnectionRow(BaseModel):
    """An open connection."""

    connection: int
    endpoint: str
    client: str
    server: str


class RuleText(BaseModel):
    """A rule in its one-line form."""

    rule: str


class RuleRow(BaseModel):
    """A rule that is in force: how often its condition was true, it acted, and it could not act, and why last."""

    id: int
    rule: str
    matches: int
    hits: int
    failures: int
    why: str


def control_app(subject: Subject, allowed_hosts: Sequence[str] = ()) -> FastAPI:
    """Return the API for a subject; requests may name these hosts beside those of loopback."""
    app = FastAPI(
        title="wiretool control",
        version=__version__,
        description="Control a server or tap of wiretool that runs.",
        docs_url=None,
        redoc_url=None,
        responses=refusals(400, 403),
        generate_unique_id_function=lambda route: route.name,
    )
    # A page in a browser may reach loopback too: by a name of its own, which is not served, or by ours.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]", *allowed_hosts])

    @app.middleware("http")
    async def no_pages(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        """Browsers name the page that asks; nobody else does."""
        if _PAGE_HEADERS & {*request.headers} or is_of_other_site(request.headers):
            return PlainTextResponse("the control API refuses requests from web pages", status_code=403)
        return await go_on(request)

    @app.exception_handler(UsageError)
    async def _refused(request: object, err: UsageError) -> Response:
        return PlainTextResponse(str(err), status_code=400)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: object, err: RequestValidationError) -> Response:
        return PlainTextResponse("; ".join(map(_problem, err.errors())), status_code=422)

    _add_views(app, subject)
    _add_rules(app, subject)
    _add_deeds(app, subject)
    return app


def _problem(error: Mapping[str, Any]) -> str:
    """Return one problem of a request: the name of the input, and what was expected of it."""
    _, *names = error["loc"]
    return f"{'.'.join(map(str, names)) or 'body'}: {expectation(error['msg'])}"


def _add_views(app: FastAPI, subject: Subject) -> None:
    run_metrics = RunMetrics(subject)

    @app.get("/connections")
    async def connections() -> list[ConnectionRow]:
        """The connections that are open."""
        return [
            ConnectionRow(connection=end.number, endpoint=end.label, client=str(end.peer), server=str(end.local))
            for end in subject.connections()
        ]

    @app.get("/metrics", response_class=PlainTextResponse, responses=METRICS)
    async def metrics(request: Request) -> Response:
        """Metrics for Prometheus, or in OpenMetrics where the Accept header prefers that."""
        content, content_type = run_metrics.render(request.headers.get("accept", ""))
        return Response(content, headers={"content-type": content_type})

    @app.get("/messages")
    async def messages() -> dict[str, dict[str, int]]:
        """How many messages of each name each side has sent so far."""
        return {side: dict(counts) for side, counts in subject.messages().items()}


def _add_rules(app: FastAPI, subject: Subject) -> None:
    def row(number: int) -> RuleRow:
        standing = subject.faults.standings.get(number)
        if standing is None:
            raise HTTPException(404, f"no rule {number}")
        return RuleRow(
            id=number,
            rule=standing.rule.text,
            matches=standing.matches,
            hits=standing.hits,
            failures=standing.failures,
            why=standing.why,
        )

    @app.get("/rules")
    async def rules() -> list[RuleRow]:
        """The fault rules in force."""
        return [row(number) for number in subject.faults.rules]

    @app.post("/rules", status_code=201, responses=refusals(422))
    async def add_rule(body: RuleText) -> RuleRow:
        """Put a rule in force, for bytes that come from now on."""
        return row(subject.faults.add(parse_rule(body.rule, protocols=subject.protocols)))

    @app.delete("/rules/{number}", status_code=204, responses=NO_CONTENT | refusals(404, 422))
    async def remove_rule(number: int) -> None:
        """Take a rule out of force."""
        row(number)
        subject.faults.remove(number)
        subject.wake()

    @app.post("/rules/{number}/wait", responses=refusals(404, 408, 422, 503))
    async def wait(
        number: int,
        count: Annotated[int, Query(ge=1)] = 1,
        timeout_s: Annotated[float, Query(gt=0, le=WAIT_S_MAX)] = 10.0,
    ) -> RuleRow:
        """Wait until a rule was hit so often; 408 where it was not in time."""
        row(number)
        if not await subject.bell.until(lambda: row(number).hits >= count, timeout_s):
            if subject.bell.is_silent:
                raise HTTPException(503, "the server has stopped")
            raise HTTPException(408, f"rule {number} was hit {row(number).hits} times in {timeout_s} s, not {count}")
        return row(number)


def _add_deeds(app: FastAPI, subject: Subject) -> None:
    @app.post("/operations/{name}", responses=refusals(422))
    async def operate(
        name: Annotated[str, Path(description="operation of the server's protocol, such as scale, seal, publish")],
        arguments: Annotated[dict[str, Any], Body()],
    ) -> dict[str, Any]:
        """Do something to the server's state from outside its protocol."""
        return dict(subject.operate(name, arguments))

    @app.post("/restart", status_code=204, responses=NO_CONTENT)
    async def restart() -> None:
        """Reset every connection and forget all state, as a crashed server would."""
        subject.restart()

    @app.delete("/connections/{number}", status_code=204, responses=NO_CONTENT | refusals(404, 422))
    async def cut(number: int, abort: bool = False) -> None:
        """Close a connection; with `abort` by a reset."""
        if not subject.cut(number, is_abort=abort):
            raise HTTPException(404, f"no connection {number}")


class _Quiet(uvicorn.Server):
    """Leaves signals to whoever runs the loop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def controlled(
    subject: Subject, address: Address, *, say: Callable[[str], None], allowed_hosts: Sequence[str] = ()
) -> AbstractAsyncContextManager[Address]:
    """Return the context in which the API is served at an address; `say` takes a line with the address.

    UsageError for an address that is not loopback, unless requests may name other hosts than those of loopback.
    """
    if address.host not in LOOPBACK and not allowed_hosts:
        raise UsageError(
            f"--control {address}: not a loopback address; expected 127.0.0.1 or ::1, or --allow-remote HOST"
        )
    return _controlled(subject, address, say, allowed_hosts)


@asynccontextmanager
async def _controlled(
    subject: Subject, address: Address, say: Callable[[str], None], allowed_hosts: Sequence[str]
) -> AsyncIterator[Address]:
    config = uvicorn.Config(
        control_app(subject, allowed_hosts), log_config=None, access_log=False, lifespan="off", ws="none"
    )
    server = _Quiet(config)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(tuple(address), family=family)
    except OSError as err:
        raise PeerError(f"cannot listen on {address} (control): {why_lost(err)}") from err
    with listening:
        running = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            bound = Address(*listening.getsockname()[:2])
            say(f"control API at http://{bound}")
            yield bound
        finally:
            subject.bell.silence()
            server.should_exit = True
            await asyncio.wait({running}, timeout=GOODBYE_S)
            server.force_exit = True
            await running
