"""The plugin in pytest runs of its own, within this process."""

from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.testing.hello import exchange_hello
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.testing.marks import ServerSettings
from wiretool.testing.plugin import fixture_name, fixtures_module
from wiretool.testing.recordings import decode_command, new_recording
from wiretool.testing.start import start_mock

pytest_plugins = ["pytester"]
pytestmark = needs_protocol("pravega", "sbp", "offramp")
#: A test that fails after a message of a client.
FAILING = """
import pytest
from tests.testing.hello import exchange_hello

@pytest.mark.parametrize("name", ["a/b", "c d"])
def test_order(pravega_server, name):
    exchange_hello(pravega_server)
    assert pravega_server.received() == []

def test_fine(pravega_server):
    exchange_hello(pravega_server)
"""


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load all that the runs need: pytester unloads modules after a run, and libraries in C crash when loaded again."""
    import_module("wiretool.testing.fixtures")
    for name in ("pravega", "sbp", "offramp"):
        server = start_mock(name, ServerSettings(process=False), tmp_path_factory.mktemp("loaded") / "x.pcapng")
        if name == "pravega":
            exchange_hello(server)
        server.received("length == 1")
        server.stop()


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    """Run a test file."""
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly", *options)


def test_every_protocol_with_a_mock_has_a_fixture() -> None:
    names = set(vars(fixtures_module()))
    assert names >= {fixture_name(name) for name, protocol in PROTOCOLS.items() if protocol.server}
    assert names >= {"pravega_server", "sbp_server"}
    assert fixture_name("sbp-0.1") == "sbp_0_1_server"
    assert [entry.value for entry in entry_points(group="pytest11", name="wiretool")][:1] == ["wiretool.testing.plugin"]


def test_a_failed_test_names_its_recording(pytester: pytest.Pytester) -> None:
    result = run(pytester, FAILING)
    result.assert_outcomes(passed=1, failed=2)
    text = result.stdout.str()
    assert text.count("recording of pravega: ") == 2
    (line,) = [line for line in text.splitlines() if "recording of" in line and "a-b" in line]
    recording = Path(line.partition(": ")[2])
    assert recording.stat().st_size > 500
    assert f"=pravega-controller {recording}" in text


def test_a_folder_has_the_recordings_of_failed_tests(pytester: pytest.Pytester) -> None:
    (pytester.path / "kept").mkdir()
    earlier = pytester.path / "kept" / "test_a_folder_has_the_recordings_of_failed_tests-test_order-c-d--pravega.pcapng"
    earlier.write_text("earlier")
    run(pytester, FAILING, "--wiretool-recordings", "kept").assert_outcomes(passed=1, failed=2)
    names = sorted(path.name.partition("test_order-")[2] for path in (pytester.path / "kept").iterdir())
    assert names == ["a-b-pravega.pcapng", "c-d--pravega.pcapng", "c-d-pravega.pcapng"]
    assert earlier.read_text() == "earlier"


def test_recordings_go_where_temporary_folders_go(pytester: pytest.Pytester) -> None:
    run(pytester, FAILING, "--basetemp", "base", "-o", "tmp_path_retention_policy=failed")
    assert len(list((pytester.path / "base").rglob("*.pcapng"))) == 2


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ('fault="nonsense"', "fault 'nonsense': column 9: no colon; expected CONDITION: ACTION"),
        ("fault=7", "fault=7: expected a rule, or a list of rules"),
        ('falt="x"', "falt: no such argument (did you mean fault?); expected fault, options, process"),
        ('options={"sed": 1}', "options: no option 'sed' (did you mean seed?); expected listen, "),
        ('options="seed"', "options='seed': not a mapping; expected options of serve, such as {\"seed\": 7}"),
        ('"pravga"', "no protocol is called 'pravga' (did you mean pravega?)"),
        ('process="yes"', "process='yes': expected True or False"),
    ],
)
def test_a_bad_mark_stops_the_run(pytester: pytest.Pytester, mark: str, why: str) -> None:
    source = f"import pytest\n\n@pytest.mark.wiretool({mark})\ndef test_it(sbp_server):\n    pass\n"
    result = run(pytester, source)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.stderr.str().splitlines() if line.startswith("ERROR: ")]
    assert line.startswith("ERROR: test_a_bad_mark_stops_the_run.py::test_it: @pytest.mark.wiretool: ")
    assert why in line


def test_an_address_in_use_fails_the_test(pytester: pytest.Pytester) -> None:
    source = """
import pytest

@pytest.fixture
def taken(request, sbp_server):
    request.applymarker(pytest.mark.wiretool("offramp", options={"listen": str(sbp_server.address)}))

def test_it(taken, offramp_server):
    pass
"""
    result = run(pytester, source)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*::test_it: offramp: cannot listen on 127.0.0.1:* (offramp): * in use*"])
    assert "Traceback" not in result.stdout.str()


def test_a_protocol_without_a_mock(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_it(pravega_controller_server):\n    pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*::test_it: pravega-controller: *it has no mock server of its own; expected the fixture of pravega or *"]
    )


@pytest.mark.parametrize(("folder", "why"), [("file", "expected a folder"), ("", "the name is empty")])
def test_a_bad_folder(pytester: pytest.Pytester, folder: str, why: str) -> None:
    (pytester.path / "file").write_text("")
    result = run(pytester, "def test_it(): pass\n", f"--wiretool-recordings={folder}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert why in result.stderr.str()


def test_marks_of_a_class_and_a_test_are_joined(pytester: pytest.Pytester) -> None:
    source = """
import pytest

@pytest.mark.wiretool(fault='side == "server": delay 1ms', options={"wire_version": 16, "seed": 1})
class TestIt:
    @pytest.mark.wiretool("pravega", fault='side == "server": delay 2ms', options={"wire_version": 17})
    @pytest.mark.wiretool("sbp", fault='side == "server": delay 3ms', options={"wire_version": 1})
    def test_it(self, pravega_server):
        assert [fault.text[-3:] for fault in pravega_server.faults] == ["2ms", "1ms"]
"""
    # no message came that a rule could have acted on, and sbp is not served
    ignored = ("-W", "ignore:fault", "-W", "ignore:@pytest.mark.wiretool")
    run(pytester, source, "--strict-markers", *ignored).assert_outcomes(passed=1)


def test_the_name_of_a_recording(tmp_path: Path) -> None:
    names = [new_recording(tmp_path, "tests/a/test_b.py::TestC::test_d[x/../y]", "sbp").name for _ in range(2)]
    assert names == ["test_b-TestC-test_d-x-..-y-sbp.pcapng", "test_b-TestC-test_d-x-..-y-sbp-2.pcapng"]
    assert decode_command(tmp_path / names[0], {1: "sbp"}) == f"wiretool decode --port 1=sbp {tmp_path / names[0]}"
    assert len(new_recording(tmp_path, "t.py::" + "x" * 500, "sbp").name) < 120


def test_a_rule_that_never_acted_is_a_warning(pytester: pytest.Pytester) -> None:
    source = """
import pytest

@pytest.mark.wiretool(fault='message == "GOAWAY": reset')
def test_it(sbp_server):
    assert sbp_server.received() == []
"""
    result = run(pytester, source, "-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    assert (
        "UnappliedFaultWarning: fault 'message == \"GOAWAY\": reset' never acted on the mock server of sbp"
        in result.stdout.str()
    )


def test_a_mark_that_applies_to_no_server_is_a_warning(pytester: pytest.Pytester) -> None:
    source = """
import pytest

@pytest.mark.wiretool("pravega", fault='message == "Hello": drop')
def test_other(sbp_server):
    pass

@pytest.mark.wiretool(fault='message == "Hello": drop')
def test_without():
    pass

@pytest.mark.wiretool(options={"rate": 200})
class TestAll:
    def test_without(self):
        pass
"""
    result = run(pytester, source, "-W", "default")
    result.assert_outcomes(passed=3, warnings=2)
    shown = result.stdout.str()
    assert "UnappliedMarkWarning: @pytest.mark.wiretool: the test has no server of pravega" in shown
    assert "UnappliedMarkWarning: @pytest.mark.wiretool: the test has no server of wiretool" in shown


def test_such_a_mark_fails_its_test_alone_where_warnings_are_errors(pytester: pytest.Pytester) -> None:
    source = """
import pytest

@pytest.mark.wiretool("pravega")
def test_other(sbp_server):
    pass

@pytest.mark.wiretool("pravega")
def test_skipped():
    pytest.skip("not here")

def test_next():
    pass
"""
    result = run(pytester, source, "-W", "error")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    assert "UnappliedMarkWarning: @pytest.mark.wiretool: the test has no server of pravega" in result.stdout.str()


def test_an_address_of_other_machines_stops_the_run(pytester: pytest.Pytester) -> None:
    source = """
import pytest

@pytest.mark.wiretool(options={"listen": "0.0.0.0:0"})
def test_it(sbp_server):
    pass
"""
    result = run(pytester, source)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*options: address 0.0.0.0:0: not a loopback address; expected 127.0.0.1 or ::1"])


def test_a_bad_mark_of_a_test_without_a_server_stops_the_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, 'import pytest\n\n@pytest.mark.wiretool(falt="x")\ndef test_it():\n    pass\n')
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "falt: no such argument (did you mean fault?)" in result.stderr.str()
