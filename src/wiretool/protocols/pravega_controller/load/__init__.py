"""A stream of a real controller for a load on Pravega: its blocking client, and the stream."""
