"""One thin file per command: options in, one call, values out."""
