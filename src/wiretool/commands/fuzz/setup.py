"""The shared parts of `wiretool fuzz` runs: the session with its mutations and seeds, limits, and the target."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.commands.fuzz.options import (
    TIME_S,
    FuzzOptions,
    addresses_from,
    is_remote,
)
from wiretool.commands.options import keys_from, ports_from, report_decryption, sources_from, tell
from wiretool.commands.step_progress import with_progress
from wiretool.errors import CaptureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wiretool.capture.tls.keylog import KeyLog
    from wiretool.fuzz.campaign import Limits
    from wiretool.fuzz.client.mutations import ReplyMutation
    from wiretool.fuzz.findings.reports import FuzzResult
    from wiretool.fuzz.mutations.base import Mutation
    from wiretool.fuzz.oracles import Bucket
    from wiretool.fuzz.session import FuzzSession
    from wiretool.fuzz.targets.base import Target
    from wiretool.fuzz.targets.pacing import Pacer
    from wiretool.ledger import ConnectionAccount


def selected(options: FuzzOptions) -> "tuple[FuzzSession, Sequence[Mutation]]":
    """Return a session without seeds, and the mutations that the options select. UsageError for unknown names."""
    from wiretool.fuzz.mutations import select_mutations
    from wiretool.fuzz.session import FuzzSession, all_mutations

    session = FuzzSession(options.protocol, seed=options.seed)
    return session, select_mutations(options.case_globs, all_mutations(options.protocol))


def empty_result(options: FuzzOptions) -> "FuzzResult":
    """Return the result of a run that has not begun."""
    from wiretool.fuzz.decoder.findings import DECODER
    from wiretool.fuzz.findings.reports import FuzzResult

    name = str(addresses_from(options)[""]) if options.targets else "built-in mock"
    if options.is_client:
        name = shlex.join(options.arguments)
    elif options.is_self:
        name = DECODER
    return FuzzResult(options.protocol, name, options.seed, is_client=options.is_client, is_self=options.is_self)


def write_list(mutations: "Sequence[Mutation | ReplyMutation]") -> None:
    """Write the mutations, a line each."""
    from wiretool.commands.conform.reports import write_text

    write_text("".join(f"{each.name}  {each.description}\n" for each in mutations))


def known_buckets(options: FuzzOptions) -> "frozenset[Bucket]":
    """Return the findings of the baseline; none without one."""
    from wiretool.fuzz.findings.baseline import read_baseline

    return frozenset() if options.baseline is None else read_baseline(options.baseline, options.protocol)


def add_seeds(session: "FuzzSession", options: FuzzOptions) -> "list[CaptureError]":
    """Take the seeds of every run, and those of files and of the corpus; return as `add_seed_files` does.

    UsageError where there is none at all.
    """
    session.add_built_in_seeds()
    damages = add_seed_files(session, options)
    if options.corpus is not None:
        from wiretool.fuzz.seeds.corpus import read_corpus

        session.add_sequences([entry.sequence for entry in read_corpus(options.corpus, session)])
    if not session.seeds:
        why = "it has no conformance cases, so no sessions of its own; expected sessions of"
        raise UsageError(f"{options.protocol}: {why} --seeds or --corpus")
    return damages


def add_seed_files(session: "FuzzSession", options: FuzzOptions) -> "list[CaptureError]":
    """Take the seeds of captures and of files of vectors, if there are any; return the damage of those read in part.

    CaptureError where no file has a seed, or where a capture is empty.
    """
    from wiretool.fuzz.seeds.vectors import is_vector_file

    damages: list[CaptureError] = []
    connections: list[ConnectionAccount] = []
    keys = keys_from(options.keylog)
    for path in options.seeds:
        if is_vector_file(path):
            add_vectors(session, path)
        else:
            damage = add_capture(session, path, options, keys, connections)
            damages += [] if damage is None else [damage]
    report_decryption(options.keylog, connections)
    if options.seeds:
        session.check_seed_files([str(path) for path in options.seeds])
    return damages


def add_capture(
    session: "FuzzSession", path: "Path", options: FuzzOptions, keys: "KeyLog", connections: "list[ConnectionAccount]"
) -> "CaptureError | None":
    """Take the sessions of a capture, and note its connections; name its damage, and return it."""
    from wiretool.capture.files.reading import read_packets
    from wiretool.ledger import Ledger

    if path.is_file() and not path.stat().st_size:
        raise CaptureError(str(path), "the file is empty; expected a capture with packets")
    packets = with_progress(read_packets(sources_from([path]), keys), "reading", "packets")
    ports, ledger = ports_from(options.ports), Ledger()
    damage = session.add_capture(str(path), packets, ports=ports, notes=tell, keys=keys, ledger=ledger)
    connections += ledger.connections
    if damage is not None:
        tell(f"{damage}; the sessions before the damage are seeds")
    return damage


def add_vectors(session: "FuzzSession", path: "Path") -> None:
    """Take the messages of vectors; name the number of those that are skipped. InputError for a file of no vectors."""
    from wiretool.fuzz.seeds.vectors import read_vectors

    vectors = read_vectors(path)
    added = session.add_vectors(vectors)
    if 0 < added < len(vectors):
        others = f"the others repeat one, or are not valid messages of a client of {session.protocol}"
        tell(f"{path}: {added:,} of {len(vectors):,} vectors are seeds; {others}")


def limits_of(options: FuzzOptions) -> "Limits":
    """Return when the run ends; runs against other machines have a limit of their own."""
    from wiretool.fuzz.campaign import CASES_SHARE, SEEDS_SHARE, Limits
    from wiretool.fuzz.targets.pacing import REMOTE_SEARCH_S

    seconds = options.time_s if options.time_s is not None or options.runs is not None else TIME_S
    if is_remote(options):
        seconds = min(seconds or REMOTE_SEARCH_S, REMOTE_SEARCH_S)
    is_in_memory = not (options.targets or options.uses_sockets)
    cases_s = None if seconds is None and is_in_memory else (seconds or TIME_S) * CASES_SHARE
    seeds = None if options.runs is None else max(1, round(options.runs * SEEDS_SHARE))
    return Limits(seconds, options.runs, cases_s=cases_s, seeds=seeds)


@contextmanager
def target_for(session: "FuzzSession", options: FuzzOptions, pacer: "Pacer | None" = None) -> "Iterator[Target]":
    """Yield the target that the options name. PeerError where it cannot be reached."""
    from wiretool.conformance.mutation.mutants import mutant_named

    if not options.targets and not options.uses_sockets:
        yield session.mock_target(mutant_named(session.part, options.mutant) if options.mutant else None)
        return
    from wiretool.fuzz.targets.socket import open_target

    with open_target(
        session,
        addresses_from(options) if options.targets else None,
        command=options.command,
        mutant=options.mutant,
        patience_s=options.timeout_s,
        jobs=options.jobs,
        pacer=pacer,
        on_left=tell,
        on_notice=tell,
    ) as target:
        session.seeds = [each for each in session.seeds if target.fits(each)]
        if not session.seeds:
            raise UsageError(
                "--target: no seed fits its endpoints; expected the address of each, as ENDPOINT=HOST:PORT"
            )
        yield target
