"""The load parts of protocols: found through the registry, those of plugins too."""

import subprocess
import sys
from types import ModuleType

import pytest

from tests.helpers.examples import needs_protocol
from wiretool.errors import UsageError
from wiretool.load.measure.verdict import expected_operations
from wiretool.load.part import Consumption, LoadPart, describe_owners, load_part, loadable, user_places
from wiretool.load.planning.plan import Plan
from wiretool.load.planning.validate import Load, plan_from
from wiretool.protocols.base import registry
from wiretool.protocols.base.protocol import Protocol, imported
from wiretool.protocols.base.registry import PROTOCOLS, Broken, Registered

USERS = (
    "OfframpConsumer",
    "PravegaAppender",
    "PravegaDraftAppender",
    "PravegaDraftFetcher",
    "PravegaFetcher",
    "SbpAppender",
    "SbpBatchAppender",
    "SbpBatchFetcher",
    "SbpFetcher",
)
CONSUMED = Consumption(message="M", request="R", number="n", cancel="C")


@needs_protocol("offramp")
@needs_protocol("sbp-0.1")
def test_the_protocols_with_a_part_in_order() -> None:
    assert loadable() == ["pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp"]


@pytest.mark.parametrize("name", loadable())
def test_a_part_fits_together(name: str) -> None:
    part = load_part(name)
    assert set(part.reads) < set(part.operations)
    assert part.is_read_only == (part.stored is None) == isinstance(part.recorded, Consumption)
    messages = PROTOCOLS[name].message_names
    if isinstance(part.recorded, Consumption):
        assert {part.recorded.message, part.recorded.request, part.recorded.cancel} <= messages
    else:
        assert part.read_message in messages


@needs_protocol("offramp")
@needs_protocol("sbp-0.1")
def test_a_part_imports_no_locust_and_a_user_class_does() -> None:
    script = f"""
import sys
import wiretool.load
from wiretool.load.part import load_part, loadable

for name in loadable():
    load_part(name)
assert set({USERS}) <= set(dir(wiretool.load))
assert "locust" not in sys.modules
print(*(getattr(wiretool.load, name).__name__ for name in {USERS}))
assert "locust" in sys.modules
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert tuple(ended.stdout.split()) == USERS


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "pravega-controller",
            "--protocol pravega-controller: the protocol has no load part; expected pravega, ",
        ),
        ("sbpp", r"no protocol is called 'sbpp' \(did you mean sbp\?\); there are pravega, "),
    ],
)
def test_a_protocol_without_a_part_is_refused_in_a_line(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load_part(name)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Register a protocol from outside whose clients only read, one whose part is broken, and one that is broken."""
    outside = ModuleType("outside_wiretool")
    vars(outside)["LOAD"] = LoadPart(fetcher="outside_wiretool:OutsideReader", batch=7, recorded=CONSUMED)
    vars(outside)["OutsideReader"] = type("OutsideReader", (), {})
    monkeypatch.setitem(sys.modules, "outside_wiretool", outside)
    plain = {"title": "", "ports": (), "wire": PROTOCOLS["pravega-draft"].wire}
    added = [
        Protocol(name="outside", load="outside_wiretool:LOAD", **plain),  # type: ignore[arg-type]
        Protocol(name="lame", load="outside_wiretool:NOTHING", **plain),  # type: ignore[arg-type]
    ]
    found = Registered(
        {**PROTOCOLS, **{each.name: each for each in added}}, [Broken("dead", "protocol 'dead': does not load")]
    )
    monkeypatch.setattr(registry, "registered", lambda: found)
    return outside


@needs_protocol("offramp")
def test_a_plugin_is_loaded_as_ours_are(plugins: ModuleType) -> None:
    assert loadable()[-2:] == ["outside", "lame"]
    assert imported(user_places()["OutsideReader"]) is plugins.OutsideReader
    assert describe_owners("roads", lambda part: part.is_read_only) == "only offramp and outside have roads"
    assert describe_owners("wings", lambda _: False) == "no protocol has wings"
    plan = plan_from(Load(protocol="outside", fetchers=2), is_verified=False, run="run")
    assert (plan.appenders, plan.fetchers, plan.batch) == (0, 2, 7)
    assert expected_operations(plan, is_drained=False) == [("fetch", "tail")]


@needs_protocol("offramp")
@needs_protocol("sbp-0.1")
@pytest.mark.usefixtures("plugins")
def test_a_broken_plugin_keeps_no_other_from_working() -> None:
    assert {*USERS} <= {*user_places()}
    for name, why in (("lame", "its part 'load' .* does not load"), ("dead", "protocol 'dead': does not load")):
        with pytest.raises(UsageError, match=why):
            load_part(name)


@needs_protocol("offramp")
def test_which_operation_reads_depends_on_the_part() -> None:
    plan = Plan(protocol="offramp", appenders=0, fetchers=1, duration_s=1.0, run="run")
    assert expected_operations(plan, is_drained=False) == [("consume", "tail")]
