"""The controller of the Pravega mock: scopes, streams and what else lies above segments, spoken to by gRPC.

Left out: retention and scaling by load (a stream is scaled by whoever asks for it); requests are done at once and leave
no events in the streams of the scope `_system`, which are there and empty.
"""
