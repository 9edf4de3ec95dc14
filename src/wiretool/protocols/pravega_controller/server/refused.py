"""Why the controller says no."""

from enum import StrEnum


class Why(StrEnum):
    """The protocol's words for a refusal, as the enums of its answers spell them; some answers only know FAILURE."""

    FAILURE = "FAILURE"
    SCOPE_EXISTS = "SCOPE_EXISTS"
    SCOPE_NOT_FOUND = "SCOPE_NOT_FOUND"
    SCOPE_NOT_EMPTY = "SCOPE_NOT_EMPTY"
    INVALID_SCOPE_NAME = "INVALID_SCOPE_NAME"
    STREAM_EXISTS = "STREAM_EXISTS"
    STREAM_NOT_FOUND = "STREAM_NOT_FOUND"
    STREAM_NOT_SEALED = "STREAM_NOT_SEALED"
    STREAM_SEALED = "STREAM_SEALED"
    INVALID_STREAM_NAME = "INVALID_STREAM_NAME"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    RG_NOT_FOUND = "RG_NOT_FOUND"
    INVALID_RG_NAME = "INVALID_RG_NAME"
    INVALID_CONFIG = "INVALID_CONFIG"
    SUBSCRIBER_NOT_FOUND = "SUBSCRIBER_NOT_FOUND"
    GENERATION_MISMATCH = "GENERATION_MISMATCH"
    STREAM_CUT_NOT_VALID = "STREAM_CUT_NOT_VALID"
    TABLE_EXISTS = "TABLE_EXISTS"
    TABLE_NOT_FOUND = "TABLE_NOT_FOUND"
    INVALID_TABLE_NAME = "INVALID_TABLE_NAME"
    LEASE_TOO_LARGE = "LEASE_TOO_LARGE"
    INVALID_TIME = "INVALID_TIME"
    INVALID_POSITION = "INVALID_POSITION"
    UNKNOWN_WRITER = "UNKNOWN_WRITER"
    #: Words that no answer has: they become errors of gRPC.
    EPOCH_NOT_FOUND = "EPOCH_NOT_FOUND"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"


class Refused(Exception):
    """The controller does not do what was asked; nothing has changed."""

    def __init__(self, why: Why, what: str, text: str = "") -> None:
        super().__init__(why, what)
        self.why = why
        #: What was asked about: a name, a number.
        self.what = what
        #: The text with which the real controller fails the call, if it is known.
        self.text = text or f"{why}: {what}"

    def __str__(self) -> str:
        return f"{self.why}: {self.what}"
