"""One declaration of a message, and everything that follows from it. Knows no protocol, does no I/O.

`message.py` and `types.py` declare; `reference.py` decodes and encodes field by field, `compiled.py` faster with equal
results, `columns.py` many messages at once. `frames/` finds frames in streams of bytes.
"""
