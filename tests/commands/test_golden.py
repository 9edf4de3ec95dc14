"""What people see, held to the files in tests/golden (whose README says how to change them)."""

from functools import cache
from pathlib import Path

import pytest

from tests.helpers.examples import ABSENT, needs_protocol
from tests.helpers.forked import run

GOLDEN = Path(__file__).parent.parent / "golden"
SESSIONS = ("pravega", "pravega-controller", "sbp", "offramp")
VARIANTS: dict[str, tuple[str, ...]] = {
    "text": ("decode", "-"),
    "tree": ("decode", "-", "-v", "-x", "--count", "5"),
    "ndjson": ("decode", "-", "--format", "ndjson"),
    "columns": ("decode", "-", "--fields", "n,time,side,message,reply_to", "--where", "n < 5"),
    "csv": ("decode", "-", "--format", "csv", "--where", "reply_to != null"),
    "stats": ("stats", "-"),
}
#: Pages of `explain`, and the protocol of each.
PAGES = {
    "SetupAppend": "pravega",
    "AppendBlockEnd": "pravega",
    "MESSAGE": "offramp",
    "FETCH": "sbp",
    "scale": "pravega",
}


def output_of(*arguments: str, given: bytes = b"") -> bytes:
    ended = run(*arguments, given=given)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


@cache
def capture_of(session: str) -> bytes:
    return output_of("encode", str(GOLDEN / f"{session}.jsonl"), "--protocol", session, "--format", "pcap")


def compare(name: str, shown: bytes, config: pytest.Config) -> None:
    path = GOLDEN / f"{name}.txt"
    if config.getoption("--update-golden"):
        path.write_bytes(shown)
    assert shown.decode().splitlines() == path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("session", SESSIONS)
def test_sessions_look_as_reviewed(session: str, variant: str, pytestconfig: pytest.Config) -> None:
    shown = output_of(*VARIANTS[variant], "--protocol", session, given=capture_of(session))
    compare(f"{session}.{variant}", shown, pytestconfig)


@needs_protocol("sbp-0.1")
@pytest.mark.parametrize(("page", "protocol"), PAGES.items(), ids=PAGES)
def test_pages_look_as_reviewed(page: str, protocol: str, pytestconfig: pytest.Config) -> None:
    compare(f"explain.{page}", output_of("explain", page), pytestconfig)


def test_every_golden_file_is_compared() -> None:
    made = {f"{session}.{variant}.txt" for session in set(SESSIONS) - ABSENT for variant in VARIANTS}
    made |= {f"explain.{page}.txt" for page in PAGES}
    assert {path.name for path in GOLDEN.glob("*.txt")} == made
