"""Fuzzing: mutated sessions sent to a server or client, oracles that judge the replies, minimal reproductions."""
