"""One declaration of a message, and everything that follows from it. Knows no protocol, does no I/O."""
