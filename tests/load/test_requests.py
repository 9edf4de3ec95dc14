"""The load on a protocol without a load part: one request again and again."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.protocols.base.test_plugins import installed
from wiretool.dissect.dissector import read
from wiretool.errors import UsageError
from wiretool.load.link import Failed
from wiretool.load.measure.verdict import expected_operations
from wiretool.load.part import EXCHANGES, load_part, loadable
from wiretool.load.planning.validate import Load, plan_from
from wiretool.load.requests import Requests, request_from
from wiretool.protocols.base import registry
from wiretool.protocols.base.registry import PROTOCOLS, Registered
from wiretool.protocols.pravega_draft.messages import NoSuchSegment

READ = json.dumps({"message": "ReadSegment", "fields": {"segment": "a", "offset": 0, "suggested_length": 10}})
DRAFT = PROTOCOLS["pravega-draft"]
REPLY = DRAFT.encode(NoSuchSegment(segment="a"), "server")
REPLIED = json.dumps({"message": "NoSuchSegment", "fields": {"segment": "a"}})


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register Pravega's draft once more, without a load part."""
    plain = replace(DRAFT, name="plain", load="", rank=100)
    found = Registered({**PROTOCOLS, "plain": plain})
    monkeypatch.setattr(registry, "registered", lambda: found)
    return "plain"


def requests() -> Requests:
    return Requests(DRAFT, request_from("pravega-draft", READ))


@pytest.mark.parametrize("cut", range(1, len(REPLY)))
def test_replies_are_counted_wherever_they_are_cut(cut: int) -> None:
    sent = requests()
    assert [sent.next() for _ in range(3)] == [sent.next()] * 3
    assert (sent.last, sent.size) == (4, len(sent.next()))
    data = REPLY * 3
    found = [sent.feed(data[at : at + cut]) for at in range(0, len(data), cut)]
    assert [number for number in found if number] == sorted({*found} - {0})
    assert max(found) == 3
    assert sent.feed(REPLY) == 4


def test_a_new_connection_knows_nothing_of_the_old_one() -> None:
    sent = requests()
    sent.next()
    sent.feed(REPLY[:3])
    sent.reopen()
    sent.last = 0
    assert sent.rest == b""
    sent.next()
    assert sent.feed(REPLY) == 1


def test_bytes_of_another_protocol_end_the_connection() -> None:
    with pytest.raises(Failed, match="the reply is not pravega-draft: ") as caught:
        requests().feed(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert caught.value.kind.startswith("not pravega-draft: ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "--message: not JSON"),
        ("[]", "--message: expected an object, got a list; expected {"),
        ('{"fields": {}}', "--message: field message is missing; expected {"),
        ('{"message": "Nope"}', "--message: pravega-draft has no message 'Nope'; expected {\"message\": ..."),
        ('{"message": "ReadSegment", "fields": {"segment": 1}}', "--message: "),
        (REPLIED, "--message: NoSuchSegment is sent by servers, not by clients; expected {"),
    ],
)
def test_what_is_not_a_request(text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        request_from("pravega-draft", text)
    assert str(caught.value).startswith(why)


def test_a_protocol_without_a_part_has_exchanges(plain: str) -> None:
    assert plain not in loadable()
    assert load_part(plain) == EXCHANGES
    plan = plan_from(Load(protocol=plain, message=READ, pipeline=3), is_verified=True, run="run")
    assert (plan.appenders, plan.message, plan.is_verified) == (64, READ, False)
    assert expected_operations(plan, is_drained=False) == [("exchange",)]


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ({}, "--protocol plain: the protocol has no load part; expected --message JSON, or one of pravega, "),
        ({"message": READ, "fetchers": 2}, "--fetchers: not allowed with --message"),
        ({"message": READ, "batch": 2}, "--batch: not allowed with --message"),
        ({"message": READ, "event_size": "1K"}, "--event-size: not allowed with --message"),
        ({"message": READ, "segments": 2}, "--segments: not allowed with --message"),
        ({"message": READ, "is_conditional": True}, "--conditional: not allowed with --message"),
        ({"message": READ, "has_backlog": True}, "--backlog: not allowed with --message"),
        ({"message": READ, "road": "one"}, "--road one: only offramp has roads, --protocol is plain"),
        ({"message": READ, "protocol": "sbp"}, "--message: not allowed with sbp, which has appends or messages of"),
    ],
)
def test_options_that_make_no_sense(plain: str, option: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_from(Load(**{"protocol": plain, **option}), is_verified=True, run="run")
    assert str(caught.value).startswith(why)


PLUGIN = """
from dataclasses import replace
from wiretool.protocols.pravega_draft import PROTOCOL

PLAIN = replace(PROTOCOL, name="plain", ports=(23_452,), rank=100, load="")
"""


@pytest.mark.parametrize("options", [(), ("--pipeline", "3", "--rate", "500")])
def test_a_plugin_without_a_load_part_is_loaded(tmp_path: Path, options: tuple[str, ...]) -> None:
    installed(tmp_path, plain="plugin:PLAIN")
    (tmp_path / "plugin.py").write_text(PLUGIN)
    report, slow = tmp_path / "report.json", tmp_path / "slow.pcapng"
    command = [sys.executable, "-m", "wiretool", "bench", "--protocol", "plain", "--message", READ, "--appenders", "2"]
    command += ["--duration", "1", "--warmup", "0.2", "--json", str(report), "--keep-slow", str(slow), *options]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": path})
    found = json.loads(report.read_text())
    assert ended.returncode == (0 if found["valid"] else 1), ended.stderr
    assert list(found["operations"]) == ["exchange"]
    assert found["operations"]["exchange"]["count"] > 100
    assert found["operations"]["exchange"]["errors"] == 0
    assert found["options"]["message"] == READ
    messages = {record.message for record in read(slow, protocol="pravega-draft")}
    assert messages == {"ReadSegment", "NoSuchSegment"}
