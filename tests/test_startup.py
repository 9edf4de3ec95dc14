"""Commands load no unused protocol, and generate no decoder, before the first packet."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.captures import pcap_bytes
from tests.helpers.examples import needs_protocol

ROOT = Path(__file__).parents[1]
PROTOCOLS = {"pravega", "pravega_controller", "pravega_draft", "sbp", "sbp_0_1", "offramp"}
#: Libraries of single protocols.
THEIRS = {"google.protobuf", "h11", "hpack", "hyperframe", "wsproto"}
#: Prints what the program has loaded, then the functions that it has generated.
SCRIPT = """
import sys
generated = []
def note(event, arguments):
    if event == "compile" and str(arguments[1]).startswith(("<decoder of ", "<reader of ", "<JSON writer ")):
        generated.append(arguments[1])
sys.addaudithook(note)
from wiretool import cli
try:
    cli.main()
finally:
    print(*sys.modules)
    print(*generated, sep=";")
"""


def startup(*words: str) -> tuple[set[str], list[str]]:
    """Run a command; return the modules that it loaded and the functions that it generated."""
    run = [sys.executable, "-c", SCRIPT, *words]
    ended = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in ended.stderr, ended.stderr
    *_, loaded, generated = ended.stdout.splitlines()
    return set(loaded.split()), [name for name in generated.split(";") if name]


def protocols_in(loaded: set[str]) -> set[str]:
    return {name for name in PROTOCOLS if f"wiretool.protocols.{name}.wire" in loaded}


@pytest.fixture
def empty(tmp_path: Path) -> str:
    path = tmp_path / "empty.pcap"
    path.write_bytes(pcap_bytes([]))
    return str(path)


@needs_protocol("offramp")
@pytest.mark.parametrize(
    ("command", "is_by_rows", "has_tables"),
    [
        (("stats",), True, False),
        (("stats", "--engine", "columns"), False, False),
        (("decode",), True, False),
        (("decode", "-o", "{}/out.ndjson"), True, False),
        (("decode", "--format", "parquet", "-o", "{}/tables"), False, True),
    ],
)
def test_an_empty_capture_loads_no_protocol(
    command: tuple[str, ...], is_by_rows: bool, has_tables: bool, empty: str, tmp_path: Path
) -> None:
    loaded, generated = startup(*(word.format(tmp_path) for word in command), empty)
    assert "wiretool.dissect.dissector" in loaded
    assert not protocols_in(loaded)
    assert not THEIRS & loaded
    assert "pandas" not in loaded
    assert ("numpy" not in loaded) == is_by_rows
    assert ("pyarrow" in loaded) == has_tables
    assert not generated


@needs_protocol("offramp")
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("output", ["out.ndjson", "tables"])
def test_several_processes_load_no_pandas_either(workers: str, output: str, tmp_path: Path) -> None:
    form = ("--format", "parquet" if output == "tables" else "ndjson")
    command = ("decode", "--engine", "columns", "--workers", workers, *form, "-o", str(tmp_path / output))
    loaded, _ = startup(*command, "captures/offramp/plain.pcap")
    assert "pyarrow" in loaded
    assert "pandas" not in loaded


@needs_protocol("offramp")
def test_a_capture_loads_the_protocols_of_its_ports_and_generates_the_decoders_of_its_messages() -> None:
    loaded, _ = startup("decode", "captures/offramp/plain.pcap", "--count", "1")
    assert protocols_in(loaded) == {"offramp"}
    loaded, generated = startup("decode", "captures/pravega/write.pcap", "--format", "csv", "--engine", "rows")
    assert protocols_in(loaded) == {"pravega", "pravega_controller", "pravega_draft"}
    decoders = [name for name in generated if name.startswith("<decoder")]
    assert "<decoder of AppendBlockEnd>" in decoders
    assert len(decoders) < 20
