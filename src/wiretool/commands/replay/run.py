"""The way of `wiretool replay`: from options to a script, a stage to play it on, and a report."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from wiretool.commands.options import (
    foreign_connections,
    lines_of,
    ports_from,
    protocols_like,
    report_keys,
    report_unread,
    sources_from,
    tell,
)
from wiretool.commands.replay.options import (
    CONTROLLER,
    Judging,
    Playing,
    Reading,
    check_files,
    check_servers,
    check_span,
)
from wiretool.commands.replay.result import Played, report_comparison, report_replay
from wiretool.commands.step_progress import StepProgress, with_progress
from wiretool.errors import CaptureError, PeerError, UsageError

if TYPE_CHECKING:
    from wiretool.analysis.dialogues import Recording
    from wiretool.net.addresses import Address
    from wiretool.net.calling.dialler import Target
    from wiretool.net.calling.stage import Stage
    from wiretool.replay.adapter import ReplayAdapter
    from wiretool.replay.judging.expect import Expectations
    from wiretool.replay.judging.outcomes import Outcome
    from wiretool.replay.playing.player import Player
    from wiretool.replay.script import Script

NS_PER_S = 1_000_000_000
#: A capture given twice has at least this share of repeated bytes; retransmissions have less.
CAPTURED_TWICE = 0.5


def replayed(reading: Reading, playing: Playing, judging: Judging, *, is_dry: bool) -> None:
    """Read, play, judge, report; ends as `result.py` decides."""
    from wiretool.net.calling.reach import check_reachable
    from wiretool.replay.adapters import manners
    from wiretool.replay.playing.copies import copy_of

    check_span(reading)
    check_servers(playing, judging)
    check_files(reading, playing, judging, is_dry=is_dry)
    recording = recorded(reading)
    known = spoken(recording, manners(recording.of), playing)
    damage = recording.damage
    recording = copy_of(recording, known, playing.copy)
    recording.damage = damage
    script = script_for(recording, known, reading)
    check_said(script, reading)
    expectations = expectations_for(judging, known)
    if is_dry:
        told_plan(recording, script, known, playing, judging)
        return
    if playing.against:  # it is the second one: report a server that is absent before the first one is changed
        check_reachable(targets_for(recording, known, playing.against).values())
    played = play_on(recording, script, known, reading, playing)
    is_whole = played.is_whole
    if playing.learns and is_whole:
        again = play_on(recording, *afresh(recording, known, reading), reading, replace(playing, record=None))
        remarks = [*dict.fromkeys((*played.remarks, *again.remarks))]
        is_prepared = played.is_prepared and again.is_prepared
        played = Played(without_noise_of(played, again), again.stopped_by, remarks, played.unrecorded, is_prepared)
    if playing.against and is_whole:
        beside = replace(playing, targets=playing.against, record=None)
        other = play_on(recording, *afresh(recording, known, reading), reading, beside)
        report_comparison(recording, played, other, playing, judging)
        return
    report_replay(recording, script, played, judging, expectations)


def is_replayed(reading: Reading, playing: Playing, judging: Judging) -> bool:
    """Replay, report, and return whether the result is a success. Errors as of the command."""
    try:
        replayed(reading, playing, judging, is_dry=False)
    except typer.Exit:
        return False
    return True


# -- what was recorded -------------------------------------------------------------------------------------------------


def recorded(reading: Reading) -> "Recording":
    """What the captures recorded; CaptureError where that is nothing of our protocols."""
    from wiretool.capture.files.reading import read_packets
    from wiretool.ledger import Ledger
    from wiretool.replay.recording import recording_of

    sources = sources_from(reading.captures, tells_empty=len(reading.captures or ()) > 1)
    packets = with_progress(read_packets(sources, reading.keys), "reading", "packets")
    book, ports = Ledger(), ports_from(reading.ports)
    keys = reading.keys
    recording = recording_of(packets, protocol=reading.protocol, ports=ports, ledger=book, notes=tell, keys=keys)
    report_unread(book, list(reading.captures or ()))
    report_keys(reading.keylog, book)
    again, whole = book.total.duplicate_bytes, book.total.payload_bytes
    if again >= CAPTURED_TWICE * whole > 0:
        tell(f"{again:,} of {again + whole:,} bytes repeat bytes captured before, and are replayed once")
    if not any(dialogue.protocol for dialogue in recording.dialogues):
        name = " ".join(map(str, reading.captures or ()))
        raise CaptureError(name, f"no traffic of a known protocol: {foreign_connections(book)}")
    return part_of(recording, reading) if reading.from_s or reading.to_s is not None else recording


def part_of(recording: "Recording", reading: Reading) -> "Recording":
    """Return the part of a recording in the chosen time; UsageError if it has no message of a known protocol."""
    first_ns, last_ns = recording.events[0].time_ns, recording.events[-1].time_ns
    end_ns = last_ns if reading.to_s is None else first_ns + round(reading.to_s * NS_PER_S)
    part = recording.between(first_ns + round(reading.from_s * NS_PER_S), end_ns)
    if not any(dialogue.protocol for dialogue in part.dialogues):
        length_s = (last_ns - first_ns) / NS_PER_S
        raise UsageError(f"nothing to replay between --from and --to; the recording lasts {length_s:.6f} s")
    return part


def spoken(
    recording: "Recording", known: "Mapping[str, ReplayAdapter]", playing: Playing
) -> "dict[str, ReplayAdapter]":
    """The manners of the protocols that are recorded and have somebody to be said to."""
    names = [name for name in known if recording.of(name)]
    if not names:
        others = sorted({dialogue.protocol for dialogue in recording.dialogues if dialogue.protocol})
        raise UsageError(f"nothing to replay: only {', '.join(others)}, which replay does not send")
    main = [name for name in names if known[name].server == name]
    if len(main) > 1 and "" in playing.targets:
        raise UsageError(f"--target: {' and '.join(main)} are recorded; expected --target {main[0]}=HOST:PORT")
    found = {name: known[name] for name in names if has_target(recording, known[name], playing)}
    if not found:
        doors = ", ".join(dict.fromkeys(door for name in names for door in doors_of(recording, known[name])))
        raise UsageError(f"nothing to replay: no address was given for {doors}{hint_for(names)}")
    return found


def has_target(recording: "Recording", manner: "ReplayAdapter", playing: Playing) -> bool:
    """Whether there is somebody to whom a protocol can be said: of what stands beside a server only if it is named."""
    keys = [*doors_of(recording, manner), *([""] if manner.server == manner.protocol.name else [])]
    return all(not named or any(key in named for key in keys) for named in (playing.targets, playing.against))


def hint_for(names: Collection[str]) -> str:
    """How the address of a controller is given, where that is left out."""
    return "; give its address with --controller HOST:PORT" if CONTROLLER in names else ""


def doors_of(recording: "Recording", manner: "ReplayAdapter") -> list[str]:
    """What an address of a server of the protocol may be called: the protocol, or a door of such a server."""
    from wiretool.server.options import MockOptions
    from wiretool.server.part import mock_for, server_part

    name = manner.protocol.name
    if server_part(manner.server) is None:
        return [name]
    mock = mock_for(manner.server, manner.mock_options(recording, MockOptions()))
    return [name, *(door.name for door in mock.doors if door.protocol == name)]


def script_for(recording: "Recording", known: "Mapping[str, ReplayAdapter]", reading: Reading) -> "Script":
    """What is done in the replay."""
    from wiretool.replay.script import script_of

    wanted = wanted_records(recording, reading)
    script = script_of(recording, known, is_wanted=lambda record: record.n in wanted)
    if CONTROLLER not in known:
        script.left_out = [each._replace(why=each.why + hint_for([each.dialogue.protocol])) for each in script.left_out]
    return script


def afresh(
    recording: "Recording", known: "Mapping[str, ReplayAdapter]", reading: Reading
) -> "tuple[Script, dict[str, ReplayAdapter]]":
    """What is done, and the manners of the same protocols that know nothing of a run before."""
    from wiretool.replay.adapters import manners

    own = dict(manners(known.__contains__))
    return script_for(recording, own, reading), own


def check_said(script: "Script", reading: Reading) -> None:
    """UsageError where the options leave nothing to say."""
    from wiretool.replay.script import Say

    if reading.where and not any(isinstance(step, Say) for step in script.steps):
        raise UsageError(f"nothing to replay: no request matches --where {reading.where!r}")


def wanted_records(recording: "Recording", reading: Reading) -> set[int]:
    """The numbers of the records that the options choose, of both sides. UsageError for a bad expression."""
    from wiretool.analysis.dialogues import Told
    from wiretool.filter import History, Selection, names_for

    selection = Selection(names_for(protocols_like(reading.protocol)), History(), expression=reading.where)
    told = (event.record for event in recording.events if isinstance(event, Told))
    return {record.n for record in told if selection(record)}


# -- playing it --------------------------------------------------------------------------------------------------------


def play_on(
    recording: "Recording", script: "Script", known: "Mapping[str, ReplayAdapter]", reading: Reading, playing: Playing
) -> Played:
    """Play it to the target or to mocks. PeerError where no connection could be made."""
    from wiretool.net.calling.run import call
    from wiretool.replay.playing.copies import copy_of
    from wiretool.replay.playing.player_group import Chorus
    from wiretool.replay.playing.progress import WatchedCaller

    numbers = itertools.count(1)
    copies = [copy_of(recording, known, number) for number in range(1, playing.connections * playing.repeats)]
    first = player_for(recording, script, known, playing, numbers)
    players = [first, *(copied(copy, known, reading, playing, numbers) for copy in copies)]
    rounds = [players[at : at + playing.connections] for at in range(0, len(players), playing.connections)]
    with ExitStack() as stack:
        stage = stage_for(recording, copies, known, playing, stack)
        progress = stack.enter_context(StepProgress("replaying", "steps"))
        group = Chorus(rounds, has_one_server=len(set(stage.targets.values())) == 1)
        called = call(WatchedCaller(group, progress.update), stage)
        if not called.reached and called.why_unreached:
            raise PeerError(called.why_unreached)
        if stage.record is not None and called.unrecorded is None:
            stage.record.begin()  # of nothing, if nothing was said
    begun = [player for player in players if player.has_begun]
    remarks = [*dict.fromkeys(remark for player in begun for remark in player.remarks)]
    outcomes = [outcome for player in begun for outcome in player.outcomes()]
    is_prepared = all(player.is_prepared for player in begun)
    return Played(outcomes, called.stopped_by, remarks, called.unrecorded, is_prepared)


def player_for(
    recording: "Recording",
    script: "Script",
    known: "Mapping[str, ReplayAdapter]",
    playing: Playing,
    numbers: "Iterator[int]",
) -> "Player":
    """Who plays the script of a recording."""
    from wiretool.replay.adapter import Identity
    from wiretool.replay.playing.player import Player

    is_prepared = playing.prepare if playing.prepare is not None else not playing.targets
    for name, manner in known.items():
        host = playing.targets.get(name) or (playing.targets.get("") if manner.server == name else None)
        manner.identity = Identity(str(host) if host else "", playing.token, playing.headers)
    return Player(
        script,
        known,
        speed=playing.speed,
        seed=playing.seed,
        patience_ns=round(playing.timeout_s * NS_PER_S),
        prepare=recording if is_prepared else None,
        numbers=numbers,
    )


def copied(
    copy: "Recording",
    known: "Mapping[str, ReplayAdapter]",
    reading: Reading,
    playing: Playing,
    numbers: "Iterator[int]",
) -> "Player":
    """Who plays a copy of the recording, in which clients have other names."""
    script, own = afresh(copy, known, reading)
    return player_for(copy, script, own, playing, numbers)


def stage_for(
    recording: "Recording",
    copies: "Sequence[Recording]",
    known: "Mapping[str, ReplayAdapter]",
    playing: Playing,
    stack: ExitStack,
) -> "Stage":
    """Whom it is played to, and what is recorded of that: the last recording is kept until somebody is reached."""
    from wiretool.commands.serve.run import rules_for
    from wiretool.net.calling.stage import Stage
    from wiretool.replay.mocks import mocks_for
    from wiretool.server.options import MockOptions
    from wiretool.sinks.pcapng import open_recording

    if playing.targets:
        stage = Stage(targets_for(recording, known, playing.targets), tell=tell)
    else:
        mocks = mocks_for(recording, known, MockOptions(seed=playing.seed), copies)
        protocols = [door.protocol for mock in mocks.values() for door in mock.doors]
        rules = rules_for(protocols, playing.rules, playing.rules_file)
        playing.applied.expect(rules)
        stage = Stage(mocks=mocks, rules=rules, applied=playing.applied, seed=playing.seed, tell=tell)
    if playing.record is None:
        return stage
    return replace(stage, record=stack.enter_context(open_recording(playing.record)))


def targets_for(
    recording: "Recording", known: "Mapping[str, ReplayAdapter]", named: "Mapping[str, Address]"
) -> "dict[Target, Address]":
    """The address of each door that has one; UsageError for a name that is nobody's."""
    found: dict[Target, Address] = {}
    names = {name: doors_of(recording, manner) for name, manner in known.items()}
    for key, address in named.items():
        places = [
            (name, "" if key in ("", name) else key)
            for name, doors in names.items()
            if key in doors or (not key and known[name].server == name)
        ]
        if not places:
            there = ", ".join(dict.fromkeys(door for doors in names.values() for door in doors))
            raise UsageError(f"--target {key}={address}: there is {there}")
        found |= dict.fromkeys(places, address)
    for name in known:
        if (name, "") not in found:
            found[name, ""] = next(address for (owner, _), address in found.items() if owner == name)
    return found


# -- what is told ------------------------------------------------------------------------------------------------------


def told_plan(
    recording: "Recording", script: "Script", known: "Mapping[str, ReplayAdapter]", playing: Playing, judging: Judging
) -> None:
    """Print what would be done."""
    from wiretool.replay.plan import plan_lines
    from wiretool.sinks.output import open_output
    from wiretool.sinks.printable import printable

    is_prepared = playing.prepare if playing.prepare is not None else not playing.targets
    with open_output(judging.output) as out:
        for line in plan_lines(recording, script, known, is_prepared=is_prepared):
            out.write(printable(line) + "\n")


def expectations_for(judging: Judging, known: "Mapping[str, ReplayAdapter]") -> "Expectations":
    """The differences that are accepted; UsageError for a bad file."""
    from wiretool.replay.judging.expect import expectations_from

    if judging.expect is None:
        return expectations_from("", [])
    text = "".join(lines_of(str(judging.expect)))
    return expectations_from(text, [manner.protocol for manner in known.values()], name=f"--expect {judging.expect}")


def without_noise_of(first: Played, second: Played) -> "list[Outcome]":
    """The outcomes of the second of two runs, less what was otherwise in the first."""
    from wiretool.replay.judging.noise import without_noise

    return without_noise(first.outcomes, second.outcomes)
