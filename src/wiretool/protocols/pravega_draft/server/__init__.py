"""The mock of the 2017 draft of Pravega's wire protocol."""

from wiretool.protocols.pravega_draft.server.mock import DraftMock

__all__ = ["DraftMock"]
