"""The replay part of Pravega's controller: adapter, preparation and known differences."""
