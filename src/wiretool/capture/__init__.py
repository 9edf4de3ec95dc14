"""Capture files and interfaces in, the byte streams of TCP connections out, with their gaps.

`files/` reads packets, `tcp/` makes streams of them one segment at a time, `columns/` does so for the segments of many
connections as arrays, and `index/` finds the points at which a capture file can be split.
"""
