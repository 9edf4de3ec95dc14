"""The observer of a server or tap, where options ask for one: `--control` for metrics, `--otlp` for spans."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from wiretool.codec.message import Side
from wiretool.commands.options import tell
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.net.telemetry.observer import RunObserver
    from wiretool.net.telemetry.spans import SpanSender

#: Where OTLP receivers accept spans (OTLP/HTTP: the path of traces).
TRACES_PATH = "/v1/traces"
Look = Callable[[], None]


def observer_for(
    control: str, otlp: str, stack: ExitStack, *, seen_by: Side
) -> "tuple[RunObserver | None, Look | None]":
    """Return the observer of a run, and what to call regularly; None for what no option asks for.

    When `stack` ends, the last spans are sent. UsageError for a URL that is not one, or where the extra is missing.
    """
    if not control and not otlp:
        return None, None
    from wiretool.net.telemetry.observer import RunObserver

    observer = RunObserver()
    if not otlp:
        return observer, None
    sender = sender_for(otlp, seen_by=seen_by)
    observer.listen(sender.take)
    stack.callback(lambda: end(observer, sender))

    def look() -> None:
        observer.flush()
        report(sender)

    return observer, look


def sender_for(text: str, *, seen_by: Side) -> "SpanSender":
    """Return the sender of spans to an endpoint. UsageError as in `observer_for`, and for OTEL_* out of range."""
    url = traces_url(text)
    try:
        from wiretool.net.telemetry.spans import SpanSender
    except ModuleNotFoundError as err:
        raise UsageError(
            f"--otlp: {err.name} is not installed; pip install '.[otlp]' in a clone of wiretool brings it"
        ) from err
    try:
        return SpanSender(url, seen_by=seen_by)
    except ValueError as err:
        raise UsageError(f"--otlp: an OTEL_ variable of the environment is not valid: {err}") from err


def traces_url(text: str) -> str:
    """Return the URL that spans are sent to: the path of traces is added to a base URL."""
    shown = re.sub("//[^/]*@", "//***@", text)
    problem = (
        f"--otlp {shown}: not a URL; expected http://HOST:PORT or https://HOST:PORT, such as http://127.0.0.1:4318"
    )
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as err:  # a port that is not a number, or brackets that do not close
        raise UsageError(problem) from err
    if not is_url or parts.query or parts.fragment or any(map(str.isspace, text)):
        raise UsageError(problem)
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"--otlp {shown}: a password in a URL; expected headers in OTEL_EXPORTER_OTLP_HEADERS")
    return text if parts.path.endswith(TRACES_PATH) else text.rstrip("/") + TRACES_PATH


def report(sender: "SpanSender") -> None:
    """Report a receiver that does not accept spans, once."""
    if text := sender.report():
        tell(text)


def end(observer: "RunObserver", sender: "SpanSender") -> None:
    """Send the last spans, and report those that were lost."""
    observer.end()
    lost = sender.close()
    report(sender)
    if lost:
        tell(lost)


def both(first: Look | None, second: Look | None) -> Look | None:
    """Return what calls both; None where there are none."""
    if first is None or second is None:
        return first or second

    def look() -> None:
        first()
        second()

    return look
