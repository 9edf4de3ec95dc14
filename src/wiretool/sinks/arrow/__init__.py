"""Batches as Arrow: arrays of columns, tables of messages, files of those."""
