"""The column path of SBP v0.1."""
