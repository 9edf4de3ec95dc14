"""What conversations mean: which reply took how long, and what they were about."""
