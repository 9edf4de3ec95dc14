"""The bench of the column path: `python -m tests.bench.columns`."""
