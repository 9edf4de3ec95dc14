"""The way of `wiretool replay`: from options to a script, a stage to play it on, and a report."""

import base64
import itertools
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from wiretool.commands.options import ReportFormat, lines_of, ports_from, protocols_like, sources_from, tell
from wiretool.errors import CaptureError, PeerError, Stopped, UsageError

if TYPE_CHECKING:
    from wiretool.net.addresses import Address
    from wiretool.net.calling import Stage
    from wiretool.net.dialler import Target
    from wiretool.replay.expect import Expectations
    from wiretool.replay.manners.manner import Manner
    from wiretool.replay.outcomes import Outcome
    from wiretool.replay.player import Player
    from wiretool.replay.script import Script
    from wiretool.sessions.dialogues import Recording

NS_PER_S = 1_000_000_000
#: The name under which `--controller` is a target.
CONTROLLER = "pravega-controller"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read, and which of it is said."""

    captures: Sequence[Path] | None
    protocol: str
    ports: Sequence[str] | None
    where: str = ""
    from_s: float = 0.0
    to_s: float | None = None


@dataclass(frozen=True, slots=True)
class Playing:
    """Whom it is said to, and how."""

    #: By protocol or door, empty for the only one there is; none for mocks of our own.
    targets: "Mapping[str, Address]"
    prepare: bool | None
    speed: float
    timeout_s: float
    record: Path | None
    rules: Sequence[str]
    rules_file: Path | None
    seed: int
    #: Whether it is played twice, to learn what is another in each run; and whom else it is played to.
    learns: bool = False
    against: "Mapping[str, Address]" = field(default_factory=dict)
    #: How many copies of it play at once, and how often that is done.
    connections: int = 1
    repeats: int = 1
    #: Under which names: those of the copy of that number, 0 for the recorded ones.
    copy: int = 0
    #: As whom clients speak.
    token: str | None = None
    headers: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """What is made of the answers."""

    form: ReportFormat
    output: Path | None
    junit: Path | None
    html: Path | None
    expect: Path | None


class Played(NamedTuple):
    """What came of a replay, and whether it was played to its end."""

    outcomes: "list[Outcome]"
    is_whole: bool


def speed_from(text: str) -> float:
    """How many times as fast as recorded; UsageError for what is none."""
    if text == "max":
        return inf
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < inf:
        raise UsageError(f"--speed {text!r}: wants a number above 0, as 1 or 0.5, or max")
    return speed


def targets_from(
    texts: Sequence[str] | None, allowed: Sequence[str], *, option: str = "--target"
) -> "dict[str, Address]":
    """The addresses by protocol or door. UsageError for a bad one, or one on another machine that is not allowed."""
    from wiretool.net.addresses import address_from, is_loopback

    found: dict[str, Address] = {}
    for text in texts or ():
        name, equals, rest = text.partition("=")
        address = address_from(rest if equals else text, option=option)
        if not is_loopback(address.host) and address.host not in allowed:
            raise UsageError(f"{option} {address} is another machine; if that is meant, --allow-remote {address.host}")
        found[name if equals else ""] = address
    return found


def controller_from(text: str, allowed: Sequence[str]) -> "dict[str, Address]":
    """The address of Pravega's controller as that of a target, if one is given; errors as of `targets_from`."""
    found = targets_from([text], allowed, option="--controller") if text else {}
    return dict(zip([CONTROLLER], found.values(), strict=False))


def headers_from(texts: Sequence[str] | None, user: str) -> list[tuple[str, str]]:
    """Headers in `NAME: VALUE`, and Authorization for `USER:PASSWORD`; UsageError for what is neither."""
    found = []
    for text in texts or ():
        name, colon, value = text.partition(":")
        if not (colon and name and name.isascii() and all(each.isalnum() or each in "-_" for each in name)):
            raise UsageError(f"--header {text!r}: wants NAME: VALUE")
        if not value.isprintable() or not value.isascii():
            raise UsageError(f"--header {text!r}: the value wants printable ASCII")
        found.append((name, value.strip()))
    if user:
        if ":" not in user:
            raise UsageError("--user wants USER:PASSWORD")
        found.append(("Authorization", "Basic " + base64.b64encode(user.encode()).decode()))
    return found


def replayed(reading: Reading, playing: Playing, judging: Judging, *, is_dry: bool) -> None:
    """Read, play, judge, report. `typer.Exit` of 1 where there are findings; Stopped where somebody stopped it."""
    from wiretool.replay.copies import copy_of
    from wiretool.replay.manners import manners

    recording = recorded(reading)
    known = spoken(recording, manners(), playing)
    recording = copy_of(recording, known, playing.copy)
    script = script_for(recording, known, reading)
    expectations = expectations_for(judging, known)
    if is_dry:
        told_plan(recording, script, known, playing, judging)
        return
    played = play_on(recording, script, known, reading, playing)
    is_whole = played.is_whole
    if playing.learns and is_whole:
        again = play_on(recording, script, known, reading, replace(playing, record=None))
        played = Played(without_noise_of(played, again), again.is_whole)
    if playing.against and is_whole:
        other = play_on(recording, script, known, reading, replace(playing, targets=playing.against, record=None))
        compared(played, other, playing, judging)
        return
    reported(recording, script, played, judging, expectations)


# -- what was recorded -------------------------------------------------------------------------------------------------


def recorded(reading: Reading) -> "Recording":
    """What the captures recorded; CaptureError where that is nothing of our protocols."""
    from wiretool.capture.files import read_packets
    from wiretool.replay.recording import recording_of

    sources = sources_from(reading.captures)
    recording = recording_of(
        read_packets(sources), protocol=reading.protocol, ports=ports_from(reading.ports), notes=tell
    )
    if (reading.from_s or reading.to_s is not None) and recording.events:
        first_ns = recording.events[0].time_ns
        last_ns = recording.events[-1].time_ns if reading.to_s is None else first_ns + round(reading.to_s * NS_PER_S)
        recording = recording.between(first_ns + round(reading.from_s * NS_PER_S), last_ns)
    if not any(dialogue.protocol for dialogue in recording.dialogues):
        name = " ".join(map(str, reading.captures or ()))
        count = len(recording.dialogues)
        raise CaptureError(
            name, f"nothing of our protocols in it: {count:,} TCP connection{'s' * (count != 1)} of others", offset=0
        )
    return recording


def spoken(recording: "Recording", known: "Mapping[str, Manner]", playing: Playing) -> "dict[str, Manner]":
    """The manners of the protocols that are recorded and have somebody to be said to."""
    names = [name for name in known if recording.of(name)]
    if not names:
        others = sorted({dialogue.protocol for dialogue in recording.dialogues if dialogue.protocol})
        raise UsageError(
            f"nothing to replay: only {', '.join(others)}, of which the store's or no side is spoken again"
        )
    main = [name for name in names if known[name].server == name]
    if len(main) > 1 and "" in playing.targets:
        raise UsageError(
            f"--target: {' and '.join(main)} are recorded; say which is where, as --target {main[0]}=HOST:PORT"
        )
    found = {name: known[name] for name in names if has_target(recording, known[name], playing)}
    if not found:
        doors = ", ".join(door for name in names for door in doors_of(recording, known[name]))
        raise UsageError(f"nothing to replay: no address is given for what there is, {doors}{hint_for(names)}")
    return found


def has_target(recording: "Recording", manner: "Manner", playing: Playing) -> bool:
    """Whether there is somebody to whom a protocol can be said: of what stands beside a server only if it is named."""
    keys = [*doors_of(recording, manner), *([""] if manner.server == manner.protocol.name else [])]
    return all(not named or any(key in named for key in keys) for named in (playing.targets, playing.against))


def hint_for(names: Collection[str]) -> str:
    """How the address of a controller is given, where that is left out."""
    return "; --controller HOST:PORT says where that is" if CONTROLLER in names else ""


def doors_of(recording: "Recording", manner: "Manner") -> list[str]:
    """What an address of a server of the protocol may be called: the protocol, or a door of such a server."""
    from wiretool.servers.choose import mock_for
    from wiretool.servers.options import MockOptions

    name = manner.protocol.name
    mock = mock_for(manner.server, manner.mock_options(recording, MockOptions()))
    return [name, *(door.name for door in mock.doors if door.protocol == name)]


def script_for(recording: "Recording", known: "Mapping[str, Manner]", reading: Reading) -> "Script":
    """What is done in the replay."""
    from wiretool.replay.script import script_of

    wanted = wanted_records(recording, reading)
    script = script_of(recording, known, is_wanted=lambda record: record.n in wanted)
    if CONTROLLER not in known:
        script.left_out = [each._replace(why=each.why + hint_for([each.dialogue.protocol])) for each in script.left_out]
    return script


def wanted_records(recording: "Recording", reading: Reading) -> set[int]:
    """The numbers of the records that the options choose, of both sides. UsageError for a bad expression."""
    from wiretool.sessions.dialogues import Told
    from wiretool.where import Clock, Selection, names_for

    selection = Selection(names_for(protocols_like(reading.protocol)), Clock(), expression=reading.where)
    told = (event.record for event in recording.events if isinstance(event, Told))
    return {record.n for record in told if selection(record)}


# -- playing it --------------------------------------------------------------------------------------------------------


def play_on(
    recording: "Recording", script: "Script", known: "Mapping[str, Manner]", reading: Reading, playing: Playing
) -> Played:
    """Play it to the target or to mocks. PeerError where no connection could be made."""
    from wiretool.net.calling import call
    from wiretool.replay.chorus import Chorus

    numbers = itertools.count(1)
    first = player_for(recording, script, known, playing, numbers)
    others = (
        copied(recording, known, number, reading, playing, numbers)
        for number in range(1, playing.connections * playing.repeats)
    )
    players = [first, *others]
    rounds = [players[at : at + playing.connections] for at in range(0, len(players), playing.connections)]
    with ExitStack() as stack:
        called = call(Chorus(rounds), stage_for(recording, known, playing, stack))
    if not called.reached and called.why_unreached:
        raise PeerError(called.why_unreached)
    begun = [player for player in players if player.has_begun]
    return Played([outcome for player in begun for outcome in player.outcomes()], called.is_whole)


def player_for(
    recording: "Recording",
    script: "Script",
    known: "Mapping[str, Manner]",
    playing: Playing,
    numbers: "Iterator[int]",
) -> "Player":
    """Who plays the script of a recording."""
    from wiretool.replay.manners.manner import Identity
    from wiretool.replay.player import Player

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
    recording: "Recording",
    known: "Mapping[str, Manner]",
    number: int,
    reading: Reading,
    playing: Playing,
    numbers: "Iterator[int]",
) -> "Player":
    """Who plays a copy of the recording, in which clients have other names."""
    from wiretool.replay.copies import copy_of
    from wiretool.replay.manners import manners

    copy = copy_of(recording, known, number)
    own = {name: manner for name, manner in manners().items() if name in known}
    return player_for(copy, script_for(copy, own, reading), own, playing, numbers)


def stage_for(recording: "Recording", known: "Mapping[str, Manner]", playing: Playing, stack: ExitStack) -> "Stage":
    """Whom it is played to, and what is recorded of that."""
    from wiretool.commands.serving import rules_for
    from wiretool.net.calling import Stage
    from wiretool.replay.mocks import mocks_for
    from wiretool.servers.options import MockOptions
    from wiretool.sinks.output import open_output
    from wiretool.sinks.pcapng import Recording as Pcapng

    record = None
    if playing.record is not None:
        record = Pcapng(stack.enter_context(open_output(playing.record)))
        record.begin()
    if playing.targets:
        if playing.rules or playing.rules_file is not None:
            raise UsageError("--fault and --faults are for the mock; with --target, stand a tap before the server")
        return Stage(targets_for(recording, known, playing.targets), record=record, tell=tell)
    mocks = mocks_for(recording, known, MockOptions(seed=playing.seed))
    protocols = [door.protocol for mock in mocks.values() for door in mock.doors]
    rules = rules_for(protocols, playing.rules, playing.rules_file)
    return Stage(mocks=mocks, rules=rules, seed=playing.seed, record=record, tell=tell)


def targets_for(
    recording: "Recording", known: "Mapping[str, Manner]", named: "Mapping[str, Address]"
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
            there = ", ".join(door for doors in names.values() for door in doors)
            raise UsageError(f"--target {key}={address}: there is {there}")
        found |= dict.fromkeys(places, address)
    for name in known:
        if (name, "") not in found:
            found[name, ""] = next(address for (owner, _), address in found.items() if owner == name)
    return found


# -- what is told ------------------------------------------------------------------------------------------------------


def told_plan(
    recording: "Recording", script: "Script", known: "Mapping[str, Manner]", playing: Playing, judging: Judging
) -> None:
    """Print what would be done."""
    from wiretool.replay.plan import plan_lines
    from wiretool.sinks.output import open_output
    from wiretool.sinks.printable import printable

    is_prepared = playing.prepare if playing.prepare is not None else not playing.targets
    with open_output(judging.output) as out:
        for line in plan_lines(recording, script, known, is_prepared=is_prepared):
            out.write(printable(line) + "\n")


def expectations_for(judging: Judging, known: "Mapping[str, Manner]") -> "Expectations":
    """The differences that are accepted; UsageError for a bad file."""
    from wiretool.replay.expect import expectations_from

    if judging.expect is None:
        return expectations_from("", [])
    text = "".join(lines_of(str(judging.expect)))
    return expectations_from(text, [manner.protocol for manner in known.values()], name=f"--expect {judging.expect}")


def without_noise_of(first: Played, second: Played) -> "list[Outcome]":
    """The outcomes of the second of two runs, less what was otherwise in the first."""
    from wiretool.replay.noise import without_noise

    return without_noise(first.outcomes, second.outcomes)


def reported(
    recording: "Recording", script: "Script", played: Played, judging: Judging, expectations: "Expectations"
) -> None:
    """Write the report. `typer.Exit` of 1 where there are findings; Stopped where it was not played to its end."""
    from wiretool.replay.report import write_report
    from wiretool.sinks.output import open_output

    remarks = list(expectations.apply(played.outcomes))
    if not played.is_whole:
        remarks.append("stopped before its end: what was not said by then is missing here")
    files = [("junit", judging.junit), ("html", judging.html), (judging.form.value, judging.output)]
    for form, path in files:
        if path is not None or form == judging.form.value:
            with open_output(path) as out:
                write_report(recording, script, played.outcomes, out, form, remarks=remarks)
    if not played.is_whole:
        raise Stopped(signal.SIGINT)
    if any(outcome.verdict.is_finding for outcome in played.outcomes):
        raise typer.Exit(1)


def compared(one: Played, other: Played, playing: Playing, judging: Judging) -> None:
    """Write what two servers answer differently. `typer.Exit` of 1 where that is anything."""
    from wiretool.replay.grid import grid, grid_lines
    from wiretool.sinks.output import open_output
    from wiretool.sinks.printable import printable

    rows = list(grid(one.outcomes, other.outcomes))
    names = [", ".join(map(str, targets.values())) or "mock" for targets in (playing.targets, playing.against)]
    with open_output(judging.output) as out:
        for line in grid_lines(rows, *names):
            out.write(printable(line) + "\n")
    if rows:
        raise typer.Exit(1)
