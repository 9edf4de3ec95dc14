"""The mock of the 2017 draft of Pravega's wire protocol."""

from wiretool.servers.pravega_draft.mock import DraftMock

__all__ = ["DraftMock"]
