"""Mock servers as state machines: bytes and a time in, bytes out. No sockets, no clock.

`mock.py` is the interface that `protocols/NAME/server/` implements; `part.py` is its registration.
"""
