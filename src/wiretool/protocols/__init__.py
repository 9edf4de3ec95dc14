"""The protocols, a folder each: what they say, how frames lie in a stream, and what may be said when."""
