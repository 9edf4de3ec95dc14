"""Targets: the mock server in memory, and servers at an address."""
