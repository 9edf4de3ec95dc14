"""The pipeline on Spark: a Java for it, a session, and captures as a data source."""
