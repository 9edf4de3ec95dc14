"""The column path of Pravega."""
