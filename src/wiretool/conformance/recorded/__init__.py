"""Cases and rules that judge recorded traffic."""
