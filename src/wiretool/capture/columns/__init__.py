"""TCP segments as arrays: which of a table begin, continue or end connections in good order.

`streams.py` divides the segments of each table; those that are irregular go through `capture/tcp/`.
"""
