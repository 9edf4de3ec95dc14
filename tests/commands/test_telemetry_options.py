"""`--otlp` of serve and tap: refusals before a socket opens, and nothing loaded that no option asks for."""

import sys
from contextlib import ExitStack

import pytest

from wiretool.commands.serve.telemetry import both, observer_for, traces_url
from wiretool.errors import UsageError


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("https://otlp.example/", "https://otlp.example/v1/traces"),
        ("http://[::1]:4318/base", "http://[::1]:4318/base/v1/traces"),
        ("http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318/v1/traces"),
    ],
)
def test_the_path_of_traces_is_added(text: str, url: str) -> None:
    assert traces_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1:4318",
        "grpc://h:4317",
        "http://",
        "http://h:port",
        "http://h:99999",
        "http://[::1",
        "http://h/?a=b",
        "http://a b",
        "x",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a URL; expected http://HOST:PORT") as caught:
        traces_url(text)
    assert str(caught.value).startswith(f"--otlp {text}: ")


@pytest.mark.parametrize("text", ["http://user:secret@127.0.0.1:1/", "http://user:secret@h:port", "http://TOKEN@h"])
def test_a_password_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(UsageError, match=r"--otlp http://\*\*\*@") as caught:
        traces_url(text)
    assert "secret" not in str(caught.value)
    assert "TOKEN" not in str(caught.value)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    monkeypatch.delitem(sys.modules, "wiretool.net.telemetry.spans", raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    with (
        ExitStack() as stack,
        pytest.raises(UsageError, match=r"is not installed; pip install '\.\[otlp\]' in a clone"),
    ):
        observer_for("", "http://127.0.0.1:4318", stack, seen_by="server")


def test_a_bad_variable_of_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")
    with ExitStack() as stack, pytest.raises(UsageError, match="an OTEL_ variable of the environment is not valid: "):
        observer_for("", "http://127.0.0.1:4318", stack, seen_by="server")


def test_no_option_costs_nothing() -> None:
    with ExitStack() as stack:
        assert observer_for("", "", stack, seen_by="client") == (None, None)


def test_both_are_called() -> None:
    called: list[int] = []
    look = both(lambda: called.append(1), lambda: called.append(2))
    assert look is not None
    look()
    assert called == [1, 2]
    assert both(None, None) is None
    assert both(None, look) is look
