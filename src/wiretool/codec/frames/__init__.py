"""Frames in a stream of bytes: boundaries, buffers, templates, and the search after a gap."""
