"""The controller of the Pravega mock: scopes, streams and what else lies above segments, spoken to by gRPC.

Left out: retention and scaling by load (a stream is scaled by whoever asks for it), and the watermarks that a real
controller computes from its writers' timestamps (those are kept, nothing is written to the `_MARK` streams).
"""
