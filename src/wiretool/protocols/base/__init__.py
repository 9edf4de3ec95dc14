"""The interface of protocols to the engines, the registry, and the recognition of connections."""
