"""The mock of a Pravega segment store."""
