"""Packets in, the byte streams of TCP connections out, with their gaps."""
