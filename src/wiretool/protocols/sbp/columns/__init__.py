"""The column path of SBP."""
