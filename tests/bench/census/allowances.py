"""Says of each lie about one run whether a clause allows it."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

from tests.bench.census.allowed import AS_RECORDED, WHOLE, Change, is_allowed, matching
from tests.bench.census.lie import CONSTANT, Lie, Steps, pattern_of, same, values_in
from tests.bench.census.play import Played, Reply
from wiretool.codec.message import Issued, Position
from wiretool.records import Record
from wiretool.replay.adapters import manners


class Allowances:
    """Says which lies about one run are allowed, and by which clause."""

    def __init__(self, played: Played) -> None:
        self._manners = manners()
        self._replies = played.replies
        #: What was recorded in the place of a reply, by its connection and offset; None for nothing.
        self._recorded: dict[tuple[int, int], Record | None] = {}
        for outcome in played.outcomes:
            for at, live in enumerate(outcome.live):
                recorded = outcome.recorded[at] if at < len(outcome.recorded) else None
                self._recorded[live.connection, live.offset] = recorded
        #: How often each value with a role is said in the run, and how many values of its kind.
        self._said: Counter[Hashable] = Counter()
        self._spaces: dict[Hashable, set[Any]] = {}
        self._counts: Counter[Hashable] = Counter()
        #: The fields of replies that say values of a kind.
        self._sayers: dict[Hashable, set[tuple[str, str]]] = {}
        self._made: set[str] = set()
        for reply in played.replies:
            places = self._places(reply)
            self._note(reply.protocol, places.values())
            for steps, (role, within, _) in places.items():
                if isinstance(role, Issued | Position):
                    sayer = reply.record.message, pattern_of(steps)
                    self._sayers.setdefault((reply.protocol, role.kind, within), set()).add(sayer)
            if reply.record.message == "SegmentCreated":
                self._made.add(reply.form["segment"])
        for record in played.requests:
            manner = self._manners[record.protocol]
            if record.fields is not None and (record.side, record.message) in manner.dialect.kinds:
                asked = manner.places(record, manner.form(record))
                self._note(record.protocol, [(each.role, each.within, each.value) for each in asked])
            if record.message == "createStream":
                info = manner.form(record)["streamInfo"]
                self._made.add(f"{info['scope']}/{info['stream']}")

    def clause(self, lie: Lie) -> str:
        """Return the clause that allows the lie; empty where it is forbidden."""
        if lie.kind == "drop" and self._was_recorded(lie) is None:
            return AS_RECORDED
        if lie.kind == "drop" and self._is_covered(lie):
            return "spec/000 Data Appended: acks come periodically, each with the highest offset"
        if lie.kind in ("drop", "double", "reorder"):
            return self._whole(lie)
        if lie.name != lie.reply.record.message:
            return self._whole(lie)
        form: Any = dict(values_in(lie.reply.form))
        clauses = [self._field(Change(lie, steps, form.get(steps), now)) for steps, now in lie.changes]
        return "; ".join(dict.fromkeys(clauses)) if clauses and all(clauses) else ""

    def recorded_ns(self, reply: Reply) -> int | None:
        """Return when the reply was recorded; None where it was not."""
        recorded = self._recorded.get((reply.record.connection, reply.record.offset))
        return None if recorded is None else recorded.time_ns

    def _is_covered(self, lie: Lie) -> bool:
        """Whether an ack of the draft is followed by one that says more."""
        name = "connection_offset_ack_level"
        if lie.reply.protocol != "pravega-draft" or lie.reply.record.message != "DataAppended":
            return False
        later = [each.form for each in self._replies if each.at > lie.reply.at and name in each.form]
        mine = lie.reply.form
        return any(each["connection_id"] == mine["connection_id"] and each[name] >= mine[name] for each in later)

    def _was_recorded(self, lie: Lie) -> Record | None:
        record = lie.reply.record
        return self._recorded.get((record.connection, record.offset), record)

    def _is_as_recorded(self, change: Change) -> bool:
        recorded = self._was_recorded(change.lie)
        if recorded is None or recorded.message != change.lie.reply.record.message:
            return False
        form = self._manners[recorded.protocol].dialect.form(recorded)
        return same(dict(values_in(form)).get(change.steps, change), change.now)

    def _whole(self, lie: Lie) -> str:
        rules = [rule for rule in WHOLE if rule.field == lie.kind]
        return matching(rules, lie, lie.kind, Change(lie, (), None, None))

    def _field(self, change: Change) -> str:
        return AS_RECORDED if self._is_as_recorded(change) else is_allowed(change) or self._made_up(change)

    # -- values that the server makes up -------------------------------------------------------------------------------

    def _places(self, reply: Reply) -> Mapping[Steps, tuple[Any, Hashable, Any]]:
        manner = self._manners[reply.protocol]
        form = manner.form(reply.record)
        places = manner.places(reply.record, form, reply.request)
        return {each.steps: (each.role, each.within, each.value) for each in places}

    def _note(self, protocol: str, places: Any) -> None:
        for role, within, value in places:
            if isinstance(role, Issued | Position) and isinstance(value, Hashable) and value not in role.besides:
                space = protocol, role.kind, within
                self._said[space, value] += 1
                self._counts[space] += 1
                self._spaces.setdefault(space, set()).add(value)

    def _made_up(self, change: Change) -> str:
        role, within, value = self._places(change.lie.reply).get(change.steps, (None, None, None))
        if not isinstance(role, Issued | Position) or value in role.besides or type(change.now) is not type(value):
            return ""
        space = change.lie.reply.protocol, role.kind, within
        if change.lie.kind == "always":
            return self._renamed(change, space)
        if isinstance(role, Position):
            is_made = any(str(within).startswith(f"{name}/") or within == name for name in self._made)
            is_alone = self._counts[space] == 1 and not is_made and change.now >= 0
            return f"no other {role.kind} tells where this one begins" if is_alone else ""
        is_free = self._said[space, value] == 1 and change.now not in self._spaces[space] and _is_plausible(change.now)
        return f"a made-up {role.kind} that is not used again" if is_free else ""

    def _renamed(self, change: Change, space: Hashable) -> str:
        """A server may make up other values, if all that it says of them agrees."""
        is_only_sayer = len(self._sayers[space]) == 1
        is_moved = isinstance(change.now, int) and change.now not in (0, CONSTANT)
        is_one = len(self._spaces[space]) == 1
        is_made = any(str(space[2]).startswith(name) for name in self._made) if isinstance(space, tuple) else False
        if not (is_only_sayer and (is_moved or is_one)) or is_made or not _is_plausible(change.now):
            return ""
        return "other made-up values, or another beginning, that all replies agree on"


def _is_plausible(value: Any) -> bool:
    return value >= 0 if isinstance(value, int) else bool(value)
