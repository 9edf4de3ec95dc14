"""The plan of a load: from options, or fitted to a recording."""
