"""Consistency models: follow the records of a server, and name each read that contradicts an acknowledgement."""
