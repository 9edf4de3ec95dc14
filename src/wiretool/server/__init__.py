"""Mock servers as state machines: bytes and a time in, bytes out. No sockets, no clock."""
