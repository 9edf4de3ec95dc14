"""The column path of Offramp."""
