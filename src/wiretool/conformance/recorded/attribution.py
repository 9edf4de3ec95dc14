"""Attribution: which of several cases a deviation in recorded traffic counts against."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from wiretool.conformance.recorded.sighting import Sighting


def attributed(found: Mapping[str, Sequence[Sighting]]) -> Mapping[str, list[Sighting]]:
    """Remove failures that show nothing about their case, because the client may have begun another conversation.

    Many cases begin alike. A failure counts against the cases that match the most messages of its connection, unless a
    case that passes explains all that the client sent there. Of several that match as many, those that the recording
    shows elsewhere as kept do not count. The same applies to a capability that the server lacks.
    """
    every = [(id, each) for id, sightings in found.items() for each in sightings]
    explained = {number for _, each in every if each.is_kept for number in each.explained}
    kept = {id for id, each in every if each.is_kept}
    most: dict[int, int] = defaultdict(int)
    for _, each in every:
        if not each.is_kept:
            most[each.connection] = max(each.matched, most[each.connection])

    def counts(each: Sighting) -> bool:
        return each.connection not in explained and each.matched == most[each.connection]

    blamed = {each.connection for id, each in every if not each.is_kept and id not in kept and counts(each)}
    return {
        id: [
            each
            for each in sightings
            if each.is_kept or (counts(each) and (id not in kept or each.connection not in blamed))
        ]
        for id, sightings in found.items()
    }
