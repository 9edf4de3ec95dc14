"""Seeds from captures of TLS: the sessions of its twin in the clear."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run_text
from wiretool.capture.files.reading import read_packets
from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.fuzz.options import FuzzOptions, Reports, check_options
from wiretool.commands.fuzz.setup import add_seed_files
from wiretool.errors import CaptureError, UsageError
from wiretool.fuzz.findings.finding import Finding, page, write_finding
from wiretool.fuzz.findings.investigation import Confirmed
from wiretool.fuzz.findings.replaying import replay_finding
from wiretool.fuzz.oracles import Bucket, Suspicion
from wiretool.fuzz.session import FuzzSession

OFFRAMP = Path(__file__).parents[3] / "captures" / "offramp"
SEALED, CLEAR, KEYS = (OFFRAMP / f"java_tls13{end}" for end in (".pcap", "_clear.pcap", ".keylog.txt"))
pytestmark = needs_protocol("offramp")


def session_of(capture: Path, keys: KeyLog) -> FuzzSession:
    session = FuzzSession("offramp")
    session.add_capture(str(capture), read_packets([capture], keys), ports={}, notes=pytest.fail, keys=keys)
    return session


def test_sessions_are_those_of_the_twin_in_the_clear() -> None:
    sealed = session_of(SEALED, KeyLog.of(KEYS.read_bytes()))
    clear = session_of(CLEAR, KeyLog())
    sent = [[step.data for step in each.sendings] for each in sealed.seeds]
    assert sent == [[step.data for step in each.sendings] for each in clear.seeds]
    assert sent
    assert not session_of(SEALED, KeyLog()).seeds


def test_what_is_reported_of_captures(capsys: pytest.CaptureFixture[str]) -> None:
    def reported(capture: Path, keylog: Path | None) -> str:
        add_seed_files(FuzzSession("offramp"), FuzzOptions("offramp", seeds=[capture], keylog=keylog))
        return capsys.readouterr().err

    assert reported(SEALED, KEYS) == ""
    assert "no connection is TLS; expected the key log" in reported(CLEAR, KEYS)
    with pytest.raises(CaptureError, match="no connection of offramp with its first bytes"):
        reported(SEALED, None)
    expected = "wiretool: 1 of 1 TLS connection not decrypted; give the secrets with --keylog FILE\n"
    assert capsys.readouterr().err == expected


def test_a_finding_names_the_secrets_of_its_capture(tmp_path: Path) -> None:
    """The mock takes the data of the capture again, which it cannot read without them."""
    session = session_of(SEALED, KeyLog.of(KEYS.read_bytes()))
    confirmed = Confirmed(Suspicion(Bucket("died"), "why", 0), session.seeds[0], 3)
    finding = Finding(1, "offramp", "built-in mock", 0, confirmed, keylog=str(KEYS))
    protocol = session.protocol_in(session.seeds[0].setup)
    assert f"--seeds {SEALED} --keylog {KEYS}" in page(finding, tmp_path, protocol)
    assert "--keylog" not in page(replace(finding, keylog=""), tmp_path, protocol)
    for number, keylog, is_known in ((1, str(KEYS), True), (2, "", False), (3, str(tmp_path / "gone"), False)):
        made = replace(finding, number=number, keylog=keylog)
        place = write_finding(made, tmp_path, protocol, [], session.mock_target())
        assert ("the mock without the data of" in replay_finding(place).text) != is_known


def test_options_that_do_not_fit_are_refused() -> None:
    ended = run_text("fuzz", "offramp", "--keylog", KEYS)
    expected = "wiretool: --keylog: has the secrets of captures; requires --seeds\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", expected)
    with pytest.raises(UsageError, match="--client and --keylog"):
        check_options(FuzzOptions("offramp", is_client=True, arguments=["true"], keylog=KEYS))
    with pytest.raises(UsageError, match="--keylog and --json are both"):
        check_options(FuzzOptions("offramp", seeds=[SEALED], keylog=KEYS, reports=Reports(json=KEYS)))
