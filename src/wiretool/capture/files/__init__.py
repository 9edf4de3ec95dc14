"""Capture files and interfaces in, packets out: one at a time, and as tables."""
