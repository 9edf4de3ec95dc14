"""Capture files and interfaces in, TCP byte streams with gaps out."""
