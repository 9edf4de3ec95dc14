"""The mock of the Streaming Batch Protocol v0.1, the batch style.

Its operations do what the one complete implementation of the style did (schema S2, sbp.md §4.6). In S1, which nobody
served as a whole, the same happens, told in S1's tables: an error code in each result, the request's index echoed, the
sealed and the new range in the answer to SEAL_RANGES, and TRIM_STREAMS, SYNC_RANGES and REPORT_METRICS served. S1 has
no system error: what it does not know, or is not FlatBuffers, is dropped, and the connection goes on (sbp.md §5).

A stream that was deleted keeps its ranges; in S1 it takes no more batches, as the documents have it (sbp.md §4.6).
A placement manager asks the data nodes of a range for its end; this one takes what it has of the range itself.
"""
