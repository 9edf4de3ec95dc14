"""The column path: captures in, batches of columns out.

`read.py` is the whole way. docs/architecture.md has the modules in the order of the work.
"""
