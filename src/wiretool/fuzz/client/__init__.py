"""Fuzzing of clients: a program runs against the built-in mock, whose replies are mutated."""
