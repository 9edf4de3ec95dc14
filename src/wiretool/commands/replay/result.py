"""The result of `wiretool replay` and `wiretool diff`: reports, and how the command ends."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import typer

from wiretool.commands.options import tell
from wiretool.commands.replay.options import Judging, Playing
from wiretool.errors import OutputError, PeerError, Stopped, UsageError, WiretoolError

if TYPE_CHECKING:
    from wiretool.analysis.dialogues import Recording
    from wiretool.replay.judging.expect import Expectations
    from wiretool.replay.judging.outcomes import Outcome
    from wiretool.replay.script import Script

CUT_SHORT = "stopped before its end: the report lacks the requests not sent by then"


class Played(NamedTuple):
    """What came of a replay, and the signal that stopped it before its end."""

    outcomes: "list[Outcome]"
    stopped_by: int | None
    remarks: Sequence[str] = ()
    #: Why what was recorded of it ends early.
    unrecorded: WiretoolError | None = None
    #: Whether the server could be prepared, where that was asked for.
    is_prepared: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it was played to its end."""
        return self.stopped_by is None


def report_replay(
    recording: "Recording", script: "Script", played: Played, judging: Judging, expectations: "Expectations"
) -> None:
    """Write the report, then end as `check_whole` and `check_success` do."""
    from wiretool.replay.report import write_report
    from wiretool.sinks.output import open_whole_output

    remarks = [*damage_remarks([recording]), *played.remarks, *expectations.apply(played.outcomes)]
    if not played.is_whole:
        remarks.append(CUT_SHORT)
    files = [("junit", judging.junit), ("html", judging.html), (judging.form.value, judging.output)]
    is_success = False
    for form, path in files:
        if path is not None or form == judging.form.value:
            with open_whole_output(path) as out:
                report = write_report(
                    recording,
                    script,
                    played.outcomes,
                    out,
                    form,
                    remarks=remarks,
                    min_judged=judging.min_judged,
                    is_prepared=played.is_prepared,
                )
                is_success = report.is_success
    check_whole(played)
    check_success([recording], is_success=is_success)


def report_comparison(recording: "Recording", one: Played, other: Played, playing: Playing, judging: Judging) -> None:
    """Write what two servers answer differently, then end as `check_whole` and `check_success` do.

    PeerError where neither answers anything: silence is not an answer that two could have alike.
    """
    from wiretool.replay.compare_servers import coverage_of_both, grid, grid_lines, is_mute
    from wiretool.sinks.choose import width_of
    from wiretool.sinks.output import open_whole_output
    from wiretool.sinks.printable import printable
    from wiretool.sinks.text.wrapping import wrap_lines

    rows = list(grid(one.outcomes, other.outcomes))
    are_prepared = one.is_prepared and other.is_prepared
    coverage = coverage_of_both(one.outcomes, other.outcomes, judging.min_judged, is_prepared=are_prepared)
    first, second = (", ".join(map(str, each.values())) or "mock" for each in (playing.targets, playing.against))
    if other.is_whole and coverage.total and is_mute([*one.outcomes, *other.outcomes]):
        raise PeerError(f"neither {first} nor {second} sends a reply: nothing to compare")
    remarks = [*damage_remarks([recording]), *remarks_of_both(one, first, other, second)]
    with open_whole_output(judging.output) as out:
        lines = [*grid_lines(rows, first, second, coverage), *remarks, *([] if other.is_whole else [CUT_SHORT])]
        out.write(wrap_lines(map(printable, lines), width_of(out)))
    check_whole(other._replace(unrecorded=one.unrecorded))
    check_success([recording], is_success=not rows and coverage.is_enough)


def remarks_of_both(one: Played, first: str, other: Played, second: str) -> Iterator[str]:
    """Yield the remarks on two replays; one that is about a single server names it."""
    for remark in dict.fromkeys((*one.remarks, *other.remarks)):
        if remark in one.remarks and remark in other.remarks:
            yield remark
        else:
            yield f"{first if remark in one.remarks else second}: {remark}"


def check_whole(played: Played) -> None:
    """Raise Stopped where the replay was stopped, UsageError or OutputError where its recording ends early."""
    why = f"{played.unrecorded}: the recording ends there; the report is complete"
    if played.stopped_by is not None:
        if played.unrecorded is not None:
            tell(why)
        raise Stopped(played.stopped_by)
    if played.unrecorded is not None:
        raise OutputError(why) if isinstance(played.unrecorded, OutputError) else UsageError(why)


def damage_remarks(recordings: "Iterable[Recording]") -> list[str]:
    """Return what is wrong with damaged captures, for the report."""
    return [f"{each.damage}; only the part before that is used" for each in recordings if each.damage]


def check_success(recordings: "Iterable[Recording]", *, is_success: bool) -> None:
    """CaptureError where a capture is damaged; `typer.Exit` of 1 where the result is no success."""
    for recording in recordings:
        if recording.damage is not None:
            raise recording.damage
    if not is_success:
        raise typer.Exit(1)
