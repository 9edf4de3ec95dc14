"""Batches of the column path: the columns of many frames, and their way back to records."""
