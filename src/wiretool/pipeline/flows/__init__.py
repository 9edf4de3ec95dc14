"""Flows in, batches of records out, and the state of those that are left open."""
