"""Metrics and spans of servers and taps that run."""
