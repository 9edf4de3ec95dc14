"""Captures to tables and reports: here, or on Spark."""
