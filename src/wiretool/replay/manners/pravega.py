"""How Pravega's protocol is spoken again."""

from wiretool.replay.manners.manner import Manner


class PravegaManner(Manner):
    """Segments, writers and tables."""
