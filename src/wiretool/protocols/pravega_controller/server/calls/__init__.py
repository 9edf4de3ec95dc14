"""The calls of the controller: each takes the request that the protocol names for it, and gives the answer."""
