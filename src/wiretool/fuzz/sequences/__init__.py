"""Sequences of messages: run, rewritten, made smaller, saved."""
