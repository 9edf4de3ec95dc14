"""Every protocol by name and port."""

import re
import signal
import subprocess
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols.base import protocol as protocol_module
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS, expected_on, owner_of, protocol_named, server_ports


def names(protocols: tuple[Protocol, ...]) -> list[str]:
    return [protocol.name for protocol in protocols]


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        (12345, ["pravega", "pravega-draft"]),
        (12346, ["pravega"]),
        (10911, ["sbp", "sbp-0.1"]),
        (12378, ["sbp", "sbp-0.1"]),
        (8080, ["offramp"]),
        (9090, ["pravega-controller"]),
        (80, []),
    ],
)
def test_what_is_expected_on_a_port_newest_first(port: int, expected: list[str]) -> None:
    assert names(expected_on(port)) == expected
    assert (port in server_ports()) == bool(expected)


def test_a_protocol_by_its_name() -> None:
    assert [protocol_named(name).name for name in PROTOCOLS] == list(PROTOCOLS)
    with pytest.raises(UsageError, match=r"no protocol is called 'pravga' \(did you mean pravega\?\); there are"):
        protocol_named("pravga")


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_what_a_protocol_declares_is_its_own(protocol: Protocol) -> None:
    assert protocol.messages
    assert protocol.title
    for cls in protocol.messages:
        assert issubclass(cls, Message)
        assert owner_of(cls) is not None
        assert cls.__doc__, f"{cls.__name__} says nothing of itself"


def test_of_two_that_declare_a_class_the_first_owns_it() -> None:
    for cls in {cls for protocol in PROTOCOLS.values() for cls in protocol.messages}:
        assert owner_of(cls) is next(protocol for protocol in PROTOCOLS.values() if cls in protocol.messages)
    assert owner_of(Message) is None


def test_only_what_is_spoken_is_loaded() -> None:
    program = (
        "import sys; from wiretool.protocols.base.registry import expected_on, server_ports;"
        "expected_on(8080); server_ports(); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "wiretool.protocols.pravega" in loaded
    assert not [name for name in loaded if name.endswith((".wire", ".messages")) or name == "numpy"]


def test_ctrl_c_waits_for_the_end_of_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []

    def interrupted(name: str) -> ModuleType:
        signal.raise_signal(signal.SIGINT)
        imported.append(name)
        return sys

    monkeypatch.setattr(protocol_module, "import_module", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Protocol(name="any", title="", ports=(), wire="any.module:version").part("wire", object)
    assert imported == ["any.module"]


@pytest.mark.parametrize(
    ("field", "values", "expected"),
    [
        ("name", ("", "a/b", "A", "auto", "a\x1b[31m", 3, None), "lower-case letters, digits"),
        ("title", (None, 3), "a string"),
        ("ports", ("80", [80], 80, None, ("a",), (0,), (70_000,), (True,)), "a tuple of TCP ports"),
        ("wire", (None, "", "module", 3), "'module:attribute', or a Wire"),
        ("rank", ("1", None, 1.5, True), "a whole number"),
        ("server", (3, None, "module", ":x", b"a:b"), "'module:attribute'"),
        ("fuzz", (3, "a:b c"), "'module:attribute'"),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused(field: str, values: tuple[object, ...], expected: str) -> None:
    right: dict[str, Any] = {
        "name": "any",
        "title": "",
        "ports": (1, 0xFFFF),
        "wire": "a.b:c",
        "server": "",
        "fuzz": "a:b",
    }
    assert Protocol(**right)
    for value in values:
        with pytest.raises(UsageError, match=rf"^Protocol\.{field} is .*; expected {re.escape(expected)}"):
            Protocol(**right | {field: value})


def test_a_wire_has_messages_alone() -> None:
    wire = protocol_module.imported(str(PROTOCOLS["pravega"].wire))
    with pytest.raises(UsageError, match=r"^Wire\.messages is \(<class 'int'>,\); expected subclasses of Message"):
        replace(wire, messages=(int,))
