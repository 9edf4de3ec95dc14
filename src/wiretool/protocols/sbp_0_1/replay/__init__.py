"""The replay part of SBP v0.1: adapter, preparation and known differences."""
