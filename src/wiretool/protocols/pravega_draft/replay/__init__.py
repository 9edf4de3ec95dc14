"""The replay part of Pravega's draft of 2017: adapter, preparation and known differences."""
