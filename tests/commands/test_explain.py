import json
import subprocess
import sys

import pytest

from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.explain import messages_called, names_of
from wiretool.sinks.text.explain import as_json, name_of, overview, page

EVERY = [(protocol, cls) for protocol in PROTOCOLS.values() for cls in protocol.messages]


@pytest.mark.parametrize(
    ("protocol", "cls"), EVERY, ids=lambda each: getattr(each, "name", getattr(each, "__name__", ""))
)
def test_every_message_has_a_page(protocol: Protocol, cls: type[Message]) -> None:
    text = page(protocol, cls, width=80)
    assert " ".join(text.split()).startswith(f"{name_of(cls)} {protocol.name} ")
    assert all(len(line) <= 80 for line in text.splitlines())
    assert json.dumps(as_json(protocol, cls))


@pytest.mark.parametrize("width", [40, 60])
def test_a_page_fits_a_narrow_terminal(width: int) -> None:
    protocol, cls = messages_called([PROTOCOLS["pravega"]], "SetupAppend")[0]
    text = page(protocol, cls, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "asks for its last stored event number." in " ".join(text.split())
    assert "clause WireCommands.java SetupAppend; Wire Protocol, Setup Append - Request" in " ".join(text.split())


def test_a_name_is_found_however_it_is_spelt() -> None:
    protocols = list(PROTOCOLS.values())
    for name in ("SetupAppend", "SETUP_APPEND", "setupappend", "setup_append"):
        assert [protocol.name for protocol, _ in messages_called(protocols, name)] == ["pravega", "pravega-draft"]
    assert {cls.__name__ for _, cls in messages_called([PROTOCOLS["sbp"]], "FETCH")} == {
        "FetchRequest",
        "FetchResponse",
    }


def test_a_name_that_nobody_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no message is called 'SetupApend' \(did you mean SetupAppend\?\)"):
        messages_called(list(PROTOCOLS.values()), "SetupApend")


def test_all_messages_are_listed() -> None:
    text = overview(list(PROTOCOLS.values()), width=200)
    assert all(any(name in text for name in names_of(cls)) for _, cls in EVERY if "declaration" in cls.__dict__)
    assert all(f"{protocol.name}: {protocol.title}" in text for protocol in PROTOCOLS.values())


def test_json_for_programs() -> None:
    command = [sys.executable, "-m", "wiretool", "explain", "Hello", "--format", "json"]
    pages = json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout)
    assert [field["field"] for field in pages[0]["fields"]] == ["high_version", "low_version"]
    assert pages[0]["sender"] == "both"
