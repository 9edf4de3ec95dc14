"""Analysis of records: recorded connections, exchanges with their reply times, statistics, and resources.

Modules whose names end in `_bulk`, `exchange_rows.py` and `exchanges.py` do so for the columns of many frames at once.
"""
