"""Captures in, records out: the row path.

`dissector.py` is the whole way, `connection.py` one connection of it. `columns/` has the column path, which reads the
frames of many connections at once and gives equal values.
"""
