"""The only sockets: a mock is served, a server dialled, a connection tapped."""
