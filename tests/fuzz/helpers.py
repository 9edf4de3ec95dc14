"""Sessions and planted bugs for the tests of fuzzing."""

from collections.abc import Callable
from functools import cache
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.fuzz.campaign import Counts, Limits
from wiretool.fuzz.findings.finding import Finding
from wiretool.fuzz.session import FuzzSession
from wiretool.protocols.pravega.server.link import StoreLink

PROTOCOLS = ("pravega", "pravega-controller", "pravega-draft", "sbp", "sbp-0.1", "offramp")


@cache
def session_of(protocol: str) -> FuzzSession:
    """Return a session with the seeds of the conformance cases; tests must not change it."""
    session = FuzzSession(protocol)
    session.add_cases()
    return session


def run_on(
    mutant: Mutant | None, *, runs: int, protocol: str = "pravega", seed: int = 0
) -> tuple[Counts, list[Finding]]:
    """Fuzz a mutant of the built-in mock without its conformance cases; return figures and findings."""
    session = FuzzSession(protocol, seed=seed)
    session.add_cases()
    target = session.mock_target(mutant)
    found: list[Finding] = []
    investigation = session.investigation(target, is_reference=mutant is None)
    session.cases = []
    campaign = session.campaign(target, investigation, Limits(runs=runs), on_finding=found.append)
    return campaign.run(), found


def plant(owner: Any, name: str, replace: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Mutant:
    """Return a mutant that wraps one method of a server."""

    def apply(patcher: Patcher) -> None:
        patcher.wrap(owner, name, replace)

    return Mutant("planted", "a planted bug", apply)


def crash_on(text: bytes) -> Mutant:
    """Return a mutant of the store that raises on bytes that contain a text after a second message."""

    def crash(feed: Callable[..., None]) -> Callable[..., None]:
        def fed(link: Any, data: bytes, now_ns: int) -> None:
            if text in data:
                raise IndexError("list index out of range")
            feed(link, data, now_ns)

        return fed

    return plant(StoreLink, "feed", crash)
