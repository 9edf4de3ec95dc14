"""Sinks of records and batches: text for people, JSON, CSV and tables for programs, captures for other tools."""
