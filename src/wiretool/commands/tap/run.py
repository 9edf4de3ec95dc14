"""The options of `tap` on their way to a tap that runs, and its records to the sink."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.commands.options import Format, tell
from wiretool.commands.serve.run import (
    ServeOptions,
    advertised,
    check_files,
    counters_for,
    key_log_for,
    limit_connections,
    plan_for,
    recording_for,
    rules_for,
    tell_in_force,
)
from wiretool.commands.serve.telemetry import both, observer_for
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.net.addresses import Address
    from wiretool.net.serving.run import Plan
    from wiretool.net.serving.tap import Tap, Way
    from wiretool.net.tls import WrittenKeyLog
    from wiretool.records import Record

CONTROLLER = "pravega-controller"


@dataclass(frozen=True, slots=True)
class Side:
    """Where a tap listens for a protocol and the server behind it, each with the option that says so."""

    protocol: str
    listen_option: str
    listen: str
    upstream_option: str
    upstream: str


@dataclass(frozen=True, slots=True)
class Shown:
    """How records are written, as in `decode`."""

    form: Format
    tree: bool
    dump: bool
    where: str
    fields: str
    output: Path | None


@contextmanager
def tapping(
    sides: Sequence[Side],
    options: ServeOptions,
    shown: Shown | None,
    *,
    advertise: str,
    is_tls: bool,
    authority: Path | None,
) -> "Iterator[tuple[Tap, Plan]]":
    """A tap and what to run it with; whatever is wrong is said before a socket opens.

    Without `shown` it writes no records.
    """
    from wiretool.net.addresses import Address
    from wiretool.net.serving.tap import Tap

    if authority is not None and not is_tls:
        raise UsageError("--upstream-ca: requires --upstream-tls")
    if options.keylog is not None and not is_tls and options.certificate is None:
        raise UsageError("--keylog: requires --upstream-tls or --tls-cert")
    check_files(options, None if shown is None else shown.output)
    told = advertised(advertise)
    with ExitStack() as stack:
        ways, listens = ways_for(sides, is_tls=is_tls, authority=authority)
        keys = key_log_for(options)
        log_upstream_keys(ways.values(), keys)
        if told is not None and CONTROLLER not in ways:
            raise UsageError("--advertise: requires --upstream-controller")
        protocols = [way.protocol.name for way in ways.values()]
        on_record = discard if shown is None else stack.enter_context(written(shown, protocols))
        tap = Tap(
            ways,
            rules_for(protocols, options.rules, options.rules_file),
            options.seed,
            on_record,
            tell,
            advertise=None if told is None else Address(*told),
        )
        tap.observer, watch = observer_for(options.control, options.otlp, stack, seen_by="client")
        limit_connections(tap, options, files_each=2)
        tap.recording = recording_for(options, stack)
        tap.tell, look = counters_for(tap.snapshot, stack, is_shared=is_on_terminal(shown))
        yield tap, plan_for(tap, listens, options, both(look, watch), keys)
    tell_in_force(tap.interceptor)
    if keys is not None:
        keys.check()


def log_upstream_keys(ways: "Iterable[Way]", keys: "WrittenKeyLog | None") -> None:
    """Append the secrets of connections to the server to a file, if there is one. UsageError as of `WrittenKeyLog`."""
    for way in ways:
        if keys is not None and way.context is not None:
            keys.add(way.context)


def ways_for(
    sides: Sequence[Side], *, is_tls: bool, authority: Path | None
) -> "tuple[dict[str, Way], dict[str, Address]]":
    """The ways of a tap by door, and where each door listens. UsageError for half a side, or a wrong second one."""
    ways: dict[str, Way] = {}
    listens: dict[str, Address] = {}
    for side in sides:
        if not side.upstream:
            if side.listen:
                raise UsageError(f"{side.listen_option}: requires {side.upstream_option}")
            continue
        way, listen = way_of(side, is_tls=is_tls, authority=authority)
        if ways and "pravega" not in ways:
            raise UsageError(f"{side.upstream_option}: requires the protocol pravega")
        ways[way.protocol.name], listens[way.protocol.name] = way, listen
    return ways, listens


def way_of(side: Side, *, is_tls: bool, authority: Path | None) -> "tuple[Way, Address]":
    """One way of a tap, and where it listens. UsageError for an address that is none, or that leads back here."""
    from wiretool.net.addresses import LOOPBACK, Address, address_from
    from wiretool.net.serving.tap import Way
    from wiretool.net.tls import alpn_of, client_context
    from wiretool.protocols.base.registry import protocol_named

    protocol = protocol_named(side.protocol)
    usual = protocol.ports[0]
    upstream = address_from(side.upstream, option=side.upstream_option, port=usual)
    listen = Address(LOOPBACK, usual)
    if side.listen:
        listen = address_from(side.listen, option=side.listen_option, port=usual)
    if listen == upstream and listen.port:
        raise UsageError(f"{side.upstream_option} {upstream}: is the tap's own address; see {side.listen_option}")
    context = client_context(authority, alpn=alpn_of(protocol.name)) if is_tls else None
    return Way(protocol, upstream, context), listen


def discard(record: "Record") -> None:
    """Write nothing of a record."""


def is_on_terminal(shown: Shown | None) -> bool:
    """Return whether records are written to a terminal."""
    return shown is not None and shown.output is None and sys.stdout.isatty()


@contextmanager
def written(shown: Shown, protocols: Sequence[str]) -> "Iterator[Callable[[Record], None]]":
    """What takes each record to where it is shown, as it comes."""
    from wiretool.dissect.dissector import annotate
    from wiretool.filter import History, Selection, columns_of, names_for
    from wiretool.protocols.base.registry import protocol_named
    from wiretool.sinks.choose import sink_for
    from wiretool.sinks.output import open_output

    history = History()
    names = names_for([protocol_named(name) for name in protocols])
    keep = Selection(names, history, expression=shown.where)
    with open_output(shown.output, at_once=True) as out:
        columns = columns_of(shown.fields, names, history)
        sink = sink_for(shown.form.value, out, columns=columns, annotate=annotate, tree=shown.tree, dump=shown.dump)
        sink.begin()
        try:
            yield lambda record: sink.write(record) if keep(record) else sink.skip(record)
        finally:
            sink.end()
