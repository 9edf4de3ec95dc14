"""The replay part of SBP: adapter, preparation and known differences."""
