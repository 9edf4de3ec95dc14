"""Consistency models: follow the records of a server, and name each read that contradicts an acknowledgement.

`model.py` is the interface that `protocols/NAME/consistency.py` imports; the logs of segments and batches are shared.
"""
