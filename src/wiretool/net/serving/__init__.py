"""Mock servers and taps on listening sockets, and the API that controls them."""
