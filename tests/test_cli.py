import gzip
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from tests.helpers.captures import pcap_bytes
from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run
from wiretool import __version__, cli
from wiretool.errors import CaptureError, DecodeError, EncodeError, PeerError, Stopped, UsageError, WiretoolError
from wiretool.sinks.pcapng import interface, section

HELP_MAX_S = 0.25
HELP_TYPERS_MAX = 2.5


def call(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of the command line, in this process."""
    monkeypatch.setattr(sys, "argv", ["wiretool", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    code = ended.value.code
    return code if isinstance(code, int) else 0


def failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code where a command raises `error`."""
    app = typer.Typer(cls=cli.Guarded, pretty_exceptions_enable=False, rich_markup_mode=None)

    @app.callback()
    def main() -> None: ...

    @app.command()
    def broken() -> None:
        raise error

    monkeypatch.setattr(cli, "app", app)
    return call(["broken"], monkeypatch)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no"), 2),
        (EncodeError("no"), 2),
        (DecodeError("bad-count", "no"), 3),
        (CaptureError("x.pcap", "no", offset=7), 3),
        (PeerError("no"), 4),
        (WiretoolError("no"), 70),
        (KeyboardInterrupt(), 130),
        (Stopped(signal.SIGTERM), 143),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_its_exit_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing_with(error, monkeypatch) == code
    said = capsys.readouterr().err
    stop = "SIGTERM" if isinstance(error, Stopped) else "Ctrl-C"
    assert said == f"wiretool: {error if isinstance(error, WiretoolError) else f'stopped by {stop}'}\n"


def test_a_defect_of_ours_is_shown_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing_with(ZeroDivisionError("oh"), monkeypatch) == 70
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-2] == "ZeroDivisionError: oh"
    assert "please report it" in lines[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["decode", "--help"], ["control", "--help"]])
def test_help_that_the_disk_does_not_take_is_told_in_a_line(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "wiretool", *arguments]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert ended.returncode == 74
    assert ended.stderr == "wiretool: cannot write stdout: No space left on device\n"


def test_what_else_the_system_does_not_take_is_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing_with(OSError(28, "No space left on device"), monkeypatch) == 70
    assert "Traceback" in capsys.readouterr().err


def test_text_from_outside_in_an_error_is_escaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing_with(UsageError("a\x1b[31m\nb"), monkeypatch)
    assert capsys.readouterr().err == "wiretool: a\\x1b[31m\\x0ab\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["decode", "--no-such-option"],
        ["decode", "/no/such/file.pcap"],
        ["decode", "/"],
        ["decode"],
        ["stats"],
        ["stats", "/no/such/file.pcap"],
        ["decode", "-", "--format", "xml"],
        ["decode", "-", "--count", "0"],
        ["decode", "-", "--port", "99999=pravega"],
        ["decode", "-", "--port", "12345"],
        ["decode", "-", "--port", "12345=pravga"],
        ["decode", "-", "--protocol", "pravga"],
        ["decode", "-", "--where", "ofset == 3"],
        ["decode", "-", "--fields", "ofset"],
        ["decode", "-", "--hex", "-"],
        ["decode", "-", "-"],
        ["decode", "--hex", "-"],
        ["decode", "--hex", "-", "--protocol", "pravega"],
        ["decode", "--hex", "/no/such/file", "--protocol", "pravega", "--side", "client"],
        ["decode", "-", "--side", "client"],
        ["decode", "-", "--filter", "tcp"],
        ["decode", "-", "--duration", "3"],
        ["decode", "-", "-v", "--format", "json"],
        ["decode", "-", "-o", "/no/such/folder/out"],
        ["encode", "/no/such/file"],
        ["explain", "Setupapend"],
        ["explain", "--protocol", "pravga"],
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_wrong_usage_ends_with_2(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(arguments, monkeypatch) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert said.err or said.out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["frobnicate"], "wiretool: no such command: frobnicate; see wiretool --help"),
        (["decod"], "wiretool: no such command: decod (did you mean decode?); see wiretool --help"),
        (
            ["pipeline", "rn"],
            "wiretool pipeline: no such command: rn (did you mean run?); see wiretool pipeline --help",
        ),
        (["--nope"], "wiretool: no such option: --nope; see wiretool --help"),
        (["decode", "--nope"], "wiretool decode: no such option: --nope; see wiretool decode --help"),
        (["decode", "-o"], "wiretool decode: option -o requires a value; see wiretool decode --help"),
        (["decode", "--wher", "x"], "wiretool decode: no such option: --wher (did you mean --where?); see "),
        (["decode", "--color", "x"], "wiretool decode: no such option: --color; see wiretool decode --help"),
        (["bench", "--events", "x"], "wiretool bench: no such option: --events (did you mean --event-size?); see "),
        (["diff", "a", "b", "c"], "wiretool diff: too many arguments: c; see wiretool diff --help"),
        (["stats", "--workers", "x"], "wiretool stats: invalid value for '--workers': "),
        (
            ["decode", "-", "--format", "xml"],
            "wiretool decode: invalid value for '--format': no such choice: xml; expected one of 'text', ",
        ),
        (["serve"], "wiretool serve: missing argument 'PROTOCOL'; see wiretool serve --help"),
        (["control", "x:1", "add", "--nope"], "wiretool control ADDRESS add: no such option: --nope; see "),
        (["decode", "a\x1b", "-\x1b"], "wiretool decode: no such option: -\\x1b"),
        (["stats", ""], "wiretool stats: invalid value for 'CAPTURE...': the name is empty; see wiretool stats --help"),
        (["decode", "x", "-o", ""], "wiretool decode: invalid value for '-o' / '--output': the name is empty; see "),
        (["decode", "x", "--ledger", ""], "wiretool decode: invalid value for '--ledger': the name is empty; see "),
        (
            ["decode", "x", "--where", ""],
            "wiretool decode: invalid value for '--where': the condition is empty; expected ",
        ),
        (
            ["slice", "x", "-o", "y", "--where", " "],
            "wiretool slice: invalid value for '--where': the condition is empty",
        ),
        (
            ["replay", "x", "--where", ""],
            "wiretool replay: invalid value for '--where': the condition is empty; expected ",
        ),
        (["tap", "sbp", "--where", ""], "wiretool tap: invalid value for '--where': the condition is empty; expected "),
        (["slice", "x", "-o", ""], "wiretool slice: invalid value for '-o' / '--output': the name is empty; see "),
    ],
)
def test_what_is_wrong_with_the_command_line_is_one_line(
    arguments: list[str], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(arguments, monkeypatch) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(line)
    assert said.err.count("\n") == 1


READERS = [("decode",), ("stats",), ("slice", "-o", "-", "--connection", "0")]
NOTHING = "nothing was read: no packets; expected captures with packets"


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_an_input_of_nothing_is_no_success(command: tuple[str, ...], tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.touch()
    for name, shown in (("-", "stdin"), (empty, empty)):
        if name == "-" and command[0] == "slice":
            continue  # which reads its input twice
        ended = run(*command, name)
        assert (ended.returncode, ended.stderr.decode()) == (1, f"wiretool: {shown}: {NOTHING}\n")


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    "content",
    [pcap_bytes([]), section() + interface(1), gzip.compress(b""), None],
    ids=["pcap", "pcapng", "gz", "null"],
)
def test_a_capture_without_packets_is_no_success(
    command: tuple[str, ...], content: bytes | None, tmp_path: Path
) -> None:
    path = Path(os.devnull) if content is None else tmp_path / "empty"
    if content is not None:
        path.write_bytes(content)
    ended = run(*command, path, path)
    if content is None and command[0] == "slice":
        assert (ended.returncode, ended.stderr.count(b"\n")) == (2, 1)  # it reads its input twice
        return
    assert (ended.returncode, ended.stderr.decode()) == (1, f"wiretool: {path}: {NOTHING}\n")


@pytest.mark.parametrize("command", READERS[:2], ids=lambda command: command[0])
def test_an_empty_capture_beside_others_is_reported(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(pcap_bytes([]))
    ended = run(*command, tmp_path / "empty.pcap", Path(__file__).parents[1] / "captures" / "pravega" / "write.pcap")
    assert ended.returncode == 0
    assert ended.stderr.decode().splitlines()[0] == f"wiretool: {tmp_path / 'empty.pcap'} is empty: no packets"


def test_no_input_is_no_pcap() -> None:
    ended = run("decode", "-", given=b"this is no capture at all, is it")
    assert ended.returncode == 3
    assert ended.stdout == b""
    assert ended.stderr.count(b"\n") == 1
    assert b"byte 0" in ended.stderr


def test_an_empty_capture_is_an_empty_output() -> None:
    for form, text in (("text", b""), ("ndjson", b""), ("json", b"[]\n")):
        ended = run("decode", "-", "--format", form, given=pcap_bytes([]))
        assert (ended.returncode, ended.stdout) == (1, text)


def test_the_version_is_told() -> None:
    assert run("--version").stdout == f"wiretool {__version__}\n".encode()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["decode", "--help"], ["explain", "-h"]])
def test_help_is_there(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(arguments, monkeypatch) == 0
    assert "Usage: wiretool" in capsys.readouterr().out


def test_help_comes_at_once() -> None:
    """By the processor's time: on a busy machine the clock on the wall measures the neighbours.

    A slower one takes longer for everything: there, no more than so many times what loading Typer alone takes.
    """
    took_s, typer_s = [], []
    for _ in range(5):
        took_s.append(processor_s("-m", "wiretool", "--help"))
        typer_s.append(processor_s("-c", "import typer.main"))
    assert min(took_s) < max(HELP_MAX_S, HELP_TYPERS_MAX * min(typer_s))


def processor_s(*words: str) -> float:
    """What Python takes for that, in seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], capture_output=True, timeout=60, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_loads_nothing_heavy() -> None:
    script = "import sys; from wiretool import cli; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    heavy = {
        "rich",
        "scapy",
        "msgspec",
        "dpkt",
        "wsproto",
        "flatbuffers",
        "wiretool.dissect.dissector",
        "wiretool.codec",
    }
    assert not heavy & set(ended.stdout.decode().split())


@needs_protocol("offramp")
def test_rows_are_read_without_numpy() -> None:
    """It would take as long to load as a small capture takes to decode."""
    script = (
        "import sys, atexit; from wiretool import cli; atexit.register(lambda: print('numpy' in sys.modules)); "
        "sys.argv = ['wiretool', 'decode', 'captures/offramp/plain.pcap', '--count', '1']; cli.main()"
    )
    root = Path(__file__).parents[1]
    ended = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, timeout=60, check=True)
    assert ended.stdout.splitlines()[-1] == b"False"


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    command = f"{sys.executable} -m wiretool explain | head -n 1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)
    assert ended.stdout.splitlines()[-1] == b"0"
    assert ended.stderr == b""
