"""Two captures compared by meaning: who asked what, and what was said to that."""
