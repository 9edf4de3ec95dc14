"""Cases of table segments."""
