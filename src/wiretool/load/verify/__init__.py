"""Verification of stored events: each is there once, whole and in its order."""
