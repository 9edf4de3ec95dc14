"""Captures in, records out: one connection at a time, and many as columns."""
