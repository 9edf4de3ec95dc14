"""The column path of Pravega's draft of 2017."""
