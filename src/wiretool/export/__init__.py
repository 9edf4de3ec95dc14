"""The declarations of messages in the formats of other programs."""
