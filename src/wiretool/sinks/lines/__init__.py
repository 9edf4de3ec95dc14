"""Batches as lines of JSON or CSV, out of columns: the same text that the sinks of records write."""
