"""The replay part of Offramp: adapter, preparation and known differences."""
