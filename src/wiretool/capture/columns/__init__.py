"""The segments of many connections as arrays."""
