"""Clients of wiretool and their connections."""
