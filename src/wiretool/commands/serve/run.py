"""What `serve` and `tap` share: options on their way to a host or a tap that runs."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wiretool import limits
from wiretool.commands.options import lines_of, tell
from wiretool.commands.progress import is_watched
from wiretool.commands.serve.telemetry import both, observer_for
from wiretool.errors import InputError, UsageError
from wiretool.units import SIZE

if TYPE_CHECKING:
    from wiretool.faults import AppliedRules, Interceptor, Rule
    from wiretool.net.addresses import Address
    from wiretool.net.serving.control import Subject
    from wiretool.net.serving.host import Host
    from wiretool.net.serving.run import Plan
    from wiretool.net.serving.station import Station
    from wiretool.net.serving.tap import Tap
    from wiretool.net.tls import WrittenKeyLog
    from wiretool.server.mock import Mock
    from wiretool.server.options import MockOptions
    from wiretool.sinks.pcapng import Recording
    from wiretool.sinks.text.counters import Snapshot


#: The host of a request: a name or an IPv4 address.
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What may be asked of any server or tap, whatever it speaks."""

    seed: int
    rules: Sequence[str]
    rules_file: Path | None
    control: str
    record: Path | None
    ready_file: Path | None
    certificate: Path | None
    key: Path | None
    #: None for the usual number, or fewer where the system allows fewer.
    connections_max: int | None
    duration_s: float | None
    #: What is read beside the rules, the certificate and its key.
    inputs: Sequence[Path | None] = ()
    #: Where spans are sent; empty for nowhere.
    otlp: str = ""
    #: Where the secrets of TLS connections are written to.
    keylog: Path | None = None
    #: Hosts that requests to the control API may name beside those of loopback.
    control_hosts: Sequence[str] = ()


@contextmanager
def serving(mock: "Mock", listens: "Mapping[str, Address]", options: ServeOptions) -> "Iterator[tuple[Host, Plan]]":
    """A host for a mock and what to run it with; whatever is wrong with the options is said before a socket opens."""
    from wiretool.faults import Interceptor
    from wiretool.net.serving.host import Host

    interceptor: Interceptor | None = None

    check_files(options)
    if options.keylog is not None and options.certificate is None:
        raise UsageError("--keylog: requires --tls-cert")
    protocols = [door.protocol for door in mock.doors]
    rules = rules_for(protocols, options.rules, options.rules_file)
    with ExitStack() as stack:
        host = Host(mock, tell)
        limit_connections(host, options, files_each=1)
        observer, watch = observer_for(options.control, options.otlp, stack, seen_by="server")
        host.observer = observer
        if rules or observer is not None:
            note = lambda text: host.tell(text)  # noqa: E731  (the log moves once there is a terminal to draw on)
            interceptor = host.interceptor = Interceptor(
                rules,
                seed=options.seed,
                on_record=None if observer is None else observer.note,
                on_note=note,
                on_hit=None if observer is None else observer.note_hit,
            )
        host.recording = recording_for(options, stack)
        host.tell, look = counters_for(host.snapshot, stack)
        keys = key_log_for(options)
        yield host, plan_for(host, listens, options, both(look, watch), keys)
    if interceptor is not None:
        tell_in_force(interceptor)
    if keys is not None:
        keys.check()


def key_log_for(options: ServeOptions) -> "WrittenKeyLog | None":
    """Return the file for the secrets of connections, if there is one."""
    from wiretool.net.tls import WrittenKeyLog

    return None if options.keylog is None else WrittenKeyLog(options.keylog, tell)


@contextmanager
def mutated(protocol: str, mutant: str) -> Iterator[None]:
    """Have a defect in the mock servers for the time of a block. UsageError where there is no such mutant."""
    if not mutant:
        yield
        return
    from wiretool.conformance.mutation.mutants import applied, mutant_named
    from wiretool.conformance.registry import conformance_of

    with applied(mutant_named(conformance_of(protocol), mutant)):
        yield


def in_setup(protocol: str, setup: str, options: "MockOptions") -> "MockOptions":
    """Return the options of a server in a setup that cases of conform require. UsageError where others change it."""
    if not setup:
        return options
    from wiretool.conformance.registry import conformance_of
    from wiretool.conformance.selection import check_setup, setup_named
    from wiretool.server.options import MockOptions, spelling

    part, name = conformance_of(protocol), setup_named(setup)
    check_setup(part, name)
    changes = part.variants.get(name, {})
    for each in changes:
        if getattr(options, each) != getattr(MockOptions(), each):
            raise UsageError(f"--setup and {spelling(each)}: expected one of them")
    return replace(options, **changes)


def tell_in_force(interceptor: "Interceptor") -> None:
    """Report the rules in force that never acted."""
    from wiretool.faults import AppliedRules

    with told_unapplied(AppliedRules()) as applied:
        applied.note(interceptor.standings.values())


@contextmanager
def told_unapplied(applied: "AppliedRules") -> "Iterator[AppliedRules]":
    """Report the rules that never acted when the block ends, however it does."""
    try:
        yield applied
    finally:
        for line in applied.reports():
            tell(line)


def limit_connections(station: "Station", options: ServeOptions, *, files_each: int) -> None:
    """Set how many connections of so many open files each there may be.

    Report a system that allows fewer than the user has asked for; a refused connection reports it in any case.
    """
    from wiretool.net.serving.open_files import raise_open_files

    wanted = options.connections_max or limits.MOCK_CONNECTIONS_MAX
    allowed = station.connections_max = raise_open_files(wanted * files_each) // files_each
    if allowed < wanted:
        station.limit_remedy = "; see ulimit -n"
        if options.connections_max is not None:
            tell(f"the system allows {allowed:,} connections, not {wanted:,}: see ulimit -n")


def recording_for(options: ServeOptions, stack: ExitStack) -> "Recording | None":
    """The pcapng file that was asked for; UsageError where it cannot be written."""
    from wiretool.sinks.pcapng import open_recording

    return None if options.record is None else stack.enter_context(open_recording(options.record))


def counters_for(
    snapshot: "Callable[[], Snapshot]", stack: ExitStack, *, is_shared: bool = False
) -> tuple[Callable[[str], None], Callable[[], None] | None]:
    """Where lines of the log go, and what draws live counters: nothing where the terminal `is_shared` with output."""
    from wiretool.sinks.text.counters import Counters

    if is_shared or not is_watched():
        return tell, None
    counters = stack.enter_context(Counters(snapshot, sys.stderr))
    return counters.tell, counters.look


def plan_for(
    subject: "Host | Tap",
    listens: "Mapping[str, Address]",
    options: ServeOptions,
    look: Callable[[], None] | None,
    keys: "WrittenKeyLog | None",
) -> "Plan":
    """Everything around a run. UsageError for a bad certificate or control address."""
    from wiretool.net.serving.run import Plan
    from wiretool.net.tls import alpn_of, server_context

    alpn = tuple(name for protocol in subject.protocols for name in alpn_of(protocol))
    context = None if options.certificate is None else server_context(options.certificate, options.key, alpn=alpn)
    if options.certificate is None and options.key is not None:
        raise UsageError("--tls-key: requires --tls-cert")
    if context is not None and keys is not None:
        keys.add(context)
    return Plan(
        listens,
        context,
        ready_file=options.ready_file,
        duration_s=options.duration_s,
        ready=lambda bound: begin(subject, bound),
        look=look,
        beside={"control": control_for(subject, options)} if options.control else {},
    )


def check_files(options: ServeOptions, output: Path | None = None) -> None:
    """UsageError where a file is read and written, or written twice, or the ready file would replace something."""
    from wiretool.sinks.output import check_not_read, is_same

    if options.control_hosts and not options.control:
        raise UsageError("--allow-remote: requires --control")
    inputs = (options.rules_file, options.certificate, options.key, *options.inputs)
    read = [path for path in inputs if path is not None]
    named = {"--record": options.record, "--ready-file": options.ready_file, "-o": output, "--keylog": options.keylog}
    written = [(option, path) for option, path in named.items() if path is not None]
    for _, path in written:
        check_not_read(path, read)
    for (earlier, other), (option, path) in combinations(written, 2):
        if os.path.realpath(path) == os.path.realpath(other) or is_same(path, other):
            raise UsageError(f"{earlier} and {option} name the same file, {os.path.realpath(path)}")
    if options.ready_file is not None:
        check_ready_file(options.ready_file)


def check_ready_file(path: Path) -> None:
    """UsageError where it cannot be written, or something else has its place."""
    if not path.parent.is_dir():
        raise UsageError(f"--ready-file {path}: {path.parent} does not exist; expected a file in an existing folder")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"--ready-file {path}: permission denied; expected a file in a folder that you may write to")
    if os.path.lexists(path) and not is_ready_file(path):
        raise UsageError(f"--ready-file {path}: exists and is not a ready file; expected a new file")


def is_ready_file(path: Path) -> bool:
    """Whether that is a file that a server left which could not clean up."""
    try:
        return path.is_file() and set(json.loads(path.read_text())) >= {"protocol", "pid", "endpoints"}
    except (OSError, ValueError, TypeError):
        return False


def control_for(subject: "Subject", options: ServeOptions) -> "AbstractAsyncContextManager[Address]":
    """Return the context of the control API. The web framework is imported only for those who want it."""
    from wiretool.net.addresses import address_from
    from wiretool.net.serving.control import controlled

    address = address_from(options.control, option="--control")
    for host in options.control_hosts:
        if not HOST_NAME.fullmatch(host):
            raise UsageError(f"--allow-remote {host}: not the name or IPv4 address of a host, without a port")
    return controlled(subject, address, say=tell, allowed_hosts=options.control_hosts)


def begin(subject: "Host | Tap", bound: "Mapping[str, Address]") -> None:
    """All doors are open: say where, and let the recording, now that there will be one, take the old one's place."""
    subject.record(lambda recording, _: recording.begin())
    subject.tell(f"{subject.protocols[0]} is ready: " + ", ".join(f"{door} {where}" for door, where in bound.items()))


def rules_for(protocols: Sequence[str], texts: Sequence[str], path: Path | None) -> "list[Rule]":
    """The fault rules of the command line and of a file; UsageError for a bad one."""
    from wiretool.faults import parse_rule, rules_from

    rules = [parse_rule(text, protocols=protocols, origin="--fault") for text in texts]
    if path is not None:
        rules += rules_from("".join(lines_of(str(path))), str(path), protocols=protocols)
    return rules


def listens_for(mock: "Mock", wanted: Mapping[str, str], *, opens_all: bool = False) -> "dict[str, Address]":
    """Where each door is to listen: `wanted` has options and their text in the order of the doors.

    Where the address of the first is given, only those that are named as well are open; with `opens_all` the others
    are open, too, at ports that the system assigns.
    """
    from wiretool.net.addresses import LOOPBACK, Address, address_from

    given = list(wanted.items())
    for option, text in given[len(mock.doors) :]:
        if text:
            raise UsageError(f"{option}: {mock.doors[0].protocol} has no such address")
    listens: dict[str, Address] = {}
    are_chosen = bool(given[0][1])
    for number, (door, (option, text)) in enumerate(zip(mock.doors, given, strict=False)):
        if number and are_chosen and not text:
            continue
        usual = Address(LOOPBACK, door.port)
        listens[door.name] = address_from(text, option=option, port=door.port) if text else usual
    if opens_all:
        listens |= {door.name: Address(LOOPBACK, 0) for door in mock.doors if door.name not in listens}
    return listens


def advertised(text: str) -> tuple[str, int] | None:
    """`HOST[:PORT]` for getURI; a port of 0 for that of the store's door."""
    from wiretool.net.addresses import address_from

    if not text:
        return None
    host, port = address_from(text, option="--advertise", port=0)
    return host, port


def credentials(text: str) -> tuple[str, str] | None:
    """`USER:PASSWORD`; UsageError without the colon."""
    if not text:
        return None
    user, colon, password = text.partition(":")
    if not (user and colon):
        raise UsageError("--auth: not credentials; expected USER:PASSWORD")
    return user, password


def feed_from(protocol: str, path: Path | None) -> tuple[Any, ...]:
    """Return the messages in a file for a mock; InputError names the line that is none."""
    from wiretool.server.part import server_part

    if path is None:
        return ()
    part = server_part(protocol)
    if part is None or part.read_feed is None:
        return (path,)  # `mock_for` refuses the option
    lines = list(lines_of(str(path)))
    try:
        return tuple(part.read_feed(lines))
    except InputError as err:
        raise InputError(f"--feed {path}: {err}") from err


def size_from(text: str, *, option: str) -> int:
    """Return the bytes of `512M`, at least one; UsageError for anything else."""
    return round(SIZE.parse(text, option, least=1))
