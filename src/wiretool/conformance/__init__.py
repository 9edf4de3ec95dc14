"""Conformance: cases that judge a server, a client or a capture against the requirements of a protocol."""
