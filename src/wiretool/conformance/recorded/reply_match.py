"""The server's side of a conversation: whether its replies in a recording are those that a case accepts."""

from collections.abc import Sequence
from typing import NoReturn

from wiretool.conformance.active.case_run import NS_PER_S, SETTLE_S
from wiretool.conformance.active.endings import OUTCOME_WORDS, WAS_RESET
from wiretool.conformance.active.outcomes import find_outcome
from wiretool.conformance.case import CLOSED, NOTHING, Expect, ExpectAll, Incoming, Reply, Verdict
from wiretool.conformance.recorded.match_state import FollowedConnection, MatchState
from wiretool.conformance.recorded.observed import Closing, Item, Missing, Observed
from wiretool.conformance.recorded.sighting import Decided, NotShown, Sighting, Undecided

#: How long a client must have waited for a reply whose absence is a failure, where the case has no limit, in seconds.
PATIENCE_S = 1.0
#: The share of a silence that counts as all of it: clocks of clients and of captures differ.
_ENOUGH = 0.95


class _Found:
    """The next message of the server, its end, or silence."""

    def __init__(self, at: int | None, item: Item | None) -> None:
        self.at = at
        self.item = item
        self.message = item if isinstance(item, Observed) else None
        self.name = self.message.name if self.message else CLOSED if item is not None else NOTHING
        #: Whether the server reset the connection.
        self.is_reset = isinstance(item, Closing) and item.how == "rst"

    @property
    def words(self) -> str:
        """Return the reason where it is not a message; empty for a message."""
        return WAS_RESET if self.is_reset else OUTCOME_WORDS.get(self.name, "")


def judge_expect(state: MatchState, step: Expect, followed: FollowedConnection) -> None:
    """Judge the server's next message, its end or its silence."""
    found = _next_reply(state, followed, step.outcomes)
    if followed.raw_left and (found.at is None or found.at >= followed.client_at):
        found = _Found(None, None)  # the frame is not complete: the client has waited here
    elif step.within_s is not None and any(each.message == NOTHING for each in step.outcomes):
        found = _with_silence(state, followed, found, step.within_s)
    elif found.item is None:
        _check_patience(state, followed, step.within_s)
    _check_order(state, followed, found, step)
    outcomes = [each for each in step.outcomes if each.is_possible(state.bindings)]
    outcome, why = _fitting(state, outcomes, found)
    if outcome is not None and found.item is not None and (early := _too_early(state, found.item, step.after_s)):
        outcome, why = None, f"{found.words or found.name} {early}"
    if outcome is None or outcome.verdict is Verdict.FAIL:
        _fail(state, followed, found, why or (outcome.why if outcome else ""), " or ".join(_words(state, outcomes)))
    _take(state, followed, found)
    _grade(state, followed, found, outcome)


def judge_expect_all(state: MatchState, step: ExpectAll, followed: FollowedConnection) -> None:
    """Judge as many messages of the server as the case expects, in any order."""
    missing = list(step.replies)
    while missing:
        found = _next_reply(state, followed, missing)
        if found.item is None:
            _check_patience(state, followed, step.within_s)
        outcome, why = _fitting(state, missing, found)
        if outcome is None:
            _fail(state, followed, found, why, " and ".join(_words(state, missing)))
        _take(state, followed, found)
        missing.remove(outcome)


def judge_end(state: MatchState) -> None:
    """Judge what follows the last step: nothing may come that the case does not expect."""
    for followed in state.followed.values():
        found = _next_reply(state, followed, ())
        if found.message is None or state.unmatched(followed, found.at) is not None:
            continue
        if found.message.time_ns <= state.now_ns + round(SETTLE_S * NS_PER_S):
            raise Decided(_sighting(state, followed, found, f"unexpected {found.name}", "no further message"))


# -- what comes next ---------------------------------------------------------------------------------------------------


def _next_reply(state: MatchState, followed: FollowedConnection, wanted: Sequence[Reply]) -> _Found:
    ignored = (state.part.ignore | state.case.ignore) - {each.message for each in wanted}
    at = followed.next_of_server(lambda message: message.name in ignored and not message.problems)
    return _Found(at, None if at is None else followed.items[at])


def _with_silence(state: MatchState, followed: FollowedConnection, found: _Found, silence_s: float) -> _Found:
    """Return silence where it lasts long enough; else what ended it."""
    if found.item is not None and found.item.time_ns - state.now_ns < round(silence_s * NS_PER_S):
        return found
    _check_patience(state, followed, silence_s)
    return _Found(None, None)


def _check_patience(state: MatchState, followed: FollowedConnection, within_s: float | None) -> None:
    """Require that the client waits so long, with the connection open and recorded, that no reply means silence."""
    later = state.unmatched(followed)
    until_ns = followed.connection.recorded_until_ns
    if later is not None and not isinstance(later, Missing):
        until_ns = min(until_ns, later.time_ns)
    wait_s = PATIENCE_S if within_s is None else within_s
    if until_ns - state.now_ns < round(wait_s * _ENOUGH * NS_PER_S):
        raise Undecided


def _check_order(state: MatchState, followed: FollowedConnection, found: _Found, step: Expect) -> None:
    """Require that a reply is one to what the case has sent, where the client did more meanwhile."""
    if found.item is None:
        return
    later = state.unmatched(followed, found.at)
    depends_on_silence = step.after_s or any(each.message == NOTHING for each in step.outcomes)
    if later is not None and (depends_on_silence or isinstance(found.item, Closing)):
        raise NotShown
    if found.message is not None and found.message.reply_to is not None:
        items = followed.items[followed.client_at :]
        if any(isinstance(each, Observed) and each.n == found.message.reply_to for each in items):
            raise NotShown


def _too_early(state: MatchState, item: Item, after_s: float) -> str:
    """Return in words that an outcome came before its time; empty where it did not."""
    waited_s = (item.time_ns - state.now_ns) / NS_PER_S
    return f"came after {waited_s:.3f} s, before {after_s:g} s" if 0 <= waited_s < after_s else ""


def _fitting(state: MatchState, outcomes: Sequence[Reply], found: _Found) -> tuple[Reply | None, str]:
    """Return the first outcome that fits, or None with the reason that counts."""
    message = found.message
    incoming = Incoming(message.name, message.side, message.fields, message.problems) if message else None
    outcome, state.bindings, why = find_outcome(outcomes, found.name, incoming, state.bindings, words=found.words)
    return outcome, why


# -- the verdict -------------------------------------------------------------------------------------------------------


def _take(state: MatchState, followed: FollowedConnection, found: _Found) -> None:
    """Go on after an outcome that the case accepts."""
    if found.item is None:
        return
    state.now_ns = max(state.now_ns, found.item.time_ns)
    if found.message is not None:
        assert found.at is not None
        followed.server_at = found.at + 1


def _grade(state: MatchState, followed: FollowedConnection, found: _Found, outcome: Reply) -> None:
    if outcome.verdict is Verdict.NOT_EXERCISED:
        raise NotShown
    if outcome.verdict is Verdict.UNSUPPORTED:
        sighting = _sighting(state, followed, found, outcome.why, "")
        raise Decided(sighting)
    if outcome.verdict is not Verdict.PASS:
        state.graded = outcome
    state.is_over = outcome.is_last


def _fail(state: MatchState, followed: FollowedConnection, found: _Found, why: str, words: str) -> NoReturn:
    """Raise the failure; NotShown where the client's later messages may have caused it."""
    if found.item is not None and state.unmatched(followed, found.at) is not None:
        raise NotShown
    if found.is_reset and not followed.connection.sent_by("server"):
        raise Undecided  # the server may not have accepted the connection
    raise Decided(_sighting(state, followed, found, why, words))


def _sighting(state: MatchState, followed: FollowedConnection, found: _Found, why: str, words: str) -> Sighting:
    verdict = Verdict.FAIL if words else Verdict.UNSUPPORTED
    text = f"{why}; expected {words}" if words else why
    n = found.message.n if found.message else 0
    time_ns = found.item.time_ns if found.item is not None else state.now_ns
    return Sighting(verdict, text, words, followed.connection.number, n, time_ns)


def _words(state: MatchState, outcomes: Sequence[Reply]) -> list[str]:
    return [each.describe(state.bindings) for each in outcomes if each.verdict is not Verdict.FAIL]
