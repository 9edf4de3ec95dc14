"""Measurements of a load: times, rates, health of the generator, thresholds and verdict."""
