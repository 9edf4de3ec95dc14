"""The session that the users of one Locust environment share."""

from uuid import uuid4
from weakref import WeakKeyDictionary

import gevent
from locust.env import Environment

from wiretool.load.run.session import Session
from wiretool.load.users.figures import feed

#: How often Locust's statistics are told what was counted.
FEED_S = 0.5

_SESSIONS: WeakKeyDictionary[Environment, Session] = WeakKeyDictionary()


def share(environment: Environment, session: Session) -> None:
    """Let all users of an environment have this one; what none of them expects ends it."""
    _SESSIONS[environment] = session
    environment.events.user_error.add_listener(  # type: ignore[no-untyped-call]
        lambda exception, **_: _fail(session, exception)
    )


def _fail(session: Session, exception: BaseException) -> None:
    session.has_defect = True
    session.fail(f"a bug in wiretool, {type(exception).__name__}: {exception}; please report it with the lines above")


def session_of(environment: Environment) -> Session:
    """The session of an environment: a new one, whose gate is open, where nobody has made one."""
    session = _SESSIONS.get(environment)
    if session is None or session.is_over:
        session = Session(run=uuid4().hex[:8])
        session.open()
        share(environment, session)
        environment.events.test_stopping.add_listener(lambda **_: session.end())  # type: ignore[no-untyped-call]
        gevent.spawn(_feed, environment, session)
    return session


def _feed(environment: Environment, session: Session) -> None:
    """Tell Locust's statistics what was counted, to the end of the session."""
    while not session.is_over:
        gevent.sleep(FEED_S)
        feed(environment.stats, session.meter.drain())
