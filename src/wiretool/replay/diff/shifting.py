"""Where the things that grow began elsewhere in the second recording: what most of their places say."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from wiretool.codec.message import Position
from wiretool.records import Record
from wiretool.replay.adapter import ReplayAdapter
from wiretool.replay.playing.id_map import Values


class Met(NamedTuple):
    """Frames of both recordings that belong together, and the request that they answer."""

    manner: ReplayAdapter
    recorded: Record
    live: Record
    request: Record | None = None


def shift_positions(values: Values, every: Sequence[Met]) -> None:
    """Learn the shifts that are not known. One place alone may be that of a writer whom another has overtaken."""
    if all(met.recorded.fields == met.live.fields for met in every):
        return
    votes: dict[tuple[str, Hashable], Counter[int]] = defaultdict(Counter)
    for met in every:
        for space, by in _shifts(met):
            if not values.has_shift(*space):
                votes[space][by] += 1
    for (kind, within), counts in votes.items():
        most = max(counts.values())
        values.shift(kind, within, min((by for by, count in counts.items() if count == most), key=abs))


def _shifts(met: Met) -> Iterator[tuple[tuple[str, Hashable], int]]:
    """By how much each place in two frames is shifted."""
    if met.recorded.message != met.live.message:
        return
    manner, request = met.manner, met.request
    told = {place.steps: place.value for place in manner.places(met.live, manner.form(met.live), request)}
    for place in manner.places(met.recorded, manner.form(met.recorded), request):
        role, live = place.role, told.get(place.steps)
        if not isinstance(role, Position) or type(place.value) is not int or type(live) is not int:
            continue
        if place.value not in role.besides and live not in role.besides:
            yield (role.kind, place.within), live - place.value
