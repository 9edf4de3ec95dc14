"""Programs that a command starts: servers and clients."""
