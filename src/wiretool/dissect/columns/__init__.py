"""The column path: captures in, batches of columns out."""
