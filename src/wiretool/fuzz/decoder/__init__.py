"""Fuzzing of wiretool's own decoder: mutated captures, the two paths through them, and oracles over both."""
