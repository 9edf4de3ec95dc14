"""Requirements on client programs, which run against a mock server."""
