"""Scenarios of the PyPI client `pravega`, run in a process of their own by test_pravega_python.py."""
