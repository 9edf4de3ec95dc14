"""The slowest exchanges of a load, recorded with their bytes."""
