"""The column path: captures in, batches of columns out, and the same Records again from those."""
