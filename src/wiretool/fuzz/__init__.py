"""Fuzzing: mutated sessions sent to a server or client, oracles that judge the replies, minimal reproductions.

`seeds/` makes sequences, `mutations/` change them, `sequences/` runs and shrinks them, `targets/` are the servers, and
`findings/` holds results. `client/` tests client programs, `decoder/` wiretool itself.
"""
