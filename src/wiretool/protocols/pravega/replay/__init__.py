"""The replay part of Pravega: adapter, preparation and known differences."""
