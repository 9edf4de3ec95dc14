"""Two captures compared by meaning: which requests they share, and how the replies differ."""
