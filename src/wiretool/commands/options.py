"""The options that commands share."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from errno import EACCES, EISDIR
from io import BufferedReader
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Annotated, BinaryIO, TypeVar

import typer

from wiretool import limits
from wiretool.errors import CaptureError, InputError, NothingReadError, Unmet, UsageError, why_unreadable
from wiretool.storage.url_path import UrlPath, is_url, path_or_url
from wiretool.units import DURATION, SHARE, counted

if TYPE_CHECKING:
    from wiretool.capture.tls.keylog import KeyLog
    from wiretool.ledger import ConnectionAccount, Ledger
    from wiretool.protocols.base.protocol import Protocol


class Format(StrEnum):
    """How records are written."""

    TEXT = "text"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"


class DecodeFormat(StrEnum):
    """How what is read of captures is written: as lines, or as tables in a folder."""

    TEXT = "text"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"

    @property
    def is_tables(self) -> bool:
        """Whether it is many files."""
        return self in (DecodeFormat.PARQUET, DecodeFormat.ARROW)


_Form = TypeVar("_Form", bound=StrEnum)
#: Extensions of files of plain text; a file without an extension is one, too.
_TEXT_EXTENSIONS = ("txt", "log")

#: Why nothing can be read from `-`.
STDIN_CLOSED = "stdin is closed: nothing can be read from it"


def format_from(output: Path | None, formats: type[_Form]) -> _Form:
    """Return the format that the extension of a file's name stands for, as in `x.csv`; text where it has none.

    UsageError for an extension that stands for no format: text under another name would be a surprise.
    """
    extension = "" if is_stdout(output) or output is None else output.suffix.removeprefix(".").lower()
    if extension in ("", *_TEXT_EXTENSIONS):
        return formats("text")
    known = [form.value for form in formats if form.value != "text"]
    if extension not in known:
        endings = ", ".join(f".{each}" for each in (*known, *_TEXT_EXTENSIONS))
        raise UsageError(f"-o {output}: no format has the extension .{extension}; expected {endings}, or add --format")
    return formats(extension)


class ReportFormat(StrEnum):
    """How the result of a replay or comparison is written."""

    TEXT = "text"
    NDJSON = "ndjson"
    JSON = "json"


class Engine(StrEnum):
    """How captures are read: message by message, or many at once as columns. The result is the same."""

    AUTO = "auto"
    ROWS = "rows"
    COLUMNS = "columns"


def path_from(text: str) -> Path:
    """A path of the command line: an empty one would be the folder it is run in."""
    if not text:
        raise typer.BadParameter("the name is empty")
    if is_url(text):
        raise typer.BadParameter(f"{text} is a URL; expected a local path")
    return Path(text)


def capture_from(text: str) -> Path:
    """Return the path of a capture on the command line, also by its URL."""
    return path_or_url(text) if text else path_from(text)


def where_from(text: str) -> str:
    """Return a condition of the command line; an empty one would select everything."""
    if not text.strip():
        raise typer.BadParameter("the condition is empty; expected one such as 'message == \"Hello\"'")
    return text


#: How many processes read.
Workers = Annotated[int, typer.Option(min=1, metavar="N", help="number of processes that decode; only with columns")]


class SideName(StrEnum):
    """Who sends."""

    CLIENT = "client"
    SERVER = "server"


MinJudged = Annotated[
    str,
    typer.Option(metavar="SHARE", help="share of judged exchanges below which the exit code is 1, such as 50% or 0.5"),
]
CaptureFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="CAPTURE...",
        show_default=False,
        parser=capture_from,
        help="pcap or pcapng files or their URLs, also compressed with gzip or zstd; - is stdin",
    ),
]
ProtocolName = Annotated[str, typer.Option(metavar="NAME", help="protocol, or auto to detect it by port and content")]
PortNames = Annotated[
    list[str] | None,
    typer.Option("--port", metavar="PORT=NAME", show_default=False, help="protocol on a port; repeatable"),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        show_default=False,
        parser=path_from,
        help="write to a file instead of stdout",
    ),
]
ListenAddress = Annotated[
    str, typer.Option(metavar="ADDRESS", show_default="127.0.0.1 and the usual port", help="HOST:PORT to listen on")
]
TlsCertificate = Annotated[
    Path | None, typer.Option(parser=path_from, metavar="FILE", help="serve TLS with this PEM certificate")
]
TlsKey = Annotated[
    Path | None,
    typer.Option(parser=path_from, metavar="FILE", help="private key, unless it is in the certificate's file"),
]
WrittenKeyLog = Annotated[
    Path | None,
    typer.Option(
        "--keylog",
        parser=path_from,
        metavar="FILE",
        show_default=False,
        help="append the secrets of TLS connections to this file (SSLKEYLOGFILE)",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="seed for generated values and random choices")]
FaultRules = Annotated[
    list[str] | None,
    typer.Option("--fault", metavar="RULE", show_default=False, help="fault rule, CONDITION: ACTION; repeatable"),
]
FaultFile = Annotated[Path | None, typer.Option(parser=path_from, metavar="FILE", help="TOML file of fault rules")]
ControlHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-remote",
        metavar="HOST",
        show_default=False,
        help="let --control be any address, for requests that name this host; each program that reaches it controls "
        "wiretool; repeatable",
    ),
]
ControlAddress = Annotated[str, typer.Option(metavar="ADDRESS", help="serve the control API at this loopback address")]
OtlpEndpoint = Annotated[
    str,
    typer.Option(metavar="URL", help="send exchanges as spans to an OTLP receiver, such as http://127.0.0.1:4318"),
]
RecordFile = Annotated[
    Path | None,
    typer.Option(parser=path_from, metavar="FILE", help="record the traffic as pcapng, TLS traffic decrypted"),
]
ReadyFile = Annotated[
    Path | None,
    typer.Option(parser=path_from, metavar="FILE", help="write the addresses to this file as JSON when ready"),
]
ConnectionsMax = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        show_default=f"{limits.MOCK_CONNECTIONS_MAX}, or fewer where the system allows fewer",
        help="maximum number of open connections",
    ),
]


KeyLogFile = Annotated[
    Path | None,
    typer.Option(
        "--keylog",
        metavar="FILE",
        show_default=False,
        parser=path_from,
        help="decrypt TLS with the secrets in this file (SSLKEYLOGFILE); those in pcapng files are found without it",
    ),
]


def duration_parser(option: str, *, least: float = 0.001, most: float = math.inf) -> Callable[[object], float]:
    """Return what parses a duration for Typer, whose defaults are seconds already."""
    return lambda text: DURATION.parse(str(text), option, least=least, most=most)


ServingSeconds = Annotated[
    float | None,
    typer.Option(parser=duration_parser("--duration"), metavar="TIME", help="stop after this time, such as 90s or 2m"),
]


def ports_from(pairs: Sequence[str] | None) -> dict[int, str]:
    """`["8080=offramp"]` as a mapping; UsageError for what is no port or no protocol."""
    from wiretool.protocols.base.registry import protocol_named

    ports: dict[int, str] = {}
    for pair in pairs or ():
        number, equals, name = pair.partition("=")
        if not (equals and number.isascii() and number.isdigit() and len(number) <= 5 and 0 < int(number) <= 0xFFFF):
            raise UsageError(
                f"--port {pair!r}: not a port with its protocol; expected PORT=NAME, such as 12345=pravega"
            )
        ports[int(number)] = protocol_named(name).name
    return ports


def protocols_like(name: str) -> "list[Protocol]":
    """The protocol called so, or all of them for `auto`."""
    from wiretool.protocols.base.registry import PROTOCOLS, protocol_named

    return list(PROTOCOLS.values()) if name == "auto" else [protocol_named(name)]


def check_protocol_name(name: str) -> None:
    """Raise UsageError, before anything is opened, if no protocol has this name; `auto` means all of them."""
    if name != "auto":
        protocols_like(name)


def sources_from(captures: Sequence[Path] | None, *, tells_empty: bool = True) -> list[Path | BinaryIO]:
    """The captures to read, at least one; `-` once at most. UsageError for a path that is not there or no file.

    An empty capture beside others is reported, unless the caller refuses it; `check_any_read` refuses them alone.
    """
    paths = list(captures or ())
    if not paths:
        raise UsageError("no input; expected a capture, or - for stdin")
    if sum(str(path) == "-" for path in paths) > 1:
        raise UsageError("stdin can be read only once")
    for path in paths:
        if str(path) != "-" and (why := _refusal(path)):
            raise UsageError(f"{path}: {why}")
    sources = [stdin() if str(path) == "-" else path for path in paths]
    if tells_empty:
        empty = [path for path, source in zip(paths, sources, strict=True) if _is_empty(source)]
        for path in dict.fromkeys(empty) if len(empty) < len(paths) else ():
            tell(f"{'stdin' if str(path) == '-' else path} is empty: no packets")
    return sources


def report_unread(book: "Ledger", captures: Sequence[Path]) -> None:
    """Report the packets that were not read; otherwise as `check_any_read`."""
    check_any_read(book, captures)
    if summary := book.packets.summarize():
        tell(summary)


def check_any_captured(book: "Ledger", interface: str) -> None:
    """Raise Unmet where nothing of an interface could be read: no packets, no TCP, or no payload."""
    counts, total = book.packets, book.total
    if total.payload_bytes or total.gap_bytes:
        return
    from wiretool.capture.tcp.silent_connections import without_payload

    silence = without_payload(len(book.connections), counts.tcp)
    why = silence if counts.tcp else counts.summarize() or "no packets"
    raise Unmet(f"{interface}: nothing was read: {why}; expected TCP packets with payload")


def check_any_read(book: "Ledger", captures: Sequence[Path]) -> None:
    """Raise Unmet where captures have no packets or no payload, NothingReadError where no packet was read."""
    from wiretool.capture.files.packet_counts import READABLE

    names = ", ".join(dict.fromkeys("stdin" if str(path) == "-" else str(path) for path in captures))
    counts = book.packets
    if captures and not counts.packets and not book.connections:
        raise Unmet(f"{names}: nothing was read: no packets; expected captures with packets")
    if captures and counts.is_nothing_read:
        raise NothingReadError(names, f"{counts.summarize()}; expected {READABLE}")
    total = book.total
    if captures and not total.payload_bytes and not total.gap_bytes:
        from wiretool.capture.tcp.silent_connections import count_connections, without_payload  # it loads NumPy

        count = len(book.connections) or count_connections([path for path in captures if path.is_file()])
        silence = without_payload(count, counts.tcp)
        raise Unmet(f"{names}: nothing was read: {silence}; expected captures with payload")


def keys_from(path: Path | None, *, is_live: bool = False, keeps_new: bool = False) -> "KeyLog":
    """Return the TLS secrets in a file, or none yet: captures may have some, and so may the file of a live source.

    `keeps_new` is for callers of `take_new`. UsageError where the file cannot be read, InputError if it is not a key
    log.
    """
    from wiretool.capture.tls.keylog import KeyLog, KeyLogLineError
    from wiretool.commands.growing_file import GrowingFile

    if path is None:
        return KeyLog(tell, keeps_new=keeps_new)
    file = GrowingFile(path, tell)
    keys = KeyLog(tell, file.read_new if is_live else None, keeps_new=keeps_new)
    count = 0
    try:
        while lines := file.read_new():
            keys.add(lines, count)
            count += lines.count(b"\n")
    except KeyLogLineError as err:
        raise InputError(f"--keylog {path}: line {err.number}: {err.why}; expected a file as of SSLKEYLOGFILE") from err
    if not len(keys) and not is_live:
        raise InputError(f"--keylog {path}: no secrets; expected lines of a label, a random value and a secret")
    return keys


def foreign_connections(book: "Ledger") -> str:
    """Return how many connections are of other protocols, and how many of them only lack the keys of TLS."""
    rows = book.connections
    closed = sum(bool(row.tls) and not row.is_decrypted for row in rows)
    text = f"{len(rows):,} TCP connection{'s' * (len(rows) != 1)} of other protocols"
    return f"{text}, {closed:,} of them TLS; give its secrets with --keylog FILE" if closed else text


def report_keys(path: Path | None, book: "Ledger") -> None:
    """Report TLS connections that were not decrypted, and a key log that was of no use."""
    report_decryption(path, book.connections)


def report_decryption(path: Path | None, connections: "Iterable[ConnectionAccount]") -> None:
    """Report as `report_keys` does for these connections."""
    rows = [row for row in connections if row.tls]
    closed = sum(not row.is_decrypted for row in rows)
    if path is not None and closed == len(rows):
        why = f"decrypts none of the {counted(closed, 'TLS connection')}" if closed else "no connection is TLS"
        tell(f"--keylog {path}: {why}; expected the key log of the same client or server")
    elif closed:
        of = f"{closed:,} of {counted(len(rows), 'TLS connection')}"
        tell(f"{of} not decrypted; give the secrets with --keylog FILE")


def share_from(text: str, option: str) -> float:
    """Return a share from 0 to 1, given as `50%` or `0.5`; UsageError for anything else."""
    return SHARE.parse(text, option, most=1.0)


def is_stdout(path: Path | None) -> bool:
    """Whether this is where output goes if nothing is said, or `-`."""
    return path is None or str(path) == "-"


def stdin() -> BinaryIO:
    """Standard input as bytes; UsageError where it is closed."""
    if sys.stdin is None:
        raise UsageError(STDIN_CLOSED)
    return sys.stdin.buffer


def lines_of(name: str) -> Iterator[str]:
    """The lines of a text file or, for `-`, of stdin; UsageError where it cannot be read."""
    if name == "-" and sys.stdin is None:
        raise UsageError(STDIN_CLOSED)
    try:
        with open(0 if name == "-" else name, encoding="utf-8", errors="replace", closefd=name != "-") as file:
            while line := file.readline(limits.LINE_CHARACTERS_MAX):
                if len(line) == limits.LINE_CHARACTERS_MAX and not line.endswith("\n"):
                    why = f"a line of more than {limits.LINE_CHARACTERS_MAX} characters"
                    raise CaptureError("stdin" if name == "-" else name, why, offset=limits.LINE_CHARACTERS_MAX)
                yield line
    except OSError as err:
        raise UsageError(f"{name}: {why_unreadable(err)}") from err


def tell(text: str) -> None:
    """Print a line on stderr that names the program."""
    from wiretool.sinks.stderr import report

    report(f"wiretool: {text}")


def _refusal(path: Path) -> str:
    """Why a path is no capture; empty where it may be one, or where only opening it says why not."""
    if isinstance(path, UrlPath):
        return ""
    try:
        if S_ISDIR(os.stat(path).st_mode):
            return why_unreadable(IsADirectoryError(EISDIR, ""))
        return "" if os.access(path, os.R_OK) else why_unreadable(PermissionError(EACCES, ""))
    except (FileNotFoundError, NotADirectoryError, PermissionError) as err:
        return why_unreadable(err)
    except OSError:
        return ""


def _is_empty(source: Path | BinaryIO) -> bool:
    """Whether no packet is in it; a pipe is waited for, and not looked into. What is no capture has a reader to say so.

    Of a file the packets are read up to the first.
    """
    from wiretool.capture.files.reading import read_packets

    try:
        if isinstance(source, UrlPath):
            return False
        if not isinstance(source, Path):
            return isinstance(source, BufferedReader) and not source.peek(1)
        if not os.path.isfile(source):
            return os.path.samefile(source, os.devnull)
        return next(read_packets([source]), None) is None
    except (OSError, CaptureError):
        return False
