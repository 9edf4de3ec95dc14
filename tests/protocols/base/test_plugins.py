"""Protocols of other packages, found through the entry point group; one that is broken ends in a line."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.frames import talk
from wiretool.consistency.registry import consistency_of
from wiretool.errors import EncodeError, UsageError
from wiretool.faults.adapter import fault_adapter_of
from wiretool.protocols.base import registry
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import Registered, protocol_named
from wiretool.replay.adapters import adapter_of
from wiretool.server.options import MockOptions
from wiretool.server.part import ServerPart, mock_for

PLUGIN = """
import sys
from dataclasses import replace
from wiretool.errors import DecodeError, UsageError
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol, Wire, imported
from wiretool.protocols.pravega_draft import PROTOCOL as DRAFT
from wiretool.server.part import ServerPart

GOOD = replace(DRAFT, name="good", ports=(23451,), rank=100)
THREE = 3
OTHER = replace(GOOD, name="other")


def fails(*args, **options):
    raise ZeroDivisionError("oops")


def exits(*args, **options):
    sys.exit(5)


def unreadable(*args):
    raise DecodeError("bad", "oops")


def refuses(*args):
    raise UsageError("oops")


def made(**changed):
    return Protocol(**({"name": "good", "title": "", "ports": (), "wire": DRAFT.wire} | changed))


class Older(Conversation):
    extent = read = candidates = trust = fails


class Faulty(type(DRAFT.open(True))):
    extent = fails


class Leaving(type(DRAFT.open(True))):
    extent = exits


OLDER = replace(imported(DRAFT.wire), open=lambda from_start: Older())
FAULTY = replace(OLDER, open=lambda from_start: Faulty(from_start))
LEAVING = replace(OLDER, open=lambda from_start: Leaving(from_start))
UNKNOWN = replace(OLDER, open=lambda from_start: None)
UNREADABLE, REFUSING = replace(OLDER, open=unreadable), replace(OLDER, open=refuses)
FAILING = ServerPart(fails)
WRONG = ServerPart(lambda options: 3)
"""
#: The port of pravega-draft.
DRAFT = 12345
SENT = json.dumps({"message": "KeepAlive", "fields": {"data": ""}})
CAPTURE = Path(__file__).parents[3] / "captures" / "pravega-draft" / "blocks.pcap"


def installed(folder: Path, code: str = "", *, package: str = "wiretool-plugin", **entries: str) -> None:
    """Lay a package in a folder as pip would install it, with these entry points."""
    (folder / "plugin.py").write_text(PLUGIN + code)
    (folder / "exiting.py").write_text("raise SystemExit(5)")
    (folder / "interrupted.py").write_text("raise KeyboardInterrupt('two\\nlines')")
    (folder / "newer.py").write_text("import plugin; X = plugin.made(newer='')")
    (folder / "wrong.py").write_text("import plugin; X = plugin.made(rank='1')")
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[wiretool.protocols]", *lines, ""]))


def wiretool(folder: Path, *words: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "wiretool", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, env=os.environ | {"PYTHONPATH": path})


def check_refused(ended: subprocess.CompletedProcess[str], line: str) -> None:
    """Check that a command was refused with one line."""
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"wiretool: {line}\n")


def test_a_plugin_is_found(tmp_path: Path) -> None:
    installed(tmp_path, good="plugin:GOOD")
    sent = json.dumps({"protocol": "good", "message": "KeepAlive", "fields": {"data": ""}})
    encoded = tmp_path / "a.pcap"
    made = wiretool(tmp_path, "encode", "--format", "pcap", "-o", encoded, stdin=sent)
    assert (made.returncode, made.stderr) == (0, "")
    shown = wiretool(tmp_path, "decode", encoded, "--protocol", "good", "--format", "ndjson")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [json.loads(line)["message"] for line in shown.stdout.splitlines()] == ["KeepAlive"]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Return a module that places can name; `exiting` beside it ends the process that imports it."""
    installed(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = ModuleType("plugin")
    exec(PLUGIN, vars(module))
    monkeypatch.setitem(sys.modules, "plugin", module)
    return module


IMPORTING = [
    ("no_such_module:X", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("plugin:NONE", "AttributeError: module 'plugin' has no attribute 'NONE'"),
    ("exiting:X", "SystemExit: 5"),
    ("interrupted:X", "KeyboardInterrupt: two lines"),
]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        *IMPORTING,
        ("plugin:THREE", "it is of the type int; expected Protocol"),
        ("plugin:OTHER", "its Protocol has the name 'other'; expected 'good'"),
        ("newer:X", "TypeError: Protocol.__init__() got an unexpected keyword argument 'newer'"),
        ("wrong:X", "Protocol.rank is '1'; expected a whole number"),
    ],
)
@pytest.mark.usefixtures("module")
def test_why_a_plugin_does_not_load(monkeypatch: pytest.MonkeyPatch, place: str, why: str) -> None:
    entries = [EntryPoint("good", place, registry.GROUP), *entry_points(group=registry.GROUP)]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    found = registry.registered.__wrapped__()
    failure = f"protocol 'good': the entry point {place} of an unknown package does not load"
    assert found.broken == [("good", f"{failure}: {why}; update or uninstall an unknown package")]
    assert [*found.protocols] == [*registry.PROTOCOLS]


def test_a_broken_plugin_ends_in_a_line_and_the_others_work(tmp_path: Path) -> None:
    installed(tmp_path, "raise SystemExit(3)", good="plugin:X")
    line = (
        "protocol 'good': the entry point plugin:X of wiretool-plugin does not load: SystemExit: 3; update or uninstall"
    )
    shown = wiretool(tmp_path, "decode", CAPTURE, "--strict", "--format", "ndjson")
    assert (shown.returncode, shown.stderr) == (0, f"wiretool: warning: {line} wiretool-plugin\n")
    assert len(shown.stdout.splitlines()) == 24
    check_refused(wiretool(tmp_path, "decode", "--protocol", "good", CAPTURE), f"{line} wiretool-plugin")


def two_connections(ports: Sequence[int], *, begin: bool) -> bytes:
    """Return a capture of the same conversation in pravega-draft, on two ports, one after the other."""
    packets = []
    for number, port in enumerate(ports):
        says = [(each.side, each.data) for each in talk("pravega-draft")]
        packets += tcp_packets(says, client=(f"10.0.0.{number + 3}", 40_000), server=("10.0.0.2", port), begin=begin)
    return pcap_bytes(packets)


@pytest.mark.parametrize("how", [("--engine", "rows"), ("--engine", "columns"), ("--workers", "2")], ids=" ".join)
@pytest.mark.parametrize(
    ("ports", "begin"),
    [((4567, DRAFT), True), ((DRAFT, 4567), True), ((4567, 4568), True), ((DRAFT, DRAFT), False)],
    ids=["other port first", "other port last", "other ports", "middle"],
)
@pytest.mark.parametrize("code", ["FAULTY", "LEAVING"])
def test_a_plugin_that_fails_on_bytes_leaves_them_to_the_others(
    tmp_path: Path, code: str, ports: tuple[int, int], begin: bool, how: tuple[str, str]
) -> None:
    """It is asked about connections before any other protocol, on its port and elsewhere; its failure is one line."""
    installed(tmp_path, f"X = made(wire='plugin:{code}', rank=1, ports=DRAFT.ports)", good="plugin:X")
    capture = tmp_path / "two.pcap"
    capture.write_bytes(two_connections(ports, begin=begin))
    shown = wiretool(tmp_path, "decode", capture, *how, "--format", "ndjson")
    why = {"FAULTY": "ZeroDivisionError: oops", "LEAVING": "SystemExit: 5"}[code]
    line = f"protocol 'good': its part 'wire' (plugin:{code}) fails on bytes of a connection: {why}"
    assert f"wiretool: warning: {line}; update or uninstall its package" in shown.stderr.splitlines()
    assert shown.stderr.count("fails on bytes") == 1
    assert shown.returncode == 0
    found = [json.loads(line) for line in shown.stdout.splitlines()]
    assert {each["protocol"] for each in found if each["kind"] == "frame"} == {"pravega-draft"}
    assert len({each["connection"] for each in found if each["kind"] == "frame"}) == 2


@pytest.mark.parametrize("code", ["print('words')", "sys.stderr.write('words\\n')"])
def test_a_plugin_that_prints_leaves_the_data_as_it_is(tmp_path: Path, code: str) -> None:
    installed(tmp_path, f"{code}\nX = GOOD", good="plugin:X")
    shown = wiretool(tmp_path, "decode", CAPTURE, "--protocol", "good", "--format", "ndjson")
    assert (shown.returncode, shown.stderr) == (0, "words\n")
    assert len([json.loads(line) for line in shown.stdout.splitlines()]) == 24


def test_of_two_with_one_name_the_first_package_has_it_and_ours_comes_first(tmp_path: Path) -> None:
    code = "DRAFTS = replace(GOOD, name='pravega-draft', title='not ours')\nTWIN = replace(GOOD, title='other')"
    installed(tmp_path, code, package="b", good="plugin:TWIN")
    installed(tmp_path, code, package="a", good="plugin:GOOD", **{"pravega-draft": "plugin:DRAFTS"})
    shown = wiretool(tmp_path, "explain", "KeepAlive", "--protocol", "pravega-draft")
    assert (shown.returncode, "not ours" in shown.stdout) == (0, False)
    assert shown.stderr.splitlines() == [
        "wiretool: warning: protocol 'pravega-draft': the entry point plugin:DRAFTS of a does not load: "
        "wiretool has a protocol with this name; update or uninstall a",
        "wiretool: warning: protocol 'good': the entry point plugin:TWIN of b does not load: "
        "a has a protocol with this name; update or uninstall b",
    ]
    assert wiretool(tmp_path, "explain", "KeepAlive", "--protocol", "good").returncode == 0


def test_ports_may_be_those_of_another_protocol(tmp_path: Path) -> None:
    installed(tmp_path, "X = replace(GOOD, ports=DRAFT.ports)", good="plugin:X")
    shown = wiretool(tmp_path, "decode", CAPTURE, "--format", "ndjson")
    assert {json.loads(line)["protocol"] for line in shown.stdout.splitlines()} == {"pravega-draft"}
    assert "pravega-draft and good both fit; read as pravega-draft; --protocol NAME decides" in shown.stderr


#: How errors call an object that is not of the kind that a part has to make.
OTHER_TYPE = "returns an object of the wrong type"
PARTS = {
    "wire": ("Wire", ("decode", "--protocol", "good", CAPTURE)),
    "columns": ("ProtocolColumns", ("decode", "--protocol", "good", "--engine", "columns", CAPTURE)),
    "server": ("ServerPart", ("serve", "good")),
    "load": ("LoadPart", ("bench", "--protocol", "good")),
    "conformance": ("Conformance", ("conform", "good")),
    "fuzz": ("FuzzPart", ("fuzz", "good", "--runs", "1")),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_another_kind_ends_in_a_line(tmp_path: Path, part: str) -> None:
    kind, words = PARTS[part]
    installed(tmp_path, f"X = replace(GOOD, {part}='plugin:THREE')", good="plugin:X")
    line = f"protocol 'good': its part '{part}' (plugin:THREE) does not load: it is of the type int; expected {kind}"
    check_refused(wiretool(tmp_path, *words), f"{line}; update or uninstall its package")


@pytest.mark.parametrize("part", ["faults", "replay"])
def test_an_adapter_that_is_not_made_ends_in_a_line(tmp_path: Path, part: str) -> None:
    installed(tmp_path, f"X = replace(GOOD, {part}='plugin:exits')", good="plugin:X")
    line = f"protocol 'good': its part {part!r} (plugin:exits) fails: SystemExit: 5; update or uninstall its package"
    check_refused(wiretool(tmp_path, "replay", CAPTURE, "--protocol", "good"), line)


@pytest.mark.usefixtures("module")
def test_why_a_part_does_not_load() -> None:
    for place, why in (*IMPORTING, ("plugin:THREE", "it is of the type int; expected ServerPart")):
        protocol = Protocol(name="good", title="", ports=(), wire="plugin:WIRE", server=place)
        with pytest.raises(
            UsageError, match=f"^protocol 'good': its part 'server' .{place}. does not load: {why}; upd"
        ):
            protocol.part("server", ServerPart)


@pytest.mark.parametrize(
    ("part", "place", "why"),
    [
        ("replay", "plugin:THREE", "fails: TypeError: 'int' object is not callable"),
        ("replay", "plugin:fails", "fails: ZeroDivisionError: oops"),
        ("faults", "plugin:made", "fails: TypeError: made() takes 0 positional arguments but 1 was given"),
        ("faults", "builtins:type", f"{OTHER_TYPE}: it is of the type type; expected FaultAdapter"),
        ("wire", "plugin:OLDER", "fails: TypeError: Can't instantiate abstract class Older with abstract method"),
        ("wire", "plugin:UNKNOWN", f"{OTHER_TYPE}: it is of the type NoneType; expected Conversation"),
        ("wire", "plugin:UNREADABLE", "fails: bad at byte 0: oops; update or uninstall its package"),
        ("wire", "plugin:REFUSING", "fails: oops; update or uninstall its package"),
        ("server", "plugin:FAILING", "fails: ZeroDivisionError: oops"),
        ("server", "plugin:WRONG", f"{OTHER_TYPE}: it is of the type int; expected Mock"),
        ("consistency", "plugin:exits", "fails: SystemExit: 5"),
    ],
)
def test_why_a_part_fails(module: ModuleType, monkeypatch: pytest.MonkeyPatch, part: str, place: str, why: str) -> None:
    protocol = replace(module.GOOD, **{part: place})
    found = Registered({"good": protocol})
    monkeypatch.setattr(registry, "registered", lambda: found)
    uses: dict[str, Callable[[], object]] = {
        "replay": lambda: adapter_of("good"),
        "faults": lambda: fault_adapter_of(protocol),
        "wire": lambda: protocol_named("good"),
        "server": lambda: mock_for("good", MockOptions()),
        "consistency": lambda: consistency_of("good"),
    }
    with pytest.raises(UsageError, match="^" + re.escape(f"protocol 'good': its part {part!r} ({place}) {why}")):
        uses[part]()
    assert list(registry.PROTOCOLS) == ([] if part == "wire" else ["good"])


def test_ports_of_messages_that_do_not_load_are_not_expected(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(module.GOOD, name="broken", ports=(23452,), wire="plugin:THREE")
    found = Registered({"good": module.GOOD, "broken": broken})
    monkeypatch.setattr(registry, "registered", lambda: found)
    assert registry.server_ports() == {23451}


def test_messages_that_do_not_load_leave_the_others_usable(tmp_path: Path) -> None:
    installed(tmp_path, "X = replace(GOOD, wire='plugin:THREE', ports=DRAFT.ports, rank=0)", good="plugin:X")
    for words in (("explain", "KeepAlive"), ("stats", CAPTURE), ("replay", CAPTURE, "--speed", "max")):
        ended = wiretool(tmp_path, *words)
        assert (ended.returncode, ended.stderr.count("wiretool: warning: protocol 'good': its part 'wire'")) == (0, 1)


@needs_protocol("sbp", "offramp")
def test_parts_that_do_not_load_are_left_out_of_lists(tmp_path: Path) -> None:
    installed(tmp_path, "X = replace(GOOD, server='plugin:NONE')", good="plugin:X")
    ended = wiretool(tmp_path, "serve", "sbp", "--road", "a")
    refusal, warning = ended.stderr.splitlines()
    assert (ended.returncode, refusal) == (2, "wiretool: --road: not allowed with sbp; only with offramp")
    assert warning.startswith("wiretool: warning: protocol 'good': its part 'server' (plugin:NONE) does not load")


def test_a_bug_in_a_plugin_is_not_one_of_wiretool(tmp_path: Path) -> None:
    installed(tmp_path, "X = replace(GOOD, wire='plugin:FAULTY')", good="plugin:X")
    ended = wiretool(tmp_path, "decode", CAPTURE, "--protocol", "good")
    assert ended.returncode == 70
    assert ended.stderr.splitlines()[-2:] == [
        "ZeroDivisionError: oops",
        "wiretool: this is a bug in the plugin of the protocol 'good'; "
        "please report it to its authors with the lines above",
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("serve", "good"), "good: it has no mock server; expected one of pravega, "),
        (("replay", CAPTURE), "good: it has no mock server; expected one of pravega, "),
        (("bench", "--protocol", "good", "--message", SENT), "good: it has no mock server; expected one of pravega, "),
        (
            ("bench", "--protocol", "good"),
            "--protocol good: the protocol has no load part; expected --message JSON, or ",
        ),
        (("conform", "good"), "good: it has no conformance cases; expected one of pravega, "),
        (("fuzz", "good", "--runs", "1"), "good: it has no conformance cases, so no sessions of its own; expected "),
        (
            ("tap", "good", "--upstream", "127.0.0.1:9", "--fault", "message == 'KeepAlive': wrong checksum"),
            "--fault \"message == 'KeepAlive': wrong checksum\": frames of good have no checksum",
        ),
    ],
)
def test_a_command_names_the_part_that_is_missing(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    installed(tmp_path, "X = made(ports=DRAFT.ports, rank=0)", good="plugin:X")
    ended = wiretool(tmp_path, *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    # Two protocols fit the capture: that is a remark before the error.
    assert ended.stderr.splitlines()[-1].startswith(f"wiretool: {why}")


def test_a_protocol_without_a_mock_is_replayed_on_a_target(tmp_path: Path) -> None:
    installed(tmp_path, "X = made(ports=DRAFT.ports, rank=0)", good="plugin:X")
    ended = wiretool(tmp_path, "replay", CAPTURE, "--target", "127.0.0.1:9", "--dry-run")
    assert ended.returncode == 0, ended.stderr


def test_the_declarations_name_requests_failures_and_json_forms(module: ModuleType) -> None:
    wire = module.imported(module.DRAFT.wire)
    plain = replace(module.GOOD, wire=replace(wire, from_json=None, exchanges=None))
    assert ("ReadSegment", "client") in plain.exchanges.asks
    assert not [name for name, side in plain.exchanges.asks if side != "client"]
    assert plain.exchanges.failure("NoSuchSegment", None) == "NoSuchSegment"
    assert plain.exchanges.failure("SegmentRead", None) is None
    message = plain.from_json("NoSuchSegment", "server", {"segment": "a"})
    assert message == module.DRAFT.from_json("NoSuchSegment", "server", {"segment": "a"})
    with pytest.raises(EncodeError, match=r"no message is called 'NoSuchSegmnt' \(did you mean NoSuchSegment\?\)"):
        plain.from_json("NoSuchSegmnt", "server", {})


def test_help_lists_the_protocols_that_are_installed(tmp_path: Path) -> None:
    code = "FIRST = replace(GOOD, name='first', rank=0)"
    installed(tmp_path, code, good="plugin:GOOD", first="plugin:FIRST")
    assert re.search(r"server: first,.* good\b", " ".join(wiretool(tmp_path, "serve", "--help").stdout.split()))
    assert "protocol of the server [default: first]" in " ".join(wiretool(tmp_path, "bench", "--help").stdout.split())
