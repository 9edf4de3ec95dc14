"""The mock of the Streaming Batch Protocol's newest schema.

How it differs from one real server, and why:

- Behind one door it is both servers; roles.py says which of them a request is for. Where they differ otherwise, a
  connection that has asked for one of them only is treated as that one does (stream identifiers, GOAWAY, silence), and
  any other as the placement driver does, but that no rule is put on its stream identifiers.
- Where a real server dies or falls silent it answers (sbp.md §5): a frame that is none gets GOAWAY and closes its own
  connection, a header that cannot be read BAD_REQUEST, an answer that fits into no frame an internal error. With
  `like_real` it is silent or closes as recorded.
- A header with more tables than limits.SBP_ENTRIES_MAX counts as one that cannot be read, with `like_real` too.
- A range server that is stopped says GOAWAY with the last request it took; with `like_real` a flag and no identifier.
- Responses that a client sends are dropped (a real range server serves them as requests; `like_real` too).
- Every answer is given at once, so no `timeout_ms` ever passes and answers keep the order of the requests.
"""
