"""Levels of requirements and verdicts on cases."""

from enum import StrEnum


class Level(StrEnum):
    """The binding force of a requirement; `observed` is what real programs do though no document asks for it."""

    MUST = "must"
    SHOULD = "should"
    OBSERVED = "observed"


MUST, SHOULD, OBSERVED = Level.MUST, Level.SHOULD, Level.OBSERVED


class Verdict(StrEnum):
    """The outcome of a case."""

    PASS = "pass"
    FAIL = "fail"
    #: Accepted although the protocol forbids it.
    LENIENT = "lenient"
    #: The peer says that it does not have the capability.
    UNSUPPORTED = "unsupported"
    #: The recording, or the setup of the server, does not show it.
    NOT_EXERCISED = "not-exercised"
    #: wiretool or the network failed.
    ERROR = "error"
